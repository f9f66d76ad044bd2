//! Processors and memory, and whether the generator gets a core of its own.

use std::path::PathBuf;

use stampede_core::{CpuLayout, Finding};

use super::{fine, text, warning, with};
use crate::{available_cpus, machine, memory};

/// Less free memory than this leaves little to a few runtimes' page cache beside their limit.
const LEAST_FREE: u64 = 1 << 30;

pub(super) struct Cores {
    model: String,
    available: Vec<u32>,
    /// For each of those, the processors that are threads of the same core, itself included.
    siblings: Vec<Vec<u32>>,
    memory: Option<u64>,
    free: Option<u64>,
}

pub(super) fn read() -> Cores {
    let available = available_cpus();
    let siblings = |cpu: &u32| {
        let file = PathBuf::from(format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"));
        text(file).and_then(|list| parse_list(&list)).unwrap_or_else(|| vec![*cpu])
    };
    Cores {
        model: machine().cpu_model,
        siblings: available.iter().map(siblings).collect(),
        available,
        memory: memory(),
        free: crate::machine::free_memory(),
    }
}

/// `0-2,5`.
fn parse_list(list: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for range in list.split(',') {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        cpus.extend(from.trim().parse::<u32>().ok()?..=to.trim().parse().ok()?);
    }
    Some(cpus)
}

pub(super) fn judge(cores: &Cores) -> [Finding; 2] {
    let Cores { model, available, siblings, memory, free } = cores;
    let count = available.len();
    let layout = CpuLayout::divide(available, 1);
    let of = |cpu: &u32| available.iter().position(|known| known == cpu).map_or(&[][..], |place| &siblings[place]);
    let twin = layout
        .generator
        .iter()
        .find_map(|cpu| Some((cpu, of(cpu).iter().find(|&other| layout.server.contains(other))?)));
    let processors = if layout.is_shared() {
        warning(
            "cores",
            format!("1 processor ({model}), which server and generator have to share"),
            "use a machine with two or more; until then compare requests per CPU-second",
        )
    } else if let Some((generator, server)) = twin {
        warning(
            "cores",
            format!(
                "{count} processors ({model}), but {generator} of the generator and {server} of servers are threads of one core"
            ),
            "switch hyper-threading off, or keep Stampede to whole cores with taskset",
        )
    } else {
        let servers = layout.server.len();
        fine(
            "cores",
            format!(
                "{count} processors ({model}); with --cpus 1, {servers} for servers and {} for the generator",
                layout.generator.len()
            ),
        )
    };
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let memory = match (memory, free) {
        (Some(memory), Some(free)) if *free < LEAST_FREE => with(
            warning(
                "memory",
                format!("{:.1} of {:.1} GiB of memory are free", gib(*free), gib(*memory)),
                "end programs that use it: the kernel takes page cache away from servers, and may kill them",
            ),
            "free_bytes",
            *free as f64,
        ),
        (Some(memory), Some(free)) => with(
            fine("memory", format!("{:.1} of {:.1} GiB of memory are free", gib(*free), gib(*memory))),
            "free_bytes",
            *free as f64,
        ),
        _ => fine("memory", "the kernel does not say how much memory there is"),
    };
    [with(processors, "processors", count as f64), memory]
}

#[cfg(test)]
mod tests {
    use stampede_core::Severity;

    use super::*;

    #[test]
    fn generator_and_servers_want_cores_of_their_own() {
        let cores = |available: &[u32], siblings: &[&[u32]], free| Cores {
            model: "some".to_owned(),
            available: available.to_vec(),
            siblings: siblings.iter().map(|list| list.to_vec()).collect(),
            memory: Some(8 << 30),
            free,
        };
        for (name, cores, expected) in [
            ("two cores", cores(&[0, 1], &[&[0], &[1]], Some(4 << 30)), [Severity::Info; 2]),
            ("two threads", cores(&[0, 1], &[&[0, 1], &[0, 1]], Some(4 << 30)), [Severity::Warning, Severity::Info]),
            ("one", cores(&[3], &[&[3]], Some(1 << 20)), [Severity::Warning; 2]),
            ("not told", cores(&[0, 1], &[&[0], &[1]], None), [Severity::Info; 2]),
        ] {
            assert_eq!(judge(&cores).map(|finding| finding.severity), expected, "{name}");
        }
        assert_eq!(parse_list("0-2,5"), Some(vec![0, 1, 2, 5]));
        assert_eq!(parse_list(""), None);
    }
}
