//! This machine.

pub mod lock;
pub(crate) mod preflight;
pub mod scope;
pub(crate) mod user;

use std::fs;
use std::io;
use std::path::Path;

use rustix::system::uname;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use stampede_cgroup::Hierarchy;
use stampede_core::{CgroupSupport, Machine};

/// The processors that this thread may run on, as it inherited or set them; ask before threads are pinned.
pub fn available_cpus() -> Vec<u32> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    let cpus: Vec<u32> = (0..).take(CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu as usize)).collect();
    // The first processor cannot be taken away.
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// Keeps this thread, and those that it starts from here on, on these processors.
///
/// # Errors
///
/// When the kernel refuses: a processor that is not there, or is not ours to use.
pub fn pin_to(cpus: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().map(|cpu| *cpu as usize).filter(|cpu| *cpu < CpuSet::MAX_CPU).for_each(|cpu| set.set(cpu));
    Ok(sched_setaffinity(None, &set)?)
}

/// What this machine is.
pub fn machine() -> Machine {
    let system = uname();
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    Machine {
        cpus: u32::try_from(available_cpus().len()).unwrap_or(u32::MAX),
        cpu_model: cpu_model(&cpuinfo).map_or_else(|| system.machine().to_string_lossy().into(), str::to_owned),
        kernel: system.release().to_string_lossy().into(),
        cgroup: match Hierarchy::detect(Path::new("/")) {
            Ok(Hierarchy::V1(_)) => CgroupSupport::V1,
            Ok(Hierarchy::V2 { .. }) => CgroupSupport::V2,
            Err(_) => CgroupSupport::None,
        },
    }
}

/// Bytes of memory that the machine has, where the kernel tells.
pub fn memory() -> Option<u64> {
    memory_field("MemTotal")
}

/// Bytes of memory that programs can be given without swapping, where the kernel tells.
pub(crate) fn free_memory() -> Option<u64> {
    memory_field("MemAvailable")
}

fn memory_field(name: &str) -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
    let kib = field(&meminfo, name)?.strip_suffix(" kB")?;
    Some(kib.trim().parse::<u64>().ok()? << 10)
}

fn cpu_model(cpuinfo: &str) -> Option<&str> {
    field(cpuinfo, "model name").or_else(|| field(cpuinfo, "Model"))
}

fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processors_name_is_read_where_it_is_told() {
        assert_eq!(cpu_model("processor\t: 0\nmodel name\t: A B\n"), Some("A B"));
        assert_eq!(cpu_model("processor\t: 0\nModel\t\t: Pi 5\n"), Some("Pi 5"));
        assert_eq!(cpu_model("processor : 0\n"), None);
    }

    #[test]
    fn this_machine_has_a_processor_and_memory() {
        assert!(machine().cpus > 0);
        assert!(memory().unwrap() > 1 << 20);
    }
}
