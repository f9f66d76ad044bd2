//! For tests only: servers that count and record what they receive, ports for others, and fakes of what deployments run on and are
//! seen from, with scripted lifetimes and a virtual clock.

mod counting_server;
mod fake_autoscaled;
mod fake_deployment;
mod fake_lifetime;
mod fake_load;
mod fake_platform;
mod fake_running;
mod fake_vantage;
mod reserved_port;
pub mod samples;
mod stall_server;

pub use counting_server::{Behaviour, Close, CountingServer, Fault, Received};
pub use fake_lifetime::{Answering, FakeLaunch, FakeLifetime, page};
pub use fake_platform::FakePlatform;
pub use fake_vantage::FakeVantage;
pub use reserved_port::ReservedPort;
pub use stall_server::{Stall, StallServer, Stalls};
