//! How a study is asked to end before its time.

use std::sync::atomic::{AtomicBool, Ordering};

/// Asks studies to end with the block that they are in: what is complete can be compared.
#[derive(Debug, Default)]
pub struct Stop {
    is_asked: AtomicBool,
    in_block: AtomicBool,
    is_obeyed: AtomicBool,
}

impl Stop {
    /// Asks for it. Whether it is the first time, and a block is under way that will be completed; where none is, nothing is lost
    /// by ending at once.
    pub fn ask(&self) -> bool {
        !self.is_asked.swap(true, Ordering::Relaxed) && self.in_block.load(Ordering::Relaxed)
    }

    /// Whether it was asked for.
    pub fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Relaxed)
    }

    /// Whether whoever calls this, and has not done all that it was to do, has to end: it was asked for.
    pub fn obey(&self) -> bool {
        self.is_obeyed.fetch_or(self.is_asked(), Ordering::Relaxed);
        self.is_asked()
    }

    /// Whether something has ended for it before it was complete.
    pub fn is_obeyed(&self) -> bool {
        self.is_obeyed.load(Ordering::Relaxed)
    }

    /// Whether a study that is not complete may begin another block.
    pub(crate) fn lets_begin(&self) -> bool {
        let goes_on = !self.obey();
        self.in_block.store(goes_on, Ordering::Relaxed);
        goes_on
    }

    /// No block is under way any more.
    pub(crate) fn end_block(&self) {
        self.in_block.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_was_begun_is_completed_and_no_other_begins() {
        let stop = Stop::default();
        assert!(stop.lets_begin() && !stop.is_asked());
        assert!(stop.ask() && !stop.is_obeyed());
        assert!(!stop.ask(), "asked again");
        assert!(!stop.lets_begin() && stop.is_obeyed());
        assert!(!stop.ask());
    }

    #[test]
    fn a_study_that_is_complete_has_obeyed_nobody() {
        let stop = Stop::default();
        assert!(!stop.ask(), "before the first block");
        let stop = Stop::default();
        assert!(stop.lets_begin());
        stop.end_block();
        assert!(!stop.ask() && !stop.is_obeyed());
    }
}
