//! What else happens on the machine: time that other machines take from its processors, and programs that run.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use stampede_core::Finding;

use super::{fine, text, warning, with};

/// How long is looked.
const WATCHED: Duration = Duration::from_millis(1_500);

/// More stolen time than this share is seen in figures.
const STOLEN: f64 = 0.01;

/// More processors in use than this by other programs are seen in figures.
const BUSY: f64 = 0.05;

/// The kernel's unit of times in `/proc/stat` and `/proc/PID/stat`, `USER_HZ`, is 100 on every architecture that Linux has but
/// Alpha and IA-64 ([proc(5)](https://man7.org/linux/man-pages/man5/proc_stat.5.html)).
const TICKS_A_SECOND: f64 = 100.0;

pub(super) struct Activity {
    /// Processors that were in use on average, without this program.
    busy: f64,
    /// The share of the processors' time that other machines had; absent where the kernel does not say.
    stolen: Option<f64>,
    /// The program that used most, with the processors that it used on average.
    most: Option<(String, f64)>,
    processors: f64,
}

pub(super) fn read() -> Activity {
    let began = Instant::now();
    let (before, programs) = (processor_time(), program_times());
    thread::sleep(WATCHED);
    let (after, later) = (processor_time(), program_times());
    let seconds = began.elapsed().as_secs_f64();
    let own = std::process::id();
    let used = |(pid, program): (u32, Program)| {
        let earlier = programs.get(&pid).map_or(0, |earlier| earlier.ticks);
        (pid, program.name, program.ticks.saturating_sub(earlier) as f64 / TICKS_A_SECOND / seconds)
    };
    let used: Vec<(u32, String, f64)> = later.into_iter().map(used).collect();
    let of_own: f64 = used.iter().filter(|(pid, ..)| *pid == own).map(|(.., used)| used).sum();
    let most = used.into_iter().filter(|(pid, ..)| *pid != own).max_by(|a, b| a.2.total_cmp(&b.2));
    let (busy, stolen) = match (before, after) {
        (Some(before), Some(after)) => {
            let all = after.all.saturating_sub(before.all).max(1) as f64;
            let busy = after.busy.saturating_sub(before.busy) as f64 / TICKS_A_SECOND / seconds;
            (busy, Some(after.stolen.saturating_sub(before.stolen) as f64 / all))
        }
        _ => (0.0, None),
    };
    Activity {
        busy: (busy - of_own).max(0.0),
        stolen,
        most: most.filter(|(.., used)| *used > 0.0).map(|(pid, name, used)| (format!("{name}, process {pid}"), used)),
        processors: crate::available_cpus().len() as f64,
    }
}

/// Times of all processors together, in ticks.
struct ProcessorTime {
    busy: u64,
    stolen: u64,
    all: u64,
}

fn processor_time() -> Option<ProcessorTime> {
    parse_stat(&text("/proc/stat")?)
}

/// user, nice, system, idle, iowait, irq, softirq, steal; guests are part of user and nice.
fn parse_stat(stat: &str) -> Option<ProcessorTime> {
    let times = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().take(8);
    let times: Vec<u64> = times.map(|time| time.parse().ok()).collect::<Option<_>>()?;
    let [user, nice, system, idle, iowait, irq, softirq, steal] = times.try_into().ok()?;
    let busy = user + nice + system + irq + softirq;
    Some(ProcessorTime { busy, stolen: steal, all: busy + idle + iowait + steal })
}

struct Program {
    name: String,
    ticks: u64,
}

fn program_times() -> BTreeMap<u32, Program> {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: u32| Some((pid, parse_program(&text(format!("/proc/{pid}/stat"))?)?))).collect()
}

/// The name stands in brackets and may hold some itself; user and system time are the 14th and 15th field.
fn parse_program(stat: &str) -> Option<Program> {
    let (begin, rest) = stat.rsplit_once(')')?;
    let (_, name) = begin.split_once('(')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Program { name: name.to_owned(), ticks })
}

pub(super) fn judge(activity: &Activity) -> [Finding; 2] {
    let Activity { busy, stolen, most, processors } = activity;
    let stolen = match stolen {
        None => fine("steal", "the kernel does not say whether other machines take time from the processors"),
        Some(share) => {
            let text = format!("the host gave {:.1} % of CPU time to other virtual machines (steal)", share * 100.0);
            let finding = if *share > STOLEN {
                warning(
                    "steal",
                    text,
                    "measure at another time or on a dedicated machine; until then compare requests per CPU-second",
                )
            } else {
                fine("steal", text)
            };
            with(finding, "stolen_share", *share)
        }
    };
    let text = format!("other programs used {busy:.2} of {processors} processors");
    let background = if *busy > BUSY {
        let most = most.as_ref().map(|(name, used)| format!("; most by {name}: {used:.2}")).unwrap_or_default();
        warning("background", format!("{text}{most}"), "end them, or wait until they are done")
    } else {
        fine("background", text)
    };
    [stolen, with(background, "busy_processors", *busy)]
}

#[cfg(test)]
mod tests {
    use stampede_core::Severity;

    use super::*;

    #[test]
    fn times_are_read_as_the_kernel_writes_them() {
        let time = parse_stat("cpu  100 20 30 400 50 6 7 80 9 9\ncpu0 1 2 3\n").unwrap();
        assert_eq!((time.busy, time.stolen, time.all), (163, 80, 693));
        assert!(parse_stat("cpu0 1 2 3").is_none());
        let program = parse_program("7 (a) b (c)) S 1 7 7 0 -1 4194560 1 2 3 4 50 60 7 8 20 0").unwrap();
        assert_eq!((program.name.as_str(), program.ticks), ("a) b (c)", 110));
        assert!(parse_program("7 (a) S 1").is_none());
    }

    #[test]
    fn what_others_do_is_told() {
        let activity =
            |busy, stolen| Activity { busy, stolen, most: Some(("node, process 5".to_owned(), 0.4)), processors: 2.0 };
        for (activity, expected) in [
            (activity(0.01, Some(0.0)), [Severity::Info; 2]),
            (activity(0.5, Some(0.05)), [Severity::Warning; 2]),
            (activity(0.5, None), [Severity::Info, Severity::Warning]),
        ] {
            let found = judge(&activity);
            assert_eq!(found.each_ref().map(|finding| finding.severity), expected);
            assert_eq!(found[1].text.ends_with("most by node, process 5: 0.40"), activity.busy > BUSY);
        }
    }

    #[test]
    fn a_program_that_works_is_seen_in_the_kernels_own_figures() {
        let before = processor_time().unwrap();
        let own = program_times()[&std::process::id()].ticks;
        let deadline = Instant::now() + Duration::from_secs(20);
        while program_times()[&std::process::id()].ticks < own + 5 {
            assert!(Instant::now() < deadline, "no time of this process was counted");
        }
        assert!(processor_time().unwrap().busy > before.busy);
    }
}
