//! What a plan must fit.

use stampede_core::Bytes;

/// How large this machine is.
#[derive(Clone, Copy, Debug)]
pub struct MachineSize {
    /// Processors that may be used.
    pub cpus: u32,
    /// Memory.
    pub memory: Bytes,
    /// Connections that the generator may open: each takes a file descriptor.
    pub connections: u32,
}
