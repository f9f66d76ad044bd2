//! The dashboard over real HTTP, on a loopback address.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod browser;
mod client;
mod guard;
mod live;
mod pages;
