//! Quantities: how much, how long, how often. Each has a default, bounds with their reason, and one example.

use std::time::Duration;

use stampede_core::{Arrivals, Bytes, Cpus, Load};
use stampede_scenario::Pause;

use crate::machine_size::MachineSize;
use crate::mistake::Gathered;

const DEFAULT_LOAD: Load = Load::Closed { connections: 16 };
const DEFAULT_MEMORY: Bytes = Bytes::from_mib(512);
const DEFAULT_DURATION: Duration = Duration::from_secs(8);
const DEFAULT_READY_TIMEOUT: Duration = Duration::from_secs(30);
const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
const LEAST_REQUEST_TIMEOUT: Duration = Duration::from_millis(1);

/// Less than this holds no PHP runtime: an idle nginx and PHP-FPM with one worker need about 20 MiB.
const LEAST_MEMORY: Bytes = Bytes::from_mib(32);
const LEAST_DURATION: Duration = Duration::from_millis(100);
const MOST_DURATION: Duration = Duration::from_secs(24 * 3600);

pub(crate) fn read_cpus(typed: Option<&str>, machine: MachineSize, mistakes: &mut Gathered) -> Cpus {
    let whole = Cpus::from_millis(machine.cpus * 1000);
    // One CPU leaves a core to the generator wherever there are two.
    let default = Cpus::from_millis(1000);
    let Some(typed) = typed else { return default };
    let (problem, fix) = match typed.parse::<Cpus>() {
        Ok(cpus) if cpus > whole => {
            (format!("is more than this machine's {}", machine.cpus), format!("use at most --cpus {}", machine.cpus))
        }
        // The kernel's smallest quota is 1 ms (kernel/sched/core.c, min_cfs_quota_period); with a period of 100 ms
        // that is 0.01 CPU.
        Ok(cpus) if cpus.millis() < 10 => {
            ("is less than the kernel can enforce".to_owned(), "use at least --cpus 0.01".to_owned())
        }
        Ok(cpus) => return cpus,
        Err(problem) => (problem.to_string(), "for example --cpus 0.5".to_owned()),
    };
    mistakes.add(format!("--cpus {typed}"), problem, fix);
    default
}

/// A share above 0 and below 1, as `3%` or `0.03`. `zero` says what is wrong with none at all.
pub(crate) fn read_share(flag: &str, typed: Option<&str>, default: f64, zero: &str, mistakes: &mut Gathered) -> f64 {
    let Some(typed) = typed else { return default };
    let problem = match parse_share(typed) {
        Some(share) if share > 0.0 && share < 1.0 => return share,
        Some(0.0) => zero,
        _ => "is not a share between 0 and 100 %",
    };
    mistakes.add(format!("{flag} {typed}"), problem, format!("for example {flag} {}%", default * 100.0));
    default
}

/// A share as `3%` or `0.03`.
pub(crate) fn parse_share(typed: &str) -> Option<f64> {
    match typed.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
        None => typed.parse().ok(),
    }
}

pub(crate) fn read_memory(typed: Option<&str>, machine: MachineSize, mistakes: &mut Gathered) -> Bytes {
    let default = DEFAULT_MEMORY.min(machine.memory);
    let Some(typed) = typed else { return default };
    let (problem, fix) = match typed.parse::<Bytes>() {
        Ok(memory) if memory < LEAST_MEMORY => {
            let is_number = typed.bytes().all(|digit| digit.is_ascii_digit());
            let fix = match is_number {
                true => format!("a number alone is bytes: --memory {typed}Mi is {typed} MiB"),
                false => format!("use at least --memory {LEAST_MEMORY}"),
            };
            ("is too little for any runtime".to_owned(), fix)
        }
        Ok(memory) if memory > machine.memory => {
            let has = format!("is more than this machine's {:.0} MiB", machine.memory.mib());
            (has, format!("use at most --memory {:.0}Mi", machine.memory.mib().floor()))
        }
        Ok(memory) => return memory,
        Err(problem) => (problem.to_string(), "for example --memory 256Mi".to_owned()),
    };
    mistakes.add(format!("--memory {typed}"), problem, fix);
    default
}

pub(crate) fn read_load(typed: Option<&str>, machine: MachineSize, mistakes: &mut Gathered) -> Load {
    let Some(typed) = typed else {
        return DEFAULT_LOAD;
    };
    let most = machine.connections;
    let (problem, fix) = match typed.parse::<Load>() {
        Ok(load) if load.connections() > most => {
            let fix = format!("use at most {most} connections, or raise the limit of open files (ulimit -n)");
            ("opens more connections than one process may".to_owned(), fix)
        }
        Ok(load) if is_random_twice(&load) => (RANDOM_TWICE.to_owned(), "leave out poisson: or random:".to_owned()),
        Ok(load) => return load,
        Err(problem) => (problem.to_string(), "for example --load closed:16 or --load open:500".to_owned()),
    };
    mistakes.add(format!("--load {typed}"), problem, fix);
    DEFAULT_LOAD
}

pub(crate) const RANDOM_TWICE: &str = "has an exact count and a random one at once";

/// Whether arrivals whose count is random have a stage whose count is exact.
pub(crate) fn is_random_twice(load: &Load) -> bool {
    match load {
        Load::Open { schedule, arrivals: Arrivals::Poisson, .. } => schedule.stages().iter().any(|stage| stage.random),
        Load::Open { .. } | Load::Closed { .. } | Load::Ramped { .. } => false,
    }
}

/// The length of the measuring window: by default that of the stages of the longest load, where it has some, and longer where
/// another rate comes after them.
pub(crate) fn read_duration<'a>(
    typed: Option<&str>,
    loads: impl IntoIterator<Item = &'a Load>,
    mistakes: &mut Gathered,
) -> Duration {
    let default = |load: &Load| match load {
        Load::Open { schedule, .. } => match schedule.stages().last() {
            Some(last) if last.to == schedule.held_rate() => schedule.length(),
            _ => schedule.length() + DEFAULT_DURATION,
        },
        Load::Ramped { connections } if connections.last() == connections.held() => connections.length(),
        Load::Ramped { connections } => connections.length() + DEFAULT_DURATION,
        Load::Closed { .. } => DEFAULT_DURATION,
    };
    let default = loads.into_iter().map(default).max().unwrap_or(DEFAULT_DURATION);
    read_time("--duration", typed, default, LEAST_DURATION, mistakes)
}

pub(crate) const NO_PAUSE: &str = "is not a time up to an hour, or two";

/// A time such as `10ms`, or any time of `1ms..30ms`.
pub(crate) fn read_pause(typed: &str) -> Option<Pause> {
    const LONGEST: Duration = Duration::from_secs(3600);
    let time = |text: &str| match text.trim() {
        "0" => Some(Duration::ZERO),
        text => humantime::parse_duration(text).ok().filter(|time| *time <= LONGEST),
    };
    let (least, most) = typed.split_once("..").unwrap_or((typed, typed));
    let (least, most) = (time(least)?, time(most)?);
    (least <= most).then_some(Pause { least, most })
}

/// How long a runtime may take to its first answer.
pub(crate) fn read_ready_timeout(typed: Option<&str>, mistakes: &mut Gathered) -> Duration {
    read_time("--ready-timeout", typed, DEFAULT_READY_TIMEOUT, LEAST_DURATION, mistakes)
}

/// How long one request may take.
pub(crate) fn read_request_timeout(typed: Option<&str>, mistakes: &mut Gathered) -> Duration {
    read_time("--timeout", typed, DEFAULT_REQUEST_TIMEOUT, LEAST_REQUEST_TIMEOUT, mistakes)
}

pub(crate) fn read_time(
    flag: &str,
    typed: Option<&str>,
    default: Duration,
    least: Duration,
    mistakes: &mut Gathered,
) -> Duration {
    let Some(typed) = typed else { return default };
    let (problem, fix) = match parse_time(typed) {
        Some(duration) if duration < least => {
            ("is too short", format!("use at least {flag} {}", humantime::format_duration(least)))
        }
        Some(duration) if duration > MOST_DURATION => ("is longer than a day", format!("use at most {flag} 24h")),
        Some(duration) => return duration,
        None => ("is not a length of time", format!("for example {flag} 10s")),
    };
    mistakes.add(format!("{flag} {typed}"), problem, fix);
    default
}

/// A length of time; a bare number is one of seconds, which most load tools take.
pub(crate) fn parse_time(typed: &str) -> Option<Duration> {
    match typed.parse::<u32>() {
        Ok(seconds) => Some(Duration::from_secs(seconds.into())),
        Err(_) => humantime::parse_duration(typed).ok(),
    }
}

pub(crate) fn read_seed(typed: Option<&str>, mistakes: &mut Gathered) -> Option<u64> {
    // SQLite's and JSON's whole numbers are exact up to 2^53 everywhere.
    let read = |typed: &str| typed.parse().ok().filter(|seed| *seed < 1_u64 << 53).map(Some);
    mistakes.value(("--seed", typed), None, read, "is not a whole number below 2^53", "for example --seed 1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_bytes_that_is_meant_as_mebibytes_is_asked_about() {
        let machine = MachineSize { cpus: 2, memory: Bytes::from_mib(2048), connections: 1000 };
        for (typed, fix) in [("256", "--memory 256Mi is 256 MiB"), ("1Mi", "use at least --memory 32Mi")] {
            let mut mistakes = Gathered::default();
            read_memory(Some(typed), machine, &mut mistakes);
            let said = mistakes.finish(Ok(())).unwrap_err().to_string();
            assert!(said.contains(fix), "{typed}: {said}");
        }
    }
}
