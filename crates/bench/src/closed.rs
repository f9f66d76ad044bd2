//! The closed loop over HTTP/1.1: the floor, `stampede load` and every tool that is installed.

use std::fs;

use crate::document::Section;
use crate::failure::Failure;
use crate::race::{self, Course, Outcome, Runner};
use crate::server::CountingServer;
use crate::stage::Stage;
use crate::target::{Bound, Target};
use crate::tool::{self, Closed, FLOOR, STAMPEDE, Source, Tool, WRK};
use crate::variant::{self, Variants};

/// Measures; `tools` empty means all.
pub(crate) fn measure(
    stage: &Stage,
    connections: &[u32],
    tools: &[String],
    random: &mut fastrand::Rng,
) -> Result<Section, Failure> {
    let mut section = Section::new("Closed loop, HTTP/1.1");
    let mut server = CountingServer::start(stage)?;
    let wanted = |tool: &Tool| tools.is_empty() || tools.iter().any(|name| name == tool.name);
    let mut variants = Variants::default();
    if wanted(&STAMPEDE) {
        variants = variant::find(stage, server.url(), "")?;
    }
    let mut courses = Vec::new();
    for connections in connections.iter().copied() {
        let run = Closed { url: server.url().to_owned(), connections, duration: stage.duration };
        let tools = tool::ALL.into_iter().filter(|tool| wanted(tool));
        let s = if connections == 1 { "" } else { "s" };
        courses.push(Course {
            name: format!("{connections} connection{s}"),
            in_flight: connections.into(),
            runners: tools.flat_map(|tool| runners(tool, &run, &variants)).collect(),
        });
    }
    for tool in tool::ALL {
        if let Some((name, content)) = tool.file {
            fs::write(stage.folder.path().join(name), content).map_err(Failure::Prepare)?;
        }
    }
    let results = race::run(stage, &courses, &mut server, stage.duration, random)?;
    for outcome in &results.outcomes {
        section.targets.extend(targets(outcome));
    }
    section.paragraph(
        "Each connection has one request in flight. `server busy` is the share of the run, start and end of the client \
         included, in which the server used its processor.",
    );
    section.race(&results, &courses);
    section.list(&variants.refused.iter().map(|refused| format!("not measured: {refused}")).collect::<Vec<_>>());
    if let Some(course) = courses.first() {
        let costs = start_up(stage, &server, course)?;
        section.paragraph(&format!(
            "CPU of a run with a single request, which is what starting costs and is part of the figures above: {}.",
            costs.join(", ")
        ));
    }
    Ok(section)
}

/// A runner for each variant of a tool; none when it is not installed.
fn runners(tool: &'static Tool, run: &Closed, variants: &Variants) -> Vec<Runner> {
    let line = (tool.closed)(run);
    match tool.source {
        Source::Bench => vec![Runner::new(tool, tool.name, line)],
        Source::Path { program, .. } if tool::find(program).is_some() => vec![Runner::new(tool, tool.name, line)],
        Source::Path { .. } => Vec::new(),
        Source::Stampede => {
            let with = |flags: &str| line.iter().cloned().chain(flags.split_whitespace().map(str::to_owned)).collect();
            variants.offered.iter().map(|variant| Runner::new(tool, &variant.label, with(&variant.flags))).collect()
        }
    }
}

/// What each tool that can send a single request uses for it.
fn start_up(stage: &Stage, server: &CountingServer, course: &Course) -> Result<Vec<String>, Failure> {
    let mut costs = Vec::new();
    for tool in tool::ALL.into_iter().filter(|tool| course.runners.iter().any(|runner| runner.tool == tool.name)) {
        let Some(once) = tool.once else { continue };
        let finished = stage.try_out(tool.name, stage.command(&once(server.url())))?;
        costs.push(format!("{} {:.1} ms", tool.name, finished.ended.cpu.as_secs_f64() * 1e3));
    }
    Ok(costs)
}

/// What is to be reached with so many connections.
fn targets(outcome: &Outcome) -> Vec<Target> {
    let (ours, floor, wrk) = (outcome.best(STAMPEDE.name), outcome.lane(FLOOR.name), outcome.lane(WRK.name));
    let name = &outcome.name;
    let cpu = |base, bound, to| Target::ratio(format!("{name}: CPU x {to}"), bound, ours, base, |sample| sample.cpu_us);
    match name.as_str() {
        "1 connection" => vec![cpu(wrk, Bound::AtMost(1.0), "wrk")],
        "64 connections" | "256 connections" => vec![
            cpu(floor, Bound::AtMost(1.05), "floor"),
            cpu(wrk, Bound::AtMost(0.80), "wrk"),
            Target::ratio(format!("{name}: throughput x floor"), Bound::AtLeast(0.97), ours, floor, |sample| {
                sample.rate
            }),
        ],
        _ => Vec::new(),
    }
}
