//! What is seen by an agent over a stream of this process.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

mod line;
mod lost;
mod made_up;
mod real;
mod start;
