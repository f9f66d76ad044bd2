//! Answers that are read one by one: several to requests that were sent together (RFC 9112, section 9.3.2), and those that an
//! author takes. Other answers are read in `connection`, at less expense.

use stampede_seam::KeptAnswer;
use stampede_wire::response::{DecodeError, Head, Visitor};

use crate::body_check::Comparing;
use crate::connection::{Notice, Reception};
use crate::fault::Fault;
use crate::http1::{Came, Http1};

/// Passes an answer on as it comes, and keeps it where an author takes it.
struct Keeping<'a> {
    comparing: Comparing<'a>,
    kept: Option<&'a mut KeptAnswer>,
}

impl Visitor for Keeping<'_> {
    fn head(&mut self, head: &Head<'_>) {
        if let Some(kept) = &mut self.kept {
            kept.begin(head.status);
            head.headers().for_each(|(name, value)| kept.header(name, value));
        }
        self.comparing.head(head);
    }

    fn body(&mut self, bytes: &[u8]) {
        if let Some(kept) = &mut self.kept {
            kept.extend(bytes);
        }
        self.comparing.body(bytes);
    }
}

/// Reads what has come for the only user of a connection of this number.
pub(crate) fn read(http1: &mut Http1, number: usize, mut bytes: &[u8], reception: &mut Reception<'_>) {
    let authored = reception.authored.take();
    let mut kept = authored.and_then(|authored| {
        let answer = authored.answers.get_mut(number)?;
        Some((&mut *authored.author, answer))
    });
    let now = reception.now;
    loop {
        let Some((first_byte_at, comparing)) = reception.comparing(0) else { return };
        if http1.awaits_first_byte() {
            *first_byte_at = now;
        }
        let mut keeping = Keeping { comparing, kept: kept.as_mut().map(|(_, answer)| &mut **answer) };
        let consumed = match http1.read_next(bytes, &mut keeping) {
            Ok(Some(consumed)) => consumed,
            Ok(None) => return,
            Err(fault) => return reception.tell(0, Notice::Failed(fault)),
        };
        bytes = bytes.get(consumed..).unwrap_or_default();
        if let Some((author, answer)) = &mut kept {
            author.read(answer);
        }
        if http1.answers_left() == 1 {
            let notice = if bytes.is_empty() { Notice::Answered(now) } else { Notice::Failed(Fault::Surplus) };
            return reception.tell(0, notice);
        }
        reception.conclude_one();
        if !http1.expect_next() {
            return reception.tell(0, Notice::Failed(Fault::Answer(DecodeError::Truncated)));
        }
    }
}

/// The server sends no more, which may be the end of an answer.
pub(crate) fn end(http1: &mut Http1, number: usize, reception: &mut Reception<'_>) {
    match http1.end() {
        Came::Incomplete => {}
        Came::Broken(fault) => reception.tell(0, Notice::BrokenOff(fault)),
        Came::Complete => {
            if let Some(authored) = reception.authored.take()
                && let Some(answer) = authored.answers.get(number)
            {
                authored.author.read(answer);
            }
            if http1.answers_left() == 1 {
                return reception.tell(0, Notice::Answered(reception.now));
            }
            reception.conclude_one();
            // The others will not come.
            let _ = http1.expect_next();
            reception.tell(0, Notice::Failed(Fault::Answer(DecodeError::Truncated)));
        }
    }
}
