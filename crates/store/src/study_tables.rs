//! A study's rows of every table, as they are stored: what a study file holds.
//!
//! Rows go out under the names of their tables and columns, at whatever version the store has. They come back into a store
//! of that version which is made for them in memory and then brought up to date: what was written by an older Stampede
//! goes through the same changes of the schema as an old store. No statement, and no name that the schema does not have,
//! is taken from a file.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rusqlite::types::{Value as Stored, ValueRef};
use rusqlite::{Connection, params_from_iter};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stampede_core::StudyId;
use thiserror::Error;

use crate::schema;

/// The key under which bytes stand in JSON.
const BYTES: &str = "base64";
/// What a store knows of a study that is not the study's own: how it came there.
const OWN: &str = "import";

/// Rows of one table.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    name: String,
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

/// The rows of a study, by table; tables in which it has none are left out.
pub(crate) fn of_study(connection: &Connection, study: &StudyId) -> rusqlite::Result<Vec<Table>> {
    let mut tables = Vec::new();
    for name in table_names(connection)?.into_iter().filter(|name| name != OWN) {
        let columns = column_names(connection, &name)?;
        let whose = if columns.iter().any(|column| column == "study_id") {
            "study_id = ?1"
        } else {
            "trial_id IN (SELECT trial_id FROM trial WHERE study_id = ?1)"
        };
        let mut statement =
            connection.prepare(&format!("SELECT * FROM {} WHERE {whose} ORDER BY rowid", quoted(&name)))?;
        let rows = statement
            .query_map([study.as_str()], |row| {
                (0..columns.len()).map(|column| row.get_ref(column).map(json)).collect()
            })?
            .collect::<rusqlite::Result<Vec<Vec<Value>>>>()?;
        if !rows.is_empty() {
            tables.push(Table { name, columns, rows });
        }
    }
    Ok(tables)
}

/// A store in memory, up to date, that holds what a store of a version held.
///
/// # Errors
///
/// When a table or column is not of that version, or a value is not what its column holds.
pub(crate) fn staged(version: i64, tables: &[Table]) -> Result<Connection, StageError> {
    let mut connection = Connection::open_in_memory()?;
    schema::migrate_to(&mut connection, version)?;
    let known = table_names(&connection)?;
    let transaction = connection.transaction()?;
    for Table { name, columns, rows } in tables {
        if !known.contains(name) || name == OWN {
            return Err(StageError::Table(name.clone()));
        }
        let known = column_names(&transaction, name)?;
        if let Some(column) = columns.iter().find(|column| !known.contains(column)) {
            return Err(StageError::Column { table: name.clone(), column: column.clone() });
        }
        let list = columns.iter().map(|column| quoted(column)).collect::<Vec<_>>().join(", ");
        let places = vec!["?"; columns.len()].join(", ");
        let mut insert = transaction.prepare(&format!("INSERT INTO {} ({list}) VALUES ({places})", quoted(name)))?;
        for row in rows {
            let values: Option<Vec<Stored>> = row.iter().map(stored).collect();
            let values = values.ok_or_else(|| StageError::Value(name.clone()))?;
            insert.execute(params_from_iter(values))?;
        }
    }
    transaction.commit()?;
    schema::migrate(&mut connection)?;
    Ok(connection)
}

/// In the order in which they were made, so that what others refer to comes first.
fn table_names(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

fn column_names(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1) ORDER BY cid")?;
    statement.query_map([table], |row| row.get(0))?.collect()
}

/// A name as SQL has it (https://sqlite.org/lang_keywords.html).
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn json(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(integer) => integer.into(),
        ValueRef::Real(real) => real.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => serde_json::json!({ BYTES: BASE64_STANDARD.encode(bytes) }),
    }
}

/// What [`json`] wrote; nothing for what it would not write.
fn stored(value: &Value) -> Option<Stored> {
    Some(match value {
        Value::Null => Stored::Null,
        Value::Number(number) => match number.as_i64() {
            Some(integer) => Stored::Integer(integer),
            None => Stored::Real(number.as_f64()?),
        },
        Value::String(text) => Stored::Text(text.clone()),
        Value::Object(object) if object.len() == 1 => {
            Stored::Blob(BASE64_STANDARD.decode(object.get(BYTES)?.as_str()?).ok()?)
        }
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    })
}

/// Why rows are not those of a store.
#[derive(Debug, Error)]
pub enum StageError {
    /// There is no such table in that version.
    #[error("its version has no table {0:?}")]
    Table(String),
    /// There is no such column in that version.
    #[error("its version has no column {column:?} in {table}")]
    Column {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// A value is none that a store can hold.
    #[error("a row of {0} has a value that no store holds")]
    Value(String),
    /// Values are not what their columns hold.
    #[error("a row is not what its table holds")]
    Row(#[from] rusqlite::Error),
}
