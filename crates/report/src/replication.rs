//! A published experiment beside what was measured here.
//!
//! What there is to say is put together once, as the blocks of a page.

mod digest;
mod json;
mod score;

use stampede_analysis::{CheckedClaim, Replication, TableRun};
use stampede_core::Publication;

use self::digest::blocks;
pub(crate) use self::digest::lead;
pub use self::json::json;
use crate::page::{Medium, Page};

/// What a report on a published experiment is made from.
#[derive(Clone, Copy, Debug)]
pub struct ReplicationView<'a> {
    /// What was published.
    pub publication: &'a Publication,
    /// The published times were multiplied with this.
    pub scale: f64,
    /// The published rates were multiplied with this.
    pub rate_scale: f64,
    /// Its tables that were measured.
    pub tables: &'a [ReplicatedTable<'a>],
    /// Its claims.
    pub claims: &'a [CheckedClaim<'a>],
}

/// A table with its study.
#[derive(Clone, Debug)]
pub struct ReplicatedTable<'a> {
    /// The table and its study.
    pub run: TableRun<'a>,
    /// Both beside each other.
    pub replication: Replication,
}

/// What there is to say; a terminal has the first of the published figures where rows have it.
#[must_use]
pub fn page(view: &ReplicationView<'_>, medium: Medium) -> Page {
    Page { answer: Vec::new(), blocks: blocks(view, medium) }
}
