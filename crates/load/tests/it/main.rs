//! The load engine against servers that count, stall, close, break the protocol, or are somebody else's.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

mod asking;
mod events;
mod ground_truth;
mod hostile;
mod hostile_http2;
mod http2_peer;
mod open_load;
mod people;
mod pipelines;
mod protocols;
mod ramps;
mod redirects;
mod rests;
mod scenarios;
mod turns;
