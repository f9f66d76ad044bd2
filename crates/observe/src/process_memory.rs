//! The memory of single processes: what each has for itself, and what it shares.
//!
//! `/proc/PID/smaps_rollup` makes the kernel walk the page tables of the process, some 0.1 ms for a PHP worker. So one process is read
//! at a time, of each in turn, and each once a second at the most: a pool of any size costs the same, its workers are seen the more
//! rarely the more they are, and a large process alone costs no more than a pool.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use stampede_core::{Gauge, MeterSource, ProcessId, Series, SeriesSource};

/// Processes that have series at the most: those of a pool are alike, and a study shall stay readable.
const MOST: usize = 64;

/// No process is read more often.
const APART: Duration = Duration::from_secs(1);

/// A name is cut after as many characters.
const LONGEST_NAME: usize = 60;

/// The processes of a deployment, read one after another.
#[derive(Debug)]
pub(crate) struct Processes {
    root: PathBuf,
    /// The folders of its control groups that list its processes.
    groups: Vec<PathBuf>,
    /// When this round began, and those that are read next in it.
    began: Option<Duration>,
    waiting: VecDeque<(Option<String>, u32)>,
    series: Vec<(ProcessId, Series)>,
}

impl Processes {
    /// Those in these groups and in those below.
    pub(crate) fn new(meters: &[MeterSource]) -> Self {
        Self::below(Path::new("/"), meters)
    }

    fn below(root: &Path, meters: &[MeterSource]) -> Self {
        let groups = meters.iter().map(|meter| match meter {
            MeterSource::CgroupV1 { memory, .. } => memory.clone(),
            MeterSource::CgroupV2 { dir } => dir.clone(),
        });
        Self {
            root: root.to_owned(),
            groups: groups.collect(),
            began: None,
            waiting: VecDeque::new(),
            series: Vec::new(),
        }
    }

    /// Reads the next process. One that has ended, or that this user may not look into, is passed over.
    pub(crate) fn sample_next(&mut self, at: Duration) {
        if self.waiting.is_empty() {
            if self.began.is_some_and(|began| at < began + APART) {
                return;
            }
            self.began = Some(at);
            self.waiting = self.groups.iter().flat_map(|group| stampede_cgroup::members(group)).collect();
        }
        while let Some((part, pid)) = self.waiting.pop_front() {
            let process = self.root.join("proc").join(pid.to_string());
            let Some(figures) = fs::read_to_string(process.join("smaps_rollup")).ok().and_then(|text| memory(&text))
            else {
                continue;
            };
            let known = self.series.iter().position(|(known, _)| known.pid == pid);
            let place = match known {
                Some(place) => place,
                None if self.series.len() >= MOST => continue,
                None => {
                    let Some(id) = id(pid, part, &process) else { continue };
                    self.series.push((id.clone(), Series::new(SeriesSource::Process(id))));
                    self.series.len() - 1
                }
            };
            if let Some((_, series)) = self.series.get_mut(place) {
                series.push(at, &figures);
            }
            return;
        }
    }

    /// What was read, by name and number.
    pub(crate) fn into_series(mut self) -> Vec<Series> {
        self.series.sort_by(|(a, _), (b, _)| (&a.name, a.pid).cmp(&(&b.name, b.pid)));
        self.series.into_iter().map(|(_, series)| series).collect()
    }
}

/// Who it is. A server that gives its processes titles writes them over its command line; of any other command line nothing is taken,
/// as it can hold paths and secrets. A part of a deployment has a control group below the deployment's, with its name.
fn id(pid: u32, part: Option<String>, process: &Path) -> Option<ProcessId> {
    let line = fs::read(process.join("cmdline")).ok()?;
    let first = String::from_utf8_lossy(line.split(|byte| *byte == 0).next()?).into_owned();
    // "php-fpm: master process (/etc/php/fpm.conf)", "nginx: master process /usr/sbin/nginx -p /run"
    let title = first.split(" (").next().and_then(|title| title.split(" /").next());
    let title = title.filter(|title| title.contains(": "));
    // "1234 (php-fpm8.2) S 1 ...": the name may hold blanks and brackets, and ends at the last one.
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    let (before, after) = stat.rsplit_once(')')?;
    let parent = after.split_whitespace().nth(1)?.parse().ok()?;
    let (_, program) = before.split_once('(')?;
    let name = title.unwrap_or(program).trim().chars().take(LONGEST_NAME).collect();
    Some(ProcessId { pid, parent, name, part })
}

/// What `smaps_rollup` says ([smaps](https://docs.kernel.org/filesystems/proc.html#proc-pid-smaps)): all resident memory, and what of
/// it no other process has. A process without memory of its own has ended.
fn memory(text: &str) -> Option<Vec<(Gauge, u64)>> {
    let bytes = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
    };
    let private = bytes("Private_Clean")? + bytes("Private_Dirty")?;
    Some(vec![(Gauge::PrivateBytes, private), (Gauge::ResidentBytes, bytes("Rss")?)])
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write as _};
    use std::process::{Command, Stdio};

    use super::*;

    fn made(root: &Path, pid: u32, line: &str, private: u64, resident: u64) {
        let process = root.join(format!("proc/{pid}"));
        fs::create_dir_all(&process).unwrap();
        fs::write(process.join("cmdline"), line).unwrap();
        fs::write(process.join("stat"), format!("{pid} (a (php) b) S 11 {pid} 0 -1\n")).unwrap();
        let text = format!(
            "55d0-7ffd ---p 00000000 00:00 0 [rollup]\nRss: {resident} kB\nPss: 9 kB\nPss_Dirty: 1 kB\n\
             Shared_Clean: 4 kB\nShared_Dirty: 0 kB\nPrivate_Clean: 8 kB\nPrivate_Dirty: {} kB\n",
            private - 8
        );
        fs::write(process.join("smaps_rollup"), text).unwrap();
    }

    #[test]
    fn processes_are_read_in_turn_and_those_that_end_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let group = root.join("group");
        fs::create_dir_all(group.join("replica-1/below")).unwrap();
        fs::write(group.join("cgroup.procs"), "11\n12\n0\n").unwrap();
        fs::write(group.join("replica-1/below/cgroup.procs"), "13\n").unwrap();
        made(root, 11, "php-fpm: master process (/run/fpm.conf)\0\0\0", 100, 900);
        made(root, 12, "php-fpm: pool www\0", 500, 1_200);
        made(root, 13, "/usr/bin/php\0worker.php\0--secret=x\0", 700, 1_000);
        let mut processes = Processes::below(root, &[MeterSource::CgroupV2 { dir: group }]);
        for tick in 0..4 {
            processes.sample_next(Duration::from_millis(400 * tick));
        }
        fs::remove_dir_all(root.join("proc/12")).unwrap();
        // At 2 s the round that began at 1.2 s is over, and the next is not due.
        for tick in 4..7 {
            processes.sample_next(Duration::from_millis(400 * tick));
        }
        let told: Vec<_> = processes
            .into_series()
            .into_iter()
            .map(|series| {
                let SeriesSource::Process(id) = &series.source else { panic!("{series:?}") };
                let private: Vec<u64> = series.values(Gauge::PrivateBytes).collect();
                assert_eq!((id.parent, id.part.as_deref()), (11, (id.pid == 13).then_some("replica-1")));
                (id.name.clone(), series.at_us.clone(), private, series.values(Gauge::ResidentBytes).max())
            })
            .collect();
        let expected = [
            ("a (php) b", vec![800_000, 1_600_000], vec![700 << 10; 2], Some(1_000 << 10)),
            ("php-fpm: master process", vec![0, 1_200_000, 2_400_000], vec![100 << 10; 3], Some(900 << 10)),
            ("php-fpm: pool www", vec![400_000], vec![500 << 10], Some(1_200 << 10)),
        ];
        let expected = expected.map(|(name, at, private, resident)| (name.to_owned(), at, private, resident));
        assert_eq!(told, expected);
    }

    #[test]
    fn memory_that_a_real_process_takes_is_its_own() {
        if !Path::new("/proc/self/smaps_rollup").exists() {
            let _ = writeln!(io::stderr(), "SKIP: needs a kernel with smaps_rollup (Linux 4.14)");
            return;
        }
        // A shell that holds a text of 8 MB, and says so.
        let script = "text=$(head -c 8000000 /dev/zero | tr '\\0' x); echo ready; read -r line";
        let mut child =
            Command::new("/bin/sh").args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        io::BufRead::read_line(&mut io::BufReader::new(child.stdout.take().unwrap()), &mut said).unwrap();
        assert_eq!(said, "ready\n");
        let process = Path::new("/proc").join(child.id().to_string());
        let figures = memory(&fs::read_to_string(process.join("smaps_rollup")).unwrap()).unwrap();
        let [(_, private), (_, resident)] = figures[..] else { panic!("{figures:?}") };
        assert!((8_000_000..40_000_000).contains(&private) && resident > private, "{figures:?}");
        let id = id(child.id(), None, &process).unwrap();
        assert_eq!((id.parent, id.name.as_str()), (std::process::id(), "sh"));
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
