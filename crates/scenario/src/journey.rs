//! One user on the way through the flows of a crowd.
//!
//! ```text
//! begin --> next_step --> render --> head --> body ... --> end --right--> next_step ... None
//!   ^                                                       |
//!   +------------------------- abandon <-----wrong, failed--+
//! ```

use std::io::Write;
use std::mem;
use std::ops::Range;
use std::time::{Duration, SystemTime};

use stampede_core::Random;

use crate::capture::PreparedCapture;
use crate::check::{Judgement, Wrong};
use crate::cookie::Jar;
use crate::events::{Heard, Hearing, is_event_stream};
use crate::feeder::RowOrder;
use crate::scenario::Step;
use crate::script::{PreparedFlow, PreparedStep, Script};
use crate::template::{Captured, RenderFault, Template, Values};

/// What a user does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextStep {
    /// The number of the step among all of the crowd.
    pub step: usize,
    /// How long after the previous answer, or after the flow was due.
    pub pause: Duration,
}

/// One user. Its memory is used again by each flow.
#[derive(Debug)]
pub struct Journey {
    flow: usize,
    /// It has begun a flow that is neither completed nor abandoned.
    under_way: bool,
    /// The steps of the flow that are still to come.
    ahead: Range<usize>,
    step: usize,
    captures: Vec<Captured>,
    /// The row that was taken of each feeder.
    rows: Vec<usize>,
    /// How often it has begun each flow.
    runs: Vec<u64>,
    jars: Vec<Jar>,
    /// The jar of this run, where the flow keeps cookies.
    jar: Option<usize>,
    random: Random,
    target: Vec<u8>,
    /// Values of the present request's headers, and of its `Cookie` at last, one after the other.
    values: Vec<u8>,
    ends: Vec<usize>,
    judgement: Judgement,
    /// Where one of the steps hears events.
    hearing: Option<Box<Hearing>>,
    heard: Option<Heard>,
}

/// A request in parts, for protocols that frame it in their own way.
#[derive(Debug)]
pub struct Parts<'a> {
    /// The method.
    pub method: &'a str,
    /// Path and query.
    pub target: &'a [u8],
    headers: &'a [(String, Template)],
    values: &'a [u8],
    ends: &'a [usize],
}

impl<'a> Parts<'a> {
    /// The headers of the step, then `Cookie` where there are cookies to send.
    pub fn headers(&self) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        let (values, ends) = (self.values, self.ends);
        let names = self.headers.iter().map(|(name, _)| name.as_str()).chain(["Cookie"]);
        names.enumerate().filter_map(move |(number, name)| {
            let begin = number.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
            Some((name, values.get(begin..*ends.get(number)?)?))
        })
    }
}

impl Journey {
    /// A user of a crowd.
    pub fn new(script: &Script) -> Self {
        let most = |count: fn(&PreparedFlow) -> usize| script.flows.iter().map(count).max().unwrap_or(0);
        Self {
            flow: 0,
            under_way: false,
            ahead: 0..0,
            step: 0,
            captures: vec![Captured::default(); most(|flow| flow.captures)],
            rows: vec![0; script.feeders().len()],
            runs: vec![0; script.flows.len()],
            jars: (0..most(|flow| flow.jars)).map(|_| Jar::default()).collect(),
            jar: None,
            random: Random(0),
            target: Vec::new(),
            values: Vec::new(),
            ends: Vec::new(),
            judgement: Judgement::default(),
            hearing: script.hears().then(Box::default),
            heard: None,
        }
    }

    /// Begins the next flow. Returns its number; `None` when a feeder has no more rows for it, which the script's tally
    /// tells.
    pub fn begin(&mut self, script: &mut Script) -> Option<usize> {
        self.ahead = 0..0;
        let beginner = script.begin(&mut self.rows)?;
        let flow = script.flows.get(beginner.flow)?;
        self.flow = beginner.flow;
        self.random = beginner.random;
        self.ahead = flow.steps.clone();
        self.captures.iter_mut().for_each(Captured::clear);
        let run = self.runs.get_mut(self.flow)?;
        let identity = (*run % flow.jars.max(1) as u64) as usize;
        self.jar = (flow.jars > 0).then_some(identity);
        *run += 1;
        for (feeder, row) in script.scenario.feeders.iter().zip(&mut self.rows) {
            if feeder.order == RowOrder::Identity {
                *row = identity % feeder.table.rows().max(1);
            }
        }
        self.under_way = true;
        Some(self.flow)
    }

    /// The next step of the flow whose condition holds; `None` at its end.
    pub fn next_step(&mut self, script: &mut Script) -> Option<NextStep> {
        for number in self.ahead.clone() {
            self.ahead.start = number + 1;
            let step = &script.steps.get(number)?.step;
            let holds = step
                .when
                .as_ref()
                .is_none_or(|when| when.test.holds(self.captures.get(when.capture).and_then(Captured::get)));
            if holds {
                self.step = number;
                return Some(NextStep { step: number, pause: step.pause.draw(&mut self.random) });
            }
            if let Some(tally) = script.share.tally.steps.get_mut(number) {
                tally.skipped += 1;
            }
        }
        if mem::take(&mut self.under_way)
            && let Some(tally) = script.share.tally.flows.get_mut(self.flow)
        {
            tally.completed += 1;
        }
        None
    }

    /// Adds the present step's request as HTTP/1.1 bytes, or nothing of it. `now` decides which cookies are still there.
    pub fn render(&mut self, script: &Script, now: SystemTime, out: &mut Vec<u8>) -> Result<(), RenderFault> {
        let Some(PreparedStep { step, .. }) = script.steps.get(self.step) else { return Ok(()) };
        let length = self.fill(script, step, now)?;
        let begin = out.len();
        let Parts { method, target, .. } = self.parts_of(step);
        for bytes in [method.as_bytes(), b" ", target, b" HTTP/1.1\r\nHost: ", script.host.as_bytes(), b"\r\n"] {
            out.extend_from_slice(bytes);
        }
        for (name, value) in self.parts_of(step).headers() {
            for bytes in [name.as_bytes(), b": ", value, b"\r\n"] {
                out.extend_from_slice(bytes);
            }
        }
        if !script.keep_alive {
            out.extend_from_slice(b"Connection: close\r\n");
        }
        // Stated where there is a body or the method usually has one (RFC 9110, section 8.6).
        if length > 0 || matches!(step.method.as_str(), "POST" | "PUT" | "PATCH") {
            // Writing to a vector cannot fail.
            let _ = write!(out, "Content-Length: {length}\r\n");
        }
        out.extend_from_slice(b"\r\n");
        step.body.write(self.values(script), out).inspect_err(|_| out.truncate(begin))
    }

    /// Makes the present step's request ready to be read in [`Journey::parts`]; returns the length of its body.
    pub fn prepare(&mut self, script: &Script, now: SystemTime) -> Result<usize, RenderFault> {
        script.steps.get(self.step).map_or(Ok(0), |prepared| self.fill(script, &prepared.step, now))
    }

    /// The request that was made ready.
    pub fn parts<'a>(&'a self, script: &'a Script) -> Option<Parts<'a>> {
        script.steps.get(self.step).map(|prepared| self.parts_of(&prepared.step))
    }

    /// Adds the body of the request that was made ready.
    pub fn write_body(&self, script: &Script, out: &mut Vec<u8>) -> Result<(), RenderFault> {
        script.steps.get(self.step).map_or(Ok(()), |prepared| prepared.step.body.write(self.values(script), out))
    }

    fn fill(&mut self, script: &Script, step: &Step, now: SystemTime) -> Result<usize, RenderFault> {
        let Self { captures, rows, target, values: written, ends, jars, jar, hearing, .. } = self;
        if let Some(hearing) = hearing {
            hearing.begin();
        }
        let values = Values { captures, feeders: script.feeders(), rows };
        target.clear();
        step.path.write_target(values, &script.host, target)?;
        written.clear();
        ends.clear();
        for (_, value) in &step.headers {
            value.write_header(values, written)?;
            ends.push(written.len());
        }
        if let Some(jar) = jar.and_then(|jar| jars.get(jar)) {
            let before = written.len();
            jar.write(target, now, written);
            if written.len() > before {
                ends.push(written.len());
            }
        }
        step.body.length(values)
    }

    fn parts_of<'a>(&'a self, step: &'a Step) -> Parts<'a> {
        Parts {
            method: &step.method,
            target: &self.target,
            headers: &step.headers,
            values: &self.values,
            ends: &self.ends,
        }
    }

    fn values<'a>(&'a self, script: &'a Script) -> Values<'a> {
        Values { captures: &self.captures, feeders: script.feeders(), rows: &self.rows }
    }

    /// The head of the present step's answer has come. Returns whether its status is right.
    pub fn head<'h>(
        &mut self,
        script: &Script,
        status: u16,
        headers: impl Iterator<Item = (&'h str, &'h [u8])>,
        now: SystemTime,
    ) -> bool {
        let Some(prepared) = script.steps.get(self.step) else { return false };
        let is_right = prepared.check.begin(&mut self.judgement, status);
        for capture in &prepared.captures {
            if let Some(captured) = self.captures.get_mut(capture.number) {
                captured.clear();
            }
        }
        let mut is_stream = false;
        for (name, value) in headers {
            is_stream |=
                prepared.events.is_some() && name.eq_ignore_ascii_case("content-type") && is_event_stream(value);
            prepared.check.header(&mut self.judgement, name, value);
            for capture in &prepared.captures {
                if let Some(captured) = self.captures.get_mut(capture.number) {
                    capture.header(name, value, captured);
                }
            }
            if let Some(jar) = self.jar.and_then(|jar| self.jars.get_mut(jar))
                && name.eq_ignore_ascii_case("set-cookie")
            {
                jar.store(value, &script.host, &self.target, now);
            }
        }
        if let (true, Some(_), Some(hearing)) = (is_right, &prepared.events, &mut self.hearing) {
            hearing.head(status, is_stream);
        }
        is_right
    }

    /// The next bytes of the answer's body have come. Returns where the body differs from what it must equal, once.
    pub fn body(&mut self, script: &Script, bytes: &[u8]) -> Option<u64> {
        let PreparedStep { check, events, .. } = script.steps.get(self.step)?;
        if let (Some(events), Some(hearing)) = (events, &mut self.hearing) {
            self.heard = Some(hearing.feed(events, bytes));
            // Its bytes are not those of the answer, so that only its end says where they differ.
            check.body(&mut self.judgement, &hearing.body);
            return None;
        }
        check.body(&mut self.judgement, bytes)
    }

    /// What the bytes that came last said in a stream of events.
    pub fn heard(&mut self) -> Option<Heard> {
        self.heard.take()
    }

    /// Whether the present answer is a stream of events that is being heard.
    pub fn is_hearing(&self) -> bool {
        self.hearing.as_ref().is_some_and(|hearing| hearing.is_open())
    }

    /// Whether the present step has heard enough: its answer need not come to its end.
    pub fn has_heard_enough(&self) -> bool {
        self.hearing.as_ref().is_some_and(|hearing| hearing.has_enough())
    }

    /// The time of the present stream is over, or that of the load, which cuts it off: a stream that is heard, or begins later, ends.
    pub fn end_hearing(&mut self, is_cut: bool) {
        if let Some(hearing) = &mut self.hearing {
            hearing.end(is_cut);
        }
    }

    /// The status of the present answer.
    pub fn status(&self) -> u16 {
        self.judgement.status()
    }

    /// The answer is complete. Returns what is wrong with it; the flow is then to be abandoned.
    pub fn end(&mut self, script: &mut Script) -> Option<Wrong> {
        let prepared = script.steps.get_mut(self.step)?;
        let mut wrong = prepared.check.conclude(&mut self.judgement);
        if let (Some(events), Some(hearing)) = (&prepared.events, &mut self.hearing) {
            let of_stream = hearing.conclude(&events.events);
            wrong = wrong.filter(|wrong| matches!(wrong, Wrong::Status { .. })).or(of_stream).or(wrong);
        }
        if wrong.is_some() {
            return wrong;
        }
        let values = Values { captures: &self.captures, feeders: &script.scenario.feeders, rows: &self.rows };
        for (number, shown) in prepared.step.shows.iter().enumerate() {
            self.target.clear();
            let is_written = shown.write(values, &mut self.target).is_ok();
            let whole = self.judgement.whole().filter(|_| is_written);
            let is_there = whole.is_some_and(|whole| memchr::memmem::find(whole, &self.target).is_some());
            if !is_there {
                return Some(Wrong::Missing(prepared.step.check.body.len() + number));
            }
        }
        let tally = script.share.tally.steps.get_mut(self.step)?;
        tally.right += 1;
        for (capture, matched) in prepared.captures.iter_mut().zip(&mut tally.matched) {
            let Some(captured) = self.captures.get_mut(capture.number) else { continue };
            if let Some(whole) = self.judgement.whole() {
                PreparedCapture::body(capture, whole, captured);
            }
            if let Some(id) =
                self.hearing.as_ref().filter(|_| prepared.events.is_some()).and_then(|hearing| hearing.id())
            {
                capture.event_id(id, captured);
            }
            *matched += u64::from(captured.get().is_some());
        }
        None
    }

    /// The present step has failed: the rest of the flow is left out.
    pub fn abandon(&mut self, script: &mut Script) {
        for number in self.ahead.clone() {
            if let Some(tally) = script.share.tally.steps.get_mut(number) {
                tally.unreached += 1;
            }
        }
        self.ahead = 0..0;
        if mem::take(&mut self.under_way)
            && let Some(tally) = script.share.tally.flows.get_mut(self.flow)
        {
            tally.abandoned += 1;
        }
    }
}

#[cfg(test)]
mod tests;
