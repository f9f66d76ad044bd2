//! Processor time that the hypervisor gave to others while this virtual machine wanted it.

use std::fs;
use std::time::Duration;

use rustix::param::clock_ticks_per_second;

/// The steal time of one processor since the machine started, in whole ticks: field 8 of its line in `/proc/stat`
/// (proc_stat(5)). `None` where the kernel does not tell it.
pub(crate) fn of_processor(cpu: usize) -> Option<Duration> {
    let ticks = ticks(&fs::read_to_string("/proc/stat").ok()?, cpu)?;
    Some(Duration::from_secs_f64(ticks as f64 / clock_ticks_per_second() as f64))
}

fn ticks(stat: &str, cpu: usize) -> Option<u64> {
    let name = format!("cpu{cpu}");
    let line = stat.lines().find(|line| line.split_whitespace().next() == Some(&name))?;
    line.split_whitespace().nth(8)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_read_from_its_own_line() {
        let stat = "cpu  1 2 3 4 5 6 7 99 0 0\ncpu1 1 2 3 4 5 6 7 42 0 0\ncpu11 1 2 3 4 5 6 7 43 0 0\nintr 5\n";
        for (cpu, expected) in [(1, Some(42)), (11, Some(43)), (0, None)] {
            assert_eq!(ticks(stat, cpu), expected, "processor {cpu}");
        }
        assert!(of_processor(0).is_some(), "this kernel's own");
    }
}
