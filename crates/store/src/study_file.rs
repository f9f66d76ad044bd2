//! A study as one file, to be kept or given to others.
//!
//! ```text
//! stampede-study 1 LENGTH SHA256
//! (gzip: {"stampede": version, "store": version, "tables": [{"name", "columns", "rows"}]})
//! ```
//!
//! The first line holds the version of this layout, and the length and SHA-256 of all that follows it. A checksum tells
//! damage, not who wrote a file: what comes out of it is therefore held against the schema, read back into types, and its
//! name against what a file name may be, before any of it is stored.

#[cfg(test)]
pub(crate) mod matrix;

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use stampede_core::{StudyId, printable};
use thiserror::Error;

use crate::StoredStudy;
use crate::schema::VERSION;
use crate::store::stored_study;
use crate::study_rows;
use crate::study_tables::{self, StageError, Table};

const MAGIC: &str = "stampede-study";
/// The version of the layout.
pub const LAYOUT: u32 = 1;
/// No first line is longer: 15 + 10 + 20 + 65.
const LONGEST_HEADER: usize = 120;
/// The most that is read, before and after it is unpacked: a study of 1,000 trials takes some 20 MB unpacked, and what would
/// unpack to more fills the memory of who opens it.
const MOST_PACKED: u64 = 128 << 20;
const MOST: u64 = 512 << 20;
/// The longest name of a study: with an ending it is a file name everywhere (255 bytes).
const LONGEST_NAME: usize = 120;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    /// Which Stampede wrote the file.
    stampede: String,
    /// The version of the schema that the rows are of.
    store: i64,
    tables: Vec<Table>,
}

/// A study's file.
pub(crate) fn write(connection: &Connection, study: &StudyId) -> rusqlite::Result<Vec<u8>> {
    // One snapshot: a study that runs gets trials meanwhile.
    let connection = &*connection.unchecked_transaction()?;
    let content = Content {
        stampede: env!("CARGO_PKG_VERSION").to_owned(),
        store: connection.pragma_query_value(None, "user_version", |row| row.get(0))?,
        tables: study_tables::of_study(connection, study)?,
    };
    packed(&content).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

fn packed(content: &Content) -> io::Result<Vec<u8>> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    serde_json::to_writer(&mut packer, content)?;
    let body = packer.finish()?;
    let mut file = format!("{MAGIC} {LAYOUT} {} {}\n", body.len(), checksum(&body)).into_bytes();
    file.write_all(&body)?;
    Ok(file)
}

/// Reads a study's file.
///
/// # Errors
///
/// When it cannot be read, is none, was cut short or altered, was written by a newer Stampede, or holds what no store does.
pub fn read_study_file(file: impl Read) -> Result<StoredStudy, StudyFileError> {
    let mut bytes = Vec::new();
    file.take(MOST_PACKED + 1).read_to_end(&mut bytes).map_err(StudyFileError::Read)?;
    if bytes.len() as u64 > MOST_PACKED {
        return Err(StudyFileError::TooLarge { most: MOST_PACKED });
    }
    let content = unpacked(checked(&bytes)?, MOST)?;
    let content: Content =
        serde_json::from_slice(&content).map_err(|error| StudyFileError::Content(Box::new(error)))?;
    if content.store > VERSION {
        return Err(StudyFileError::Newer { stampede: shown(&content.stampede) });
    }
    if content.store < 1 {
        return Err(StudyFileError::Content(format!("there is no version {} of a store", content.store).into()));
    }
    let staged = study_tables::staged(content.store, &content.tables)?;
    drop(content);
    let studies = study_rows::list(&staged).map_err(StageError::from)?;
    let [row] = &studies[..] else {
        return Err(StudyFileError::Content(format!("it holds {} studies", studies.len()).into()));
    };
    if !is_name(row.id.as_str()) {
        return Err(StudyFileError::Name(shown(row.id.as_str())));
    }
    Ok(stored_study(&staged, &row.id).map_err(StageError::from)?)
}

/// What follows the first line, if it is what that says.
fn checked(bytes: &[u8]) -> Result<&[u8], StudyFileError> {
    let start = &bytes[..bytes.len().min(LONGEST_HEADER)];
    if !start.starts_with(MAGIC.as_bytes()) {
        // A part of the magic word may be all that is left of a file.
        let cut = !start.is_empty() && MAGIC.as_bytes().starts_with(start);
        return Err(if cut { StudyFileError::Short } else { StudyFileError::Foreign });
    }
    let end = start.iter().position(|byte| *byte == b'\n');
    let end = end.ok_or(if bytes.len() < LONGEST_HEADER { StudyFileError::Short } else { StudyFileError::Altered })?;
    let words: Vec<&str> = str::from_utf8(&start[..end]).unwrap_or_default().split(' ').collect();
    if let [MAGIC, layout, ..] = &words[..]
        && let Ok(layout) = layout.parse::<u32>()
        && layout > LAYOUT
    {
        return Err(StudyFileError::Newer { stampede: format!("which writes layout {layout}") });
    }
    let body = &bytes[end + 1..];
    match &words[..] {
        [MAGIC, "1", length, sum] if length.parse() == Ok(body.len()) && checksum(body) == *sum => Ok(body),
        [MAGIC, "1", length, _] if length.parse().is_ok_and(|length: usize| length > body.len()) => {
            Err(StudyFileError::Short)
        }
        _ => Err(StudyFileError::Altered),
    }
}

fn unpacked(body: &[u8], most: u64) -> Result<Vec<u8>, StudyFileError> {
    let mut content = Vec::new();
    let read = GzDecoder::new(body).take(most + 1).read_to_end(&mut content);
    read.map_err(|error| StudyFileError::Content(Box::new(error)))?;
    if content.len() as u64 > most { Err(StudyFileError::TooLarge { most }) } else { Ok(content) }
}

fn checksum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a name can name a study: files are named after it, and it stands on command lines. Those that Stampede gives can.
fn is_name(name: &str) -> bool {
    let rest = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    name.len() <= LONGEST_NAME
        && name != "latest"
        && name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && name.bytes().all(rest)
}

/// The beginning of a text of a file, as it may be shown.
fn shown(text: &str) -> String {
    printable(&text.chars().take(40).collect::<String>())
}

/// Why a file does not give a study.
#[derive(Debug, Error)]
pub enum StudyFileError {
    /// The system does not let it be read.
    #[error("read the study file")]
    Read(#[source] io::Error),
    /// It is something else.
    #[error("read the study file: it is none; `stampede export-study` writes them")]
    Foreign,
    /// Its end is missing.
    #[error("read the study file: it was cut short; get it again")]
    Short,
    /// It is not as it was written.
    #[error("read the study file: its checksum is not that of its content, it was damaged or altered; get it again")]
    Altered,
    /// It is of a newer version.
    #[error("read the study file: it was written by a newer Stampede ({stampede}); update this one")]
    Newer {
        /// What is known of that one.
        stampede: String,
    },
    /// It is larger than any study.
    #[error("read the study file: it holds more than {} MiB", most >> 20)]
    TooLarge {
        /// The most, in bytes.
        most: u64,
    },
    /// Its study's name could not be a file's.
    #[error("read the study file: its study is called {0:?}, which no study of Stampede's is; nothing was imported")]
    Name(String),
    /// It is whole, and holds what no Stampede writes.
    #[error("read the study file: it holds what Stampede does not write; nothing was imported")]
    Content(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Its rows are none of a store.
    #[error("read the study file: its records make no sense; nothing was imported")]
    Records(#[from] StageError),
}
