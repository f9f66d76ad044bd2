//! HPACK, the coding of header fields (RFC 7541).
//!
//! The decoder keeps its dynamic table as bytes, since what a server sends is new to us. The encoder keeps references to
//! fields that were made ready once for all connections.

mod decoder;
mod dynamic_table;
mod encoder;
mod huffman;
mod integer;
mod static_table;
#[cfg(test)]
mod tests;

use thiserror::Error;

pub(super) use decoder::Decoder;
pub(super) use encoder::{Encoder, Field, encode_content_length};

/// The size that a dynamic table has until SETTINGS say otherwise (RFC 9113, section 6.5.2), and the largest that is used
/// here.
pub(super) const TABLE_SIZE: usize = 4096;

/// What an entry of a dynamic table counts beside its name and its value (RFC 7541, section 4.1).
pub(super) const ENTRY_OVERHEAD: usize = 32;

/// Why a header block cannot be read. The tables of both sides differ from here on.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum HpackError {
    /// The block ends within a field.
    #[error("its last field is cut off")]
    Truncated,
    /// An integer is larger than any that can be meant (RFC 7541, section 5.1).
    #[error("a number is too large")]
    Integer,
    /// A string is no Huffman code (RFC 7541, section 5.2).
    #[error("a string is not Huffman coded as it says")]
    Huffman,
    /// An index is zero or past the tables' end (RFC 7541, section 2.3.3).
    #[error("an index points to no entry")]
    Index,
    /// The table's size changes after the first field or beyond our limit (RFC 7541, sections 4.2 and 6.3).
    #[error("the dynamic table's size changes where or as it may not")]
    TableSize,
}
