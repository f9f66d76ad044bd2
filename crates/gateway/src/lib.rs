//! The gateway in front of an autoscaled service's instances: it acts out what [`stampede_scale::Controller`] decides.
//!
//! Requests come in, are admitted, wait or are turned away, and are passed on to instances. The gateway starts and stops no
//! instance itself: it asks for that by [`InstanceOrder`]s and is told what became of them. It knows neither what serves in an
//! instance nor how one is started.
//!
//! - `admission.rs`: who waits and who is where, as a state machine without I/O.
//! - `ledger.rs`: what is counted of it.
//! - `proxy.rs`: a request on its way, by hyper; `arriving.rs`: its body, which may not stall.
//! - `gateway.rs`: the thread that all of it runs on.

mod admission;
mod arriving;
mod gateway;
mod ledger;
mod proxy;

pub use admission::Instance;
pub use arriving::BODY_PAUSE;
pub use gateway::{Gateway, InstanceOrder, OpenError, Setup};
pub use ledger::{Account, Life};
