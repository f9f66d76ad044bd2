//! The program as its users run it: exit codes, stdout and stderr, real servers, and what is left afterwards.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod action;
mod agent;
mod answerer;
mod application;
mod capacity;
mod comparison;
mod counter;
mod databases;
mod docker;
mod events;
mod export;
mod failures;
mod forecast;
mod gate;
mod generators;
mod images;
mod inside;
mod interruption;
mod kubernetes;
mod load;
mod load_order;
mod makers;
mod mimic;
mod plan;
mod recorder;
mod redirects;
mod release;
mod report;
mod reproduce;
mod rinha;
mod scale;
mod serve;
mod stage;
mod storage;
mod strangers;
mod study_file;
mod tool_exits;
mod topology;
mod trust;
mod tune;
mod usage;
mod visitors;
mod why;
mod wrk;
