//! Reports as their readers see them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod html;
mod json;
mod pages;
mod processes;
mod replication;
mod samples;
mod tables;
mod tune;
