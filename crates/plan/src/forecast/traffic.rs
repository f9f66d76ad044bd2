//! What comes to a service that is simulated.

use std::fs;
use std::path::Path;
use std::time::Duration;

use stampede_core::{Load, Schedule};
use stampede_forecast::Traffic;

use super::ForecastFlags;
use crate::mistake::{Gathered, Mistakes};
use crate::service::read_any_time;

/// Traffic, and how it is told.
pub(super) struct AskedTraffic {
    pub(super) told: String,
    pub(super) traffic: Traffic,
}

pub(super) fn read_traffic(flags: &ForecastFlags, mistakes: &mut Gathered) -> Option<AskedTraffic> {
    let ForecastFlags { load, trace, times, client_rtt, .. } = flags;
    let times = match times.as_deref().map(|typed| (typed, typed.parse::<f64>())) {
        None => 1.0,
        Some((_, Ok(factor))) if factor.is_finite() && factor > 0.0 => factor,
        Some((typed, _)) => {
            mistakes.add(format!("--times {typed}"), "is not a number above 0", "for example --times 10");
            1.0
        }
    };
    let round_trip = read_any_time("--client-rtt", client_rtt.as_deref(), Duration::ZERO, mistakes);
    let read = match (load, trace) {
        (_, Some(path)) => {
            trace_of(path, times).map(|traffic| AskedTraffic { told: format!("trace {}", path.display()), traffic })
        }
        (Some(text), None) => load_of(text, times, round_trip),
        (None, None) => Err(Mistakes::one("--load", "is missing", "add --load open:poisson:200, or --trace FILE")),
    };
    let is_closed = |asked: &AskedTraffic| matches!(asked.traffic, Traffic::Closed { .. });
    if client_rtt.is_some() && read.as_ref().is_ok_and(|asked| !is_closed(asked)) {
        let problem = "goes with a closed load: requests of an open one come when they are due";
        mistakes.add("--client-rtt", problem, "leave it out");
    }
    read.map_err(|mistake| mistakes.extend(mistake)).ok()
}

/// How long a load goes on by itself; nothing of one that never changes.
pub(super) fn own_length(traffic: &Traffic) -> Duration {
    match traffic {
        Traffic::Open { schedule, .. } => schedule.length(),
        // What is due at the end of the time is not within it.
        Traffic::Trace(times) => {
            let last = times.last().copied().unwrap_or_default();
            (last + Duration::from_nanos(1)).max(Duration::from_secs(1))
        }
        Traffic::Closed { .. } => Duration::ZERO,
    }
}

fn load_of(text: &str, times: f64, round_trip: Duration) -> Result<AskedTraffic, Mistakes> {
    let wrong = |problem: &str, fix: &str| Mistakes::one(format!("--load {text}"), problem, fix);
    let load =
        text.parse::<Load>().map_err(|error| wrong(&error.to_string(), "for example --load open:poisson:200"))?;
    let scaled = load.scaled(1.0, times);
    match scaled.map_err(|error| wrong(&format!("times {times}: {error}"), "lower --times"))? {
        Load::Open { connections, .. } if connections != Load::OPEN_CONNECTIONS => {
            Err(wrong("limits its connections, which a forecast does not", &format!("leave out @{connections}")))
        }
        Load::Open { schedule, arrivals, .. } => {
            let told =
                Load::Open { schedule: Schedule::clone(&schedule), arrivals, connections: Load::OPEN_CONNECTIONS };
            Ok(AskedTraffic { told: told.to_string(), traffic: Traffic::Open { schedule, arrivals } })
        }
        Load::Closed { connections } => {
            let clients = (f64::from(connections) * times).round().clamp(1.0, f64::from(u32::MAX)) as u32;
            Ok(AskedTraffic { told: format!("closed:{clients}"), traffic: Traffic::Closed { clients, round_trip } })
        }
        Load::Ramped { .. } => Err(wrong("changes its clients", "give closed:N or an open load")),
    }
}

/// Times in order. So many times as many requests: those beside a recorded one are spread evenly up to the next.
fn trace_of(path: &Path, times: f64) -> Result<Traffic, Mistakes> {
    let wrong = |problem: String| {
        Mistakes::one(format!("--trace {}", path.display()), problem, "name a file with a time in seconds in each line")
    };
    let text = fs::read_to_string(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let mut seconds = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match line.trim().parse::<f64>() {
            Ok(time) if (0.0..=86_400.0 * 31.0).contains(&time) => seconds.push(time),
            _ => return Err(wrong(format!("has no time in seconds, 31 days at most, in line {}: {line}", number + 1))),
        }
    }
    seconds.sort_by(f64::total_cmp);
    if seconds.is_empty() {
        return Err(wrong("has no request".to_owned()));
    }
    let mut all = Vec::new();
    for (index, at) in seconds.iter().enumerate() {
        let next = seconds.get(index + 1).unwrap_or(at);
        // As many until here as the factor asks for, so that 1.5 gives one and two alternately.
        let count = ((index + 1) as f64 * times).round() as usize - all.len();
        all.extend((0..count).map(|part| Duration::from_secs_f64(at + (next - at) * part as f64 / count as f64)));
    }
    Ok(Traffic::Trace(all))
}
