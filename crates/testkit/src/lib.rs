//! Servers that count and record what they receive, and ports for others; for tests only.

mod counting_server;
mod reserved_port;
mod stall_server;

pub use counting_server::{Behaviour, Close, CountingServer, Fault, Received};
pub use reserved_port::ReservedPort;
pub use stall_server::{Stall, StallServer, Stalls};
