//! A dashboard over all stored studies, for a browser.
//!
//! It reads and never writes records: every page is a `GET`, made again from the store by the `report` crate. What a list shows of a
//! study is kept while the dashboard runs. The page of a study that is not finished follows what is stored of it. A request names a study
//! in its query, which is looked up among the names of studies, so that no path leads anywhere else. On a loopback
//! address it answers only under a loopback name; on any other it answers only clients that know the token.

mod access;
mod answer;
mod glances;
mod live;
mod pages;
mod past;
mod search;
mod server;

pub use access::{Access, Token, TokenError};
pub use server::{Dashboard, ServeError};
