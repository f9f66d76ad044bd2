//! A script and what it is run with.

use crate::address::Lookup;

/// A script and what it is run with.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file, as errors name it.
    pub file: String,
    /// What it holds.
    pub text: Vec<u8>,
    /// `wrk.scheme`: `http` or `https`.
    pub scheme: String,
    /// `wrk.host`, without brackets.
    pub host: String,
    /// `wrk.port`, where the URL has one.
    pub port: Option<String>,
    /// `wrk.path`, with its query.
    pub path: String,
    /// What is in `wrk.headers` from the beginning.
    pub headers: Vec<(String, String)>,
    /// What `init` is given, from index 0.
    pub args: Vec<String>,
    /// How many threads there are.
    pub threads: usize,
    /// How many bytes each state may have.
    pub memory: usize,
    /// How names are found.
    pub lookup: Lookup,
}
