//! How values of core's types are written to a column and read back.

use std::error::Error;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row, ToSql};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use stampede_core::{Counts, Latencies};

/// A count or an amount. SQLite's integers are signed: what is above 2^63 (none of our counts comes near) is stored as
/// the highest that fits.
pub(crate) struct Count(pub(crate) u64);

/// A duration in nanoseconds.
pub(crate) struct Nanos(pub(crate) Duration);

/// An instant in nanoseconds since 1970.
pub(crate) struct Instant(pub(crate) Timestamp);

/// A number of 64 bits, all of which are used, in decimal.
pub(crate) struct Decimal(pub(crate) u64);

/// An open map or a nested list.
pub(crate) struct Json<T>(pub(crate) T);

/// A distribution.
pub(crate) struct Histogram<T>(pub(crate) T);

impl ToSql for Count {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(i64::try_from(self.0).unwrap_or(i64::MAX)))
    }
}

impl FromSql for Count {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let stored = i64::column_result(value)?;
        u64::try_from(stored).map(Self).map_err(|_| FromSqlError::OutOfRange(stored))
    }
}

impl ToSql for Nanos {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(i64::try_from(self.0.as_nanos()).unwrap_or(i64::MAX)))
    }
}

impl FromSql for Nanos {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Count::column_result(value).map(|Count(nanos)| Self(Duration::from_nanos(nanos)))
    }
}

impl ToSql for Instant {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        i64::try_from(self.0.as_nanosecond())
            .map(ToSqlOutput::from)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
    }
}

impl FromSql for Instant {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Timestamp::from_nanosecond(i64::column_result(value)?.into()).map(Self).map_err(other)
    }
}

impl ToSql for Decimal {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.0.to_string()))
    }
}

impl FromSql for Decimal {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_str()?.parse().map(Self).map_err(other)
    }
}

impl<T: Serialize> ToSql for Json<&T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        serde_json::to_string(self.0)
            .map(ToSqlOutput::from)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
    }
}

impl<T: DeserializeOwned> FromSql for Json<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        serde_json::from_str(value.as_str()?).map(Self).map_err(other)
    }
}

impl ToSql for Histogram<&Latencies> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.0.to_bytes()))
    }
}

impl FromSql for Histogram<Latencies> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Latencies::from_bytes(value.as_blob()?).map(Self).map_err(other)
    }
}

/// A variant of an enum by its name in JSON.
pub(crate) struct Word<T>(pub(crate) T);

impl<T: Serialize> ToSql for Word<T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match serde_json::to_value(&self.0) {
            Ok(Value::String(word)) => Ok(ToSqlOutput::from(word)),
            other => Err(rusqlite::Error::ToSqlConversionFailure(format!("{other:?} is no word").into())),
        }
    }
}

impl<T: DeserializeOwned> FromSql for Word<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        serde_json::from_value(value.as_str()?.into()).map(Self).map_err(other)
    }
}

/// Puts a row into a table: each value is named like its column, and columns without one hold nothing.
pub(crate) fn insert_row(connection: &Connection, table: &str, values: &[(&str, &dyn ToSql)]) -> rusqlite::Result<()> {
    let places = values.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let sql = format!("INSERT INTO {table} ({}) VALUES ({places})", places.replace(':', ""));
    connection.execute(&sql, values).map(drop)
}

/// What became of requests, by columns whose names begin alike.
pub(crate) fn counts(row: &Row<'_>, begin: &str) -> rusqlite::Result<Counts> {
    let count = |name: &str| row.get::<_, Count>(format!("{begin}{name}").as_str()).map(|Count(count)| count);
    Ok(Counts { sent: count("sent")?, ok: count("ok")?, failed: count("failed")?, unfinished: count("unfinished")? })
}

/// A stored value that its type does not have.
pub(crate) fn other(error: impl Into<Box<dyn Error + Send + Sync>>) -> FromSqlError {
    FromSqlError::Other(error.into())
}
