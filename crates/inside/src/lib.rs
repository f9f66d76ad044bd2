//! Where PHP's time goes, seen from outside: samples of the stacks of PHP's virtual machine and of what its threads do.
//!
//! Nothing is loaded into PHP and nothing is stopped: memory is read by `process_vm_readv(2)` while the process runs, and the
//! kernel's files tell whether a thread runs, and what it waits for otherwise. This crate knows nothing of loads, deployments
//! and runtimes; it reads no clock but is told each instant. Only the two samplers and the `explain` of waits ask the kernel;
//! what is read is decoded by code that sees memory as a trait.

mod exported;
mod function;
mod instants;
mod maps;
mod memory;
mod native;
mod offsets;
mod php_object;
mod php_process;
mod profile;
mod recorded;
mod request;
mod sampler;
mod scheduler;
mod stack;
mod text;
mod threads;
mod wait;

#[cfg(test)]
mod tests;

pub use exported::{files, folded, pprof, speedscope};
pub use function::PhpFunction;
pub use instants::JitteredInstants;
pub use memory::{MemoryPart, ProcessMemory, RemoteMemory};
pub use native::NativeSampler;
pub use offsets::{Offsets, PhpVersion};
pub use php_process::{AttachError, AttachErrors, AttachProblem};
pub use profile::StackProfile;
pub use recorded::recorded;
pub use sampler::{SampleCounts, SampledProcess, StackSample, StackSampler};
pub use scheduler::{SchedulerTimes, TimeSpent};
pub use stack::{MOST_FRAMES, PhpFrame, PhpStack};
pub use wait::{PhpWait, ThreadState, WaitTarget};
