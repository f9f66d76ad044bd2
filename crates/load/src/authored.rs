//! An author on the thread whose connections it writes for.

use std::time::Duration;

use stampede_seam::{Author, KeptAnswer};

#[derive(Debug)]
pub(crate) struct Authored {
    pub(crate) author: Box<dyn Author>,
    /// The answer that is coming on each connection, where the author takes them.
    pub(crate) answers: Vec<KeptAnswer>,
}

impl Authored {
    /// For so many connections.
    pub(crate) fn new(author: Box<dyn Author>, reads: bool, connections: usize) -> Self {
        let answers = if reads { vec![KeptAnswer::default(); connections] } else { Vec::new() };
        Self { author, answers }
    }

    /// How long a connection waits before its next request; `None` when there is none.
    pub(crate) fn pause(&mut self) -> Option<Duration> {
        let pause = (!self.author.has_ended()).then(|| self.author.pause());
        pause.filter(|_| !self.author.has_ended())
    }
}
