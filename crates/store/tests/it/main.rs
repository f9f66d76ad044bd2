//! The store against real files.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod durability;
mod faults;
mod round_trip;
mod samples;
mod study_file;
