//! A request that was recorded, without what is nobody else's business.

use std::collections::BTreeSet;

use stampede_core::Request;

use crate::header_use::HeaderUse;

/// A request to be sent again.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedRequest {
    /// The host that it was sent to, where it names one.
    pub host: Option<String>,
    /// What is sent.
    pub request: Request,
    /// The names of headers that are left out because their values are secrets.
    pub secrets: BTreeSet<String>,
}

impl RecordedRequest {
    /// Adds a header that was sent.
    pub(crate) fn header(&mut self, name: &str, value: &str) {
        match HeaderUse::of(name) {
            HeaderUse::Kept => _ = self.request.headers.insert(name.to_owned(), value.to_owned()),
            HeaderUse::Secret => _ = self.secrets.insert(name.to_owned()),
            HeaderUse::LeftOut => {}
        }
    }
}
