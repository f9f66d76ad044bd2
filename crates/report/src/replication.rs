//! A published experiment beside what was measured here.
//!
//! What there is to say is put together once, as the blocks of a page.

mod digest;
mod json;
mod score;

use stampede_analysis::{CheckedClaim, Replication, TableRun};
use stampede_core::Publication;

pub(crate) use self::digest::lead;
use self::digest::{Medium, blocks};
pub use self::json::json;
use crate::page::{Block, Page};

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

/// Renders it for a terminal of this many characters a line, with the first of the published figures where rows have it.
/// Without colour nothing is lost.
pub fn terminal(view: &ReplicationView<'_>, width: usize, color: bool) -> String {
    page(view, Medium::Terminal).terminal(width, color)
}

/// Renders it as GitHub-flavoured Markdown.
pub fn markdown(view: &ReplicationView<'_>) -> String {
    page(view, Medium::Markdown).markdown()
}

fn page(view: &ReplicationView<'_>, medium: Medium) -> Page {
    Page { answer: Vec::new(), blocks: blocks(view, medium) }
}

/// What there is to say above the studies themselves.
pub(crate) fn blocks_of_page(view: &ReplicationView<'_>) -> Vec<Block> {
    blocks(view, Medium::Page)
}
