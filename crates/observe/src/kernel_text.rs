//! Text files of the kernel that are sampled: counters of the network, of waiting and of processors.

use std::fs;
use std::path::Path;

use stampede_core::Gauge;

/// Connections that the kernel refused because an accept queue was full, or for any reason: those of all programs in this
/// network namespace (`ListenOverflows` and `ListenDrops`,
/// [SNMP counters](https://docs.kernel.org/networking/snmp_counter.html#tcp-accept-queue-overflow)).
pub(crate) fn refused(root: &Path) -> Vec<(Gauge, u64)> {
    let text = fs::read_to_string(root.join("proc/net/netstat")).unwrap_or_default();
    let counter = |name: &str| extended_tcp(&text, name);
    [(Gauge::ListenOverflows, "ListenOverflows"), (Gauge::ListenDrops, "ListenDrops")]
        .into_iter()
        .filter_map(|(gauge, name)| Some((gauge, counter(name)?)))
        .collect()
}

/// The longest accept queue that a server gets, whatever it asks for: `net.core.somaxconn` of this network namespace
/// ([listen(2)](https://man7.org/linux/man-pages/man2/listen.2.html)).
pub(crate) fn longest_accept_queue(root: &Path) -> Option<(Gauge, u64)> {
    let text = fs::read_to_string(root.join("proc/sys/net/core/somaxconn")).ok()?;
    Some((Gauge::LongestAcceptQueue, text.trim().parse().ok()?))
}

/// Connections that the kernel tracks in this network namespace, how many it tracks at most, and packets that it dropped since
/// there were as many (`net.netfilter`, [conntrack](https://docs.kernel.org/networking/nf_conntrack-sysctl.html), and
/// `/proc/net/stat/nf_conntrack`: a line of names, then one of hexadecimal numbers for each processor). Nothing where it tracks none.
pub(crate) fn tracked(root: &Path) -> Vec<(Gauge, u64)> {
    let setting = |name: &str| -> Option<u64> {
        let text = fs::read_to_string(root.join("proc/sys/net/netfilter").join(name)).ok()?;
        text.trim().parse().ok()
    };
    let Some(count) = setting("nf_conntrack_count").filter(|count| *count > 0) else { return Vec::new() };
    let text = fs::read_to_string(root.join("proc/net/stat/nf_conntrack")).unwrap_or_default();
    let mut figures = vec![(Gauge::TrackedConnections, count)];
    figures.extend(setting("nf_conntrack_max").map(|most| (Gauge::TrackedConnectionsLimit, most)));
    figures.extend(sum_of_processors(&text, "drop").map(|dropped| (Gauge::TrackingDrops, dropped)));
    figures
}

fn sum_of_processors(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines();
    let place = lines.next()?.split_whitespace().position(|word| word == name)?;
    lines.map(|line| u64::from_str_radix(line.split_whitespace().nth(place)?, 16).ok()).sum()
}

/// A counter of `/proc/net/netstat`: a line of names, then a line of values.
fn extended_tcp(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt: "));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split(' ').position(|word| word == name)?;
    values.split(' ').nth(place)?.parse().ok()
}

/// Time in which processors had nothing to do (`idle` and `iowait`) or only what gives way to all else (`nice`), and time that
/// a hypervisor gave to others (`steal`): the first line of `/proc/stat`, in ticks; and how many processes and threads were
/// started (`processes`). [proc_stat(5)](https://man7.org/linux/man-pages/man5/proc_stat.5.html).
pub(crate) fn processors(root: &Path) -> Vec<(Gauge, u64)> {
    let text = fs::read_to_string(root.join("proc/stat")).unwrap_or_default();
    let tick_us = 1_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let Some(all) = line("cpu ") else { return Vec::new() };
    let ticks: Vec<u64> = all.split_whitespace().map_while(|ticks| ticks.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal
    let [_, nice, _, idle, iowait, _, _, steal, ..] = ticks[..] else { return Vec::new() };
    let mut figures = vec![(Gauge::IdleUs, (nice + idle + iowait) * tick_us), (Gauge::StolenUs, steal * tick_us)];
    figures.extend(line("processes ").and_then(|count| Some((Gauge::Forks, count.trim().parse().ok()?))));
    figures
}

/// Pages that were read from swap and written to it, of all programs: `/proc/vmstat` (`pswpin` and `pswpout`,
/// [proc_vmstat(5)](https://man7.org/linux/man-pages/man5/proc_vmstat.5.html)).
pub(crate) fn swapped(root: &Path) -> Vec<(Gauge, u64)> {
    let text = fs::read_to_string(root.join("proc/vmstat")).unwrap_or_default();
    let counter = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line?.trim().parse().ok()
    };
    [(Gauge::SwapIns, "pswpin"), (Gauge::SwapOuts, "pswpout")]
        .into_iter()
        .filter_map(|(gauge, name)| Some((gauge, counter(name)?)))
        .collect()
}

/// For how long something waited for processors, memory and disks
/// ([PSI](https://docs.kernel.org/accounting/psi.html)): the files `cpu`, `memory` and `io` of a folder, with this
/// ending. A kernel without them says nothing.
pub(crate) fn pressure(folder: &Path, ending: &str) -> Vec<(Gauge, u64)> {
    [(Gauge::CpuPressureUs, "cpu"), (Gauge::MemoryPressureUs, "memory"), (Gauge::IoPressureUs, "io")]
        .into_iter()
        .filter_map(|(gauge, what)| {
            let text = fs::read_to_string(folder.join(format!("{what}{ending}"))).ok()?;
            Some((gauge, some_total(&text)?))
        })
        .collect()
}

fn some_total(text: &str) -> Option<u64> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    some.split(' ').find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_by_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let net = folder.path().join("proc/net");
        fs::create_dir_all(&net).unwrap();
        assert_eq!(refused(folder.path()), []);
        let text =
            "TcpExt: SyncookiesSent ListenOverflows ListenDrops PruneCalled\nTcpExt: 1 22 333 4\nIpExt: A\nIpExt: 5\n";
        fs::write(net.join("netstat"), text).unwrap();
        assert_eq!(refused(folder.path()), [(Gauge::ListenOverflows, 22), (Gauge::ListenDrops, 333)]);
    }

    #[test]
    fn this_machine_counts_what_it_refuses() {
        assert_eq!(refused(Path::new("/")).len(), 2);
        assert!(longest_accept_queue(Path::new("/")).is_some_and(|(_, most)| most > 0));
    }

    #[test]
    fn the_longest_queue_is_read_where_it_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let core = folder.path().join("proc/sys/net/core");
        fs::create_dir_all(&core).unwrap();
        assert_eq!(longest_accept_queue(folder.path()), None);
        fs::write(core.join("somaxconn"), "4096\n").unwrap();
        assert_eq!(longest_accept_queue(folder.path()), Some((Gauge::LongestAcceptQueue, 4_096)));
    }

    /// As Linux 6.18 has it.
    #[test]
    fn packets_that_no_place_was_left_for_are_added_up_over_processors() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join("proc").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(tracked(folder.path()), []);
        write("sys/net/netfilter/nf_conntrack_max", "262144\n");
        write("sys/net/netfilter/nf_conntrack_count", "0\n");
        assert_eq!(tracked(folder.path()), []);
        write("sys/net/netfilter/nf_conntrack_count", "143025\n");
        let places = [(Gauge::TrackedConnections, 143_025), (Gauge::TrackedConnectionsLimit, 262_144)];
        assert_eq!(tracked(folder.path()), places);
        let text = "entries  clashres found new invalid ignore delete chainlength insert insert_failed drop early_drop\n\
                    00022eb1  00000000 00000000 00000000 00000002 00000000 00000000 00000000 00000000 00000000 000018d3 00000002\n\
                    00022eb1  00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 000002de 00000000\n";
        write("net/stat/nf_conntrack", text);
        assert_eq!(tracked(folder.path()), [&places[..], &[(Gauge::TrackingDrops, 0x18d3 + 0x2de)]].concat());
    }

    #[test]
    fn time_without_work_and_time_that_was_stolen_are_read() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(processors(folder.path()), []);
        fs::create_dir_all(folder.path().join("proc")).unwrap();
        let tick = 1_000_000 / rustix::param::clock_ticks_per_second();
        let times = [(Gauge::IdleUs, 425 * tick), (Gauge::StolenUs, 8 * tick)];
        for (text, expected) in [
            ("cpu  10 20 30 400 5 6 7 8 0 0\ncpu0 1 2 3 4\n", times.to_vec()),
            ("cpu  10 20 30 400 5 6 7 8 0 0\nprocesses 77\n", [&times[..], &[(Gauge::Forks, 77)]].concat()),
            ("cpu  10 20 30 400\n", vec![]),
            ("intr 1\n", vec![]),
        ] {
            fs::write(folder.path().join("proc/stat"), text).unwrap();
            assert_eq!(processors(folder.path()), expected, "{text}");
        }
        assert_eq!(processors(Path::new("/")).len(), 3);
    }

    #[test]
    fn pages_of_swap_are_read() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(swapped(folder.path()), []);
        fs::create_dir_all(folder.path().join("proc")).unwrap();
        fs::write(folder.path().join("proc/vmstat"), "pgpgin 7\npswpin_anon 1\npswpin 21\npswpout 30\n").unwrap();
        assert_eq!(swapped(folder.path()), [(Gauge::SwapIns, 21), (Gauge::SwapOuts, 30)]);
        assert_eq!(swapped(Path::new("/")).len(), 2);
    }

    #[test]
    fn pressure_is_what_some_task_waited() {
        let folder = tempfile::tempdir().unwrap();
        let text =
            "some avg10=0.00 avg60=0.12 avg300=0.00 total=4321\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        fs::write(folder.path().join("cpu.pressure"), text).unwrap();
        assert_eq!(pressure(folder.path(), ".pressure"), [(Gauge::CpuPressureUs, 4321)]);
        assert_eq!(pressure(folder.path(), ""), []);
    }
}
