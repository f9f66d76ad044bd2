//! A vantage as a process: whatever sees a deployment from where it is, asked over a stream of bytes.
//!
//! [`serve`] answers from any [`Vantage`](stampede_seam::Vantage), and [`AgentVantage`] is the vantage that asks. Between them
//! are frames ([`MessageReader`]): bounded, numbered parts of messages, behind a preamble that both sides begin with. Who carries
//! the stream (a pipe, an engine's `exec`, ssh) is not known here.
//!
//! A side that hears nothing for a while takes the other for lost: an agent ends everything that it started, and whoever asks
//! has an error with the agent's name and the reason for each call that waits.

mod agent_host;
mod agent_vantage;
mod clock_offset;
mod frame;
mod handles;
mod line;
mod line_error;
mod message;
mod message_reader;
mod null_server;
mod outbox;
mod preamble;
mod serve;
mod shared;

use std::time::Duration;

pub use agent_host::AgentHost;
pub use agent_vantage::AgentVantage;
pub use clock_offset::{ClockCheck, ClockOffset};
pub use frame::MOST_PAYLOAD;
pub use line_error::{LineError, LostAgent};
pub use message_reader::MessageReader;
pub use preamble::{MOST_BEFORE, Preamble, Side};
pub use serve::serve;

/// How often each side sends something at the least.
pub const HEARTBEAT: Duration = Duration::from_secs(1);

/// How long a side hears nothing before it takes the other one for lost, by default: ten heartbeats, so that a machine that is busy
/// for some seconds loses nobody.
pub const PATIENCE: Duration = Duration::from_secs(10);
