//! Futures of the traits at which crates meet.

use std::future::Future;
use std::pin::Pin;

/// A future on the cold path; keeps the traits object safe.
pub type Fut<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
