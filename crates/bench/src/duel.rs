//! `stampede load` against one other tool, with nginx as the server: HTTP/2 against h2load, TLS against wrk.

use crate::document::Section;
use crate::failure::Failure;
use crate::nginx::{Nginx, Speech};
use crate::race::{self, Course, Runner};
use crate::stage::Stage;
use crate::target::{Bound, Target};
use crate::tool::{self, Closed, H2LOAD, STAMPEDE, Tool, WRK, stampede_command_line};
use crate::variant;

/// Connections of the HTTP/2 duel, and streams on each.
const CONNECTIONS: u32 = 10;
const STREAMS: u32 = 10;
/// Connections of the TLS duel.
const TLS_CONNECTIONS: u32 = 64;

/// Who runs against whom, and how.
struct Duel {
    title: &'static str,
    course: String,
    speech: Speech,
    in_flight: u64,
    rival: &'static Tool,
    rival_line: fn(&Closed) -> Vec<String>,
    connections: u32,
    /// What `stampede load` needs beside address and duration.
    flags: String,
}

/// HTTP/2 with prior knowledge, 10 connections with 10 streams each.
pub(crate) fn http2(stage: &Stage, random: &mut fastrand::Rng) -> Result<Section, Failure> {
    let duel = Duel {
        title: "HTTP/2",
        course: format!("{CONNECTIONS} connections x {STREAMS} streams"),
        speech: Speech::Http2,
        in_flight: u64::from(CONNECTIONS) * u64::from(STREAMS),
        rival: &H2LOAD,
        rival_line: |run| {
            let line = format!("h2load -t1 -c{} -m{STREAMS} -D{} {}", run.connections, run.duration.as_secs(), run.url);
            line.split(' ').map(str::to_owned).collect()
        },
        connections: CONNECTIONS,
        flags: format!("--http2 --streams {STREAMS}"),
    };
    duel.fight(stage, random)
}

/// HTTP/1.1 over TLS, 64 connections.
pub(crate) fn tls(stage: &Stage, random: &mut fastrand::Rng) -> Result<Section, Failure> {
    let duel = Duel {
        title: "TLS",
        course: format!("{TLS_CONNECTIONS} connections over TLS"),
        speech: Speech::Tls,
        in_flight: TLS_CONNECTIONS.into(),
        rival: &WRK,
        rival_line: WRK.closed,
        connections: TLS_CONNECTIONS,
        flags: "--insecure".to_owned(),
    };
    duel.fight(stage, random)
}

impl Duel {
    fn fight(&self, stage: &Stage, random: &mut fastrand::Rng) -> Result<Section, Failure> {
        let mut section = Section::new(self.title);
        if tool::find(self.rival.name).is_none() {
            return Ok(self.called_off(section, &format!("{} is not installed", self.rival.name)));
        }
        let mut nginx = match Nginx::start(stage, self.speech)? {
            Ok(nginx) => nginx,
            Err(reason) => return Ok(self.called_off(section, &reason)),
        };
        let url = nginx.url().to_owned();
        let run = Closed { url: url.clone(), connections: self.connections, duration: stage.duration };
        let variants = variant::find(stage, &url, &self.flags)?;
        let seconds = stage.duration.as_secs();
        let mut runners = vec![Runner::new(self.rival, self.rival.name, (self.rival_line)(&run))];
        runners.extend(variants.offered.iter().map(|variant| {
            let flags = format!("-c {} -d {seconds}s {}", self.connections, variant.flags);
            Runner::new(&STAMPEDE, &variant.label, stampede_command_line(&url, &flags))
        }));
        let courses = [Course { name: self.course.clone(), in_flight: self.in_flight, runners }];
        let results = race::run(stage, &courses, &mut nginx, stage.duration, random)?;
        section
            .paragraph("The server is nginx with one worker and a fixed answer; its status page counts the requests.");
        section.race(&results, &courses);
        section.list(&variants.refused.iter().map(|refused| format!("not measured: {refused}")).collect::<Vec<_>>());
        let outcome = results.outcomes.first();
        let ours = outcome.and_then(|outcome| outcome.best(STAMPEDE.name));
        let base = outcome.and_then(|outcome| outcome.lane(self.rival.name));
        section.targets.push(Target::ratio(self.what(), Bound::AtMost(1.0), ours, base, |sample| sample.cpu_us));
        Ok(section)
    }

    fn what(&self) -> String {
        format!("{}: CPU x {}", self.title, self.rival.name)
    }

    fn called_off(&self, mut section: Section, reason: &str) -> Section {
        section.paragraph(&format!("Not measured: {reason}."));
        section.targets.push(Target::ratio(self.what(), Bound::AtMost(1.0), None, None, |sample| sample.cpu_us));
        section
    }
}
