//! Servers that count and record what they receive; for tests only.

mod counting_server;
mod stall_server;

pub use counting_server::{Behaviour, Close, CountingServer, Fault, Received};
pub use stall_server::{Stall, StallServer, Stalls};
