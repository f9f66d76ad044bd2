//! What settings are searched for.

/// What is to be as good as can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// Requests per second.
    Throughput,
    /// Peak memory.
    Memory,
    /// CPU time for a request: what is paid for where CPU is.
    Cost,
}

impl Objective {
    /// All.
    pub const ALL: [Self; 3] = [Self::Throughput, Self::Memory, Self::Cost];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Memory => "memory",
            Self::Cost => "cost",
        }
    }
}
