//! Memory: what a connection takes, and whether ten minutes take more than one.

use std::fs;
use std::io;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, getrlimit};

use crate::document::{self, Section, grouped, shown};
use crate::failure::Failure;
use crate::process::{Process, ProcessError};
use crate::race::{GRACE, Witness};
use crate::server::CountingServer;
use crate::stage::Stage;
use crate::target::{Bound, Target};
use crate::tool::{STAMPEDE, stampede_command_line};
use crate::variant;

const FEW: u32 = 100;
const MANY: u32 = 18_000;
/// Descriptors that are not connections, in client and server alike.
const OTHER_FILES: u64 = 256;
/// Long enough for all connections to be open for some seconds: those that the listener's queue did not take are tried again
/// by the kernel after one second (RFC 6298, 2).
const LENGTH: Duration = Duration::from_secs(6);
const SOAK: Duration = Duration::from_secs(600);
const SOAK_CONNECTIONS: u32 = 64;
/// When the soak is looked at.
const MINUTE: Duration = Duration::from_secs(60);

/// Measures.
pub(crate) fn measure(stage: &Stage, soak: bool) -> Result<Section, Failure> {
    let mut section = Section::new("Memory");
    let mut server = CountingServer::start(stage)?;
    let allowed = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let variants = variant::find(stage, server.url(), "")?;
    let mut rows = vec![document::head("client | connections | open at the server | anonymous memory KiB")];
    for variant in &variants.offered {
        let label = &variant.label;
        section.commands.push(shown(&line(server.url(), MANY, LENGTH, &variant.flags)));
        let mut anonymous = Vec::new();
        if allowed < u64::from(MANY) + OTHER_FILES {
            section.list(&[format!("not measured: a process may open {allowed} files here (ulimit -Hn)")]);
        } else {
            for connections in [FEW, MANY] {
                let seen = hold(stage, &mut server, connections, LENGTH, &variant.flags)?;
                stage.tell(&format!(
                    "memory, {label}: {} connections, {} KiB of anonymous memory",
                    seen.open, seen.anonymous_kib
                ));
                rows.push(vec![
                    label.clone(),
                    grouped(connections.into()),
                    grouped(seen.open),
                    grouped(seen.anonymous_kib),
                ]);
                anonymous.push(seen);
            }
        }
        let each = match anonymous.as_slice() {
            [few, many] if many.open == u64::from(MANY) => {
                Some((many.anonymous_kib as f64 - few.anonymous_kib as f64) / f64::from(MANY - FEW))
            }
            _ => None,
        };
        let what = format!("{} connections, {label}: memory each", grouped(MANY.into()));
        section.targets.push(Target::value(what, Bound::AtMost(2.0), each, 2, " KiB"));
        if soak {
            let seen = hold(stage, &mut server, SOAK_CONNECTIONS, SOAK, &variant.flags)?;
            section.list(&[format!(
                "{label}, {SOAK_CONNECTIONS} connections: {} KiB after one minute, {} KiB after ten",
                seen.after_a_minute_kib.map_or_else(|| "unknown".to_owned(), grouped),
                grouped(seen.last_kib)
            )]);
            let growth = seen.after_a_minute_kib.map(|kib| seen.last_kib as f64 - kib as f64);
            let what = format!("{label}: growth from one minute to ten");
            section.targets.push(Target::value(what, Bound::AtMost(0.0), growth, 0, " KiB"));
        }
    }
    section.paragraph(
        "Anonymous memory of the whole client process (`RssAnon` in /proc/PID/status), the most that was seen while the \
         connections were open and busy. The difference between the two, for each connection, is what a connection takes.",
    );
    section.table(&rows);
    if !soak {
        section.paragraph("Ten minutes against one: not measured, add --soak.");
    }
    section.list(&variants.refused.iter().map(|refused| format!("not measured: {refused}")).collect::<Vec<_>>());
    Ok(section)
}

/// What was seen of a client, memory in KiB.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    /// The most connections that were open at the server.
    open: u64,
    anonymous_kib: u64,
    after_a_minute_kib: Option<u64>,
    /// At the last look before the load ended.
    last_kib: u64,
}

/// Runs a closed loop and looks at it all the time.
fn hold(
    stage: &Stage,
    server: &mut CountingServer,
    connections: u32,
    length: Duration,
    flags: &str,
) -> Result<Held, Failure> {
    let command = stage.command(&line(server.url(), connections, length, flags));
    let mut held = Held::default();
    let started = Instant::now();
    let look = |pid: Pid| {
        let failed = |what, source| ProcessError::Look { name: STAMPEDE.name, what, source };
        let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_pid()));
        let status = status.map_err(|error| failed("the status", error))?;
        // A process that is about to end has no memory any more.
        let Some(kib) = anonymous_kib(&status) else { return Ok(()) };
        let counts = server.counts().map_err(|error| failed("the connections", io::Error::other(error)))?;
        held.open = held.open.max(counts.open);
        let elapsed = started.elapsed();
        if elapsed < length {
            held.anonymous_kib = held.anonymous_kib.max(kib);
            held.last_kib = kib;
        }
        if elapsed >= MINUTE {
            held.after_a_minute_kib.get_or_insert(kib);
        }
        Ok(())
    };
    Process::run(STAMPEDE.name, command, stage.client_cpu, length + GRACE, &stage.interruption, look)?;
    Ok(held)
}

fn line(url: &str, connections: u32, length: Duration, flags: &str) -> Vec<String> {
    stampede_command_line(url, &format!("-c {connections} -d {}s {flags}", length.as_secs()))
}

/// `RssAnon` of a `/proc/PID/status` (proc_pid_status(5)).
fn anonymous_kib(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anonymous_memory_is_read() {
        assert_eq!(anonymous_kib("Name:\tx\nVmRSS:\t    9000 kB\nRssAnon:\t    1234 kB\n"), Some(1234));
        assert_eq!(anonymous_kib("Name:\tx\n"), None);
    }
}
