//! Studies of deployments that are made up, by a virtual clock: what is measured next, when it ends, and what is said of it.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by it")]

mod bench;
mod blocks;
mod leaks;
mod lifetimes;
mod outcomes;
mod readiness;
mod resumption;
mod searches;
mod turns;
