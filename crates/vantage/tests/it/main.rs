//! What this process sees of real sockets.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

mod connecting;
mod loading;
