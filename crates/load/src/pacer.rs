//! When requests are due.

use std::time::Duration;

/// Says when the requests of one thread are due. A closed form: it reads no clock and knows nothing of answers.
pub(crate) trait Pacer: Send + 'static {
    /// How long after the previous answer of its connection the next request is due; `None` when there is no more.
    fn next_due(&mut self) -> Option<Duration>;
}

/// The closed model: a connection's next request is due with its previous answer.
#[derive(Debug)]
pub(crate) struct BackToBack;

impl Pacer for BackToBack {
    fn next_due(&mut self) -> Option<Duration> {
        Some(Duration::ZERO)
    }
}
