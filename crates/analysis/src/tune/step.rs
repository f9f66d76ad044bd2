//! What is known of a step of a deployment that is made better one change at a time.

/// The case of the comparison at the end that the steps began with.
pub const FIRST: &str = "first";

/// The case that they ended with.
pub const LAST: &str = "last";

/// One deployment that was tried.
#[derive(Clone, Debug)]
pub struct LadderStep {
    /// The study that measured it.
    pub study: String,
    /// What was changed, from what to what; the first has nothing.
    pub change: Option<String>,
    /// What speaks for that in the records of the best deployment before.
    pub reason: String,
    /// The figure that decides; absent where it could not be measured.
    pub figure: Option<f64>,
    /// The response time that one answer in a hundred exceeds, in microseconds; absent where too few were answered.
    pub p99_us: Option<f64>,
    /// Whether what follows is built upon it.
    pub kept: bool,
}
