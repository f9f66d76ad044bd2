//! The processes of this machine, as far as the end of a run needs to know them.

use std::collections::HashMap;
use std::fs;
use std::io;

use rustix::process::{Pid, getpid};

/// One line of the table, from [`/proc/PID/stat`](https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    /// The parent's number; 0 for the first process.
    pub(crate) parent: i32,
    /// The session leader's number.
    pub(crate) session: i32,
    /// Whether it has ended and waits to be reaped.
    pub(crate) zombie: bool,
    /// Whether a signal has stopped it, until another lets it go on.
    pub(crate) stopped: bool,
}

/// All processes. One that ends meanwhile may be in it or not.
pub(crate) fn read() -> io::Result<Vec<Process>> {
    Ok(fs::read_dir("/proc")?
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            name.to_str()?.parse::<u32>().ok()?;
            parse(&fs::read_to_string(format!("/proc/{}/stat", name.display())).ok()?)
        })
        .collect())
}

/// A process, while it is there.
pub(crate) fn of(pid: Pid) -> Option<Process> {
    parse(&fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?)
}

/// The living members of a session and all their descendants, without the session's leader.
///
/// The leader must be this process or have ended. A living process with its number is then a stranger: the kernel keeps a
/// number that is in use as a session's, so no member of the session is left.
pub(crate) fn session_members(leader: Pid) -> io::Result<Vec<Pid>> {
    let table = read()?;
    let is_stranger = |process: &Process| process.pid == leader && !process.zombie;
    if leader != getpid() && table.iter().any(is_stranger) {
        return Ok(Vec::new());
    }
    let leader = leader.as_raw_pid();
    let parents: HashMap<i32, &Process> = table.iter().map(|process| (process.pid.as_raw_pid(), process)).collect();
    let is_member = |process: &Process| {
        // Bounded by the table's size, since a table read while processes come and go could hold a circle.
        std::iter::successors(Some(process), |process| parents.get(&process.parent).copied())
            .take(table.len())
            .any(|ancestor| ancestor.session == leader || ancestor.parent == leader)
    };
    Ok(table
        .iter()
        .filter(|process| process.pid.as_raw_pid() != leader && !process.zombie)
        .filter(|process| is_member(process))
        .map(|process| process.pid)
        .collect())
}

/// Whether a living process runs the same program as its parent, and so was forked by it and became nothing else.
pub(crate) fn is_fork(pid: Pid) -> bool {
    let program = |pid: i32| fs::read_link(format!("/proc/{pid}/exe")).ok();
    let Some(process) = of(pid) else {
        return false;
    };
    !process.zombie && program(pid.as_raw_pid()).is_some_and(|own| program(process.parent) == Some(own))
}

fn parse(stat: &str) -> Option<Process> {
    // The name stands in parentheses and may hold anything, parentheses too.
    let (pid, rest) = stat.split_once(" (")?;
    let (_, rest) = rest.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    Some(Process {
        pid: Pid::from_raw(pid.parse().ok()?)?,
        parent,
        session,
        zombie: matches!(state, "Z" | "X"),
        stopped: state == "T",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let process = parse("12 (a) Z (b) S 7 12 9 0 -1 4194560 1").unwrap();
        assert_eq!((process.pid.as_raw_pid(), process.parent, process.session), (12, 7, 9));
        assert!(!process.zombie);
        assert!(parse("13 (x) Z 12 12 9 0 -1").unwrap().zombie);
        assert!(parse("13 (x) T 12 12 9 0 -1").unwrap().stopped && !process.stopped);
        assert_eq!(parse("nonsense"), None);
    }

    #[test]
    fn this_process_is_in_the_table() {
        let own = rustix::process::getpid();
        assert!(read().unwrap().iter().any(|process| process.pid == own));
    }
}
