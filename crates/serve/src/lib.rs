//! A dashboard over all stored studies, for a browser.
//!
//! It reads and never writes records: every page is a `GET`, made anew from the store by the `report` crate. The page of a study that
//! is not finished follows what is stored of it. What is asked for
//! stands in queries and is looked up among the studies' names, so that no path leads anywhere else. On a loopback
//! address it answers only under a loopback name; on any other it answers only who knows the token.

mod access;
mod answer;
mod live;
mod pages;
mod past;
mod search;
mod server;

pub use access::{Access, Token, TokenError};
pub use server::{Dashboard, ServeError};
