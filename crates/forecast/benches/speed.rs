//! How fast the simulation is and how much memory it takes: `make bench-forecast`, into `docs/bench-forecast.md`.

mod allocated;
mod fleet;

use rustix::time::{ClockId, clock_gettime};
use stampede_forecast::simulate;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

/// Instances, requests a second that are to be simulated at least, and requests of a run.
const SIZES: [(u32, f64, f64); 4] = [(1, 0.0, 1e6), (1_000, 1e6, 1e6), (10_000, 0.0, 1e6), (100_000, 3e5, 1e6)];
const ROUNDS: usize = 3;
/// Bytes that an instance may take.
const MOST_BYTES: f64 = 1024.0;

/// CPU time of this thread, which a neighbour on its processor does not lengthen as it does wall time.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn main() -> io::Result<()> {
    let mut text = String::from(
        "# Speed of the forecast\n\nMade by `make bench-forecast`. Simulated requests for each second of CPU time of the one thread: Poisson arrivals, instances of one CPU \
         that are 60 % busy,\n10 requests at once at most, exponential work. Median of three runs, and in brackets the slowest and the fastest. Bytes \
         an instance: the most that\nwas allocated at once, requests in flight included, less what one instance takes.\n\n```\n",
    );
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':')).map_or("unknown", |(_, m)| m);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: Vec<_> = load.split_whitespace().take(3).collect();
    let _ = writeln!(
        text,
        "processor  {}\nload       {} when it began (1, 5 and 15 minutes)\n```\n",
        model.trim(),
        load.join(" ")
    );
    let _ = writeln!(
        text,
        "| instances | million requests/s | wanted | bytes an instance | wanted |\n|---:|---:|---:|---:|---:|"
    );
    let mut base = 0;
    for (instances, wanted, requests) in SIZES {
        let mut speeds = Vec::new();
        let mut most = 0;
        for round in 0..ROUNDS {
            let scenario = fleet::scenario(instances, requests);
            let begun = cpu_seconds();
            let (run, bytes) = allocated::most_while(|| simulate(&scenario, &fleet::Exponential, round as u64));
            speeds.push(run.simulated as f64 / (cpu_seconds() - begun) / 1e6);
            most = bytes;
        }
        speeds.sort_by(f64::total_cmp);
        if instances == 1 {
            base = most;
        }
        let each = most.saturating_sub(base) as f64 / f64::from(instances);
        let judged =
            |met: bool, wanted: String| if met { format!("{wanted}: met") } else { format!("{wanted}: missed") };
        let speed = speeds[ROUNDS / 2];
        let speed_wanted = match wanted {
            0.0 => String::new(),
            wanted => judged(speed >= wanted / 1e6, format!("at least {}", wanted / 1e6)),
        };
        let bytes_wanted = match instances {
            1 => String::new(),
            _ => judged(each <= MOST_BYTES, format!("at most {MOST_BYTES}")),
        };
        let _ = writeln!(
            text,
            "| {instances} | {speed:.2} ({:.2}..{:.2}) | {speed_wanted} | {} | {bytes_wanted} |",
            speeds[0],
            speeds[ROUNDS - 1],
            if instances == 1 { "-".to_owned() } else { format!("{each:.0}") },
        );
    }
    if env::args().any(|argument| argument == "--document") {
        return fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bench-forecast.md"), text);
    }
    io::stdout().write_all(text.as_bytes())
}
