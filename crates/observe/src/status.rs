//! What servers say of themselves, decoded. Pure; one module a format.
//!
//! A figure that an answer lacks is left out, never taken for zero. The worker that answers, and the connection on which
//! it does, are not counted among those that serve the load.

mod apache_auto;
mod caddy_upstreams;
mod fpm_json;
mod frankenphp_threads;
mod nginx_stub;
pub(crate) mod postgres_activity;
mod prometheus;
mod swoole_json;
mod uwsgi_json;

use stampede_core::{Gauge, StatusFormat};
use thiserror::Error;

/// Decodes an answer.
///
/// # Errors
///
/// When it is not of this format, or has none of its figures.
pub fn decode(format: &StatusFormat, answer: &[u8]) -> Result<Vec<(Gauge, u64)>, DecodeStatusError> {
    let text = std::str::from_utf8(answer).map_err(|_| DecodeStatusError::Format(format.clone()))?;
    let figures = match format {
        StatusFormat::FpmJson => fpm_json::decode(text)?,
        StatusFormat::ApacheAuto => apache_auto::decode(text),
        StatusFormat::CaddyUpstreams => caddy_upstreams::decode(text)?,
        StatusFormat::NginxStub => nginx_stub::decode(text).unwrap_or_default(),
        StatusFormat::Prometheus(metrics) => prometheus::decode(text, metrics),
        StatusFormat::FrankenPhpThreads => frankenphp_threads::decode(text)?,
        StatusFormat::SwooleJson => swoole_json::decode(text)?,
        StatusFormat::UwsgiJson => uwsgi_json::decode(text)?,
        // It comes in rows, on a connection that is kept.
        StatusFormat::PostgresActivity => Vec::new(),
    };
    if figures.is_empty() { Err(DecodeStatusError::Format(format.clone())) } else { Ok(figures) }
}

/// Why an answer could not be decoded.
#[derive(Debug, Error)]
pub enum DecodeStatusError {
    /// It is not what it should be.
    #[error("read the status: it is no {0:?}")]
    Format(StatusFormat),
    /// It is not the JSON that it should be.
    #[error("read the status")]
    Json(#[from] serde_json::Error),
}

#[cfg(test)]
mod tests;
