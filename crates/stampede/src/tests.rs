//! Commands on a machine that is made up: what they measure next, when they end and how, and what they say when.
//!
//! Each is parsed, planned, rendered, conducted, stored and reported by the same code as ever; only servers, load, clock, signals
//! and the lock are made up. What real servers do with the same is tested in `tests/it`.

mod application;
mod capacity;
mod comparison;
mod databases;
mod failures;
mod gate;
mod images;
mod interruption;
mod made_up;
mod open_part;
mod plan;
mod report;
mod reproduce;
mod requests;
mod scale;
mod size;
mod steps;
mod stored;
mod strangers;
mod topology;
mod tune;
mod why;
