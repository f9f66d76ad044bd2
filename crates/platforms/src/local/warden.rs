//! The process that keeps a run: it starts the units, tells when one ends, and ends all of them when it is told to or
//! when Stampede is gone.
//!
//! It has one thread, a session of its own (so that a terminal's Ctrl-C reaches only Stampede) and is a subreaper (so
//! that what its units leave behind comes to it). Its standard input is the socket to Stampede; its standard output is
//! the run's lease, which it only keeps open and so locked.

use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, kill_process_group, pidfd_open, set_child_subreaper,
    setsid, wait, waitpid,
};
use stampede_core::{Restart, UnitExit, UnitId, UnitStop, with_causes};

use super::message::{News, Order};
use super::spawn::Surroundings;
use crate::runs::lease::{Lease, LeaseText};
use crate::runs::run::{END_TIME, PAUSE, Run};
use crate::units::Command;
use crate::units::end::End;
use crate::units::restart::{Next, Restarter};

/// The body of the program that [`crate::LocalConfig::warden`] runs. Returns when the run has ended.
///
/// It must be called before any thread is started.
pub fn run() -> ExitCode {
    // Fails when the process leads a process group already; then it is not in Stampede's, which is what matters.
    let _ = setsid();
    let _ = rustix::thread::set_name(c"stampede-warden");
    let begun = set_child_subreaper(Some(getpid()))
        .map_err(std::io::Error::from)
        .and_then(|()| std::io::stdin().as_fd().try_clone_to_owned())
        .map(Channel::new);
    let mut channel = match begun {
        Ok(channel) => channel,
        Err(error) => {
            eprintln!("begin as warden: {error}");
            return ExitCode::FAILURE;
        }
    };
    let Some(Order::Begin { run, user, cpus }) = channel.next() else {
        return end_unbegun();
    };
    let surroundings = Surroundings { group: run.group.clone(), user, cpus };
    Warden { channel, run, surroundings, units: Vec::new() }.keep()
}

/// Ends a run whose Stampede was gone before it had told anything: the lease says what was made.
fn end_unbegun() -> ExitCode {
    let lease = std::io::stdout().as_fd().try_clone_to_owned().map(|file| Lease::inherited(file.into()));
    let run = match lease.map(|mut lease| lease.read()) {
        Ok(Ok(Some(LeaseText { run, unknown: _, unreadable }))) if unreadable.is_empty() => run,
        _ => {
            eprintln!("begin as warden: Stampede starts this by itself, it is no command");
            return ExitCode::from(2);
        }
    };
    match run.end(reap_killed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("end a run that had not begun: {}", with_causes(&error));
            ExitCode::FAILURE
        }
    }
}

struct Warden {
    channel: Channel,
    run: Run,
    surroundings: Surroundings,
    units: Vec<Unit>,
}

/// A started unit.
struct Unit {
    id: UnitId,
    command: Command,
    surroundings: Surroundings,
    child: Child,
    restarter: Restarter,
    /// When it is started again.
    due: Option<Instant>,
    /// Whether its end has been told.
    told: bool,
    signal: Signal,
    grace: Duration,
}

impl Warden {
    fn keep(mut self) -> ExitCode {
        let asked = loop {
            let Some(order) = self.channel.take() else {
                if self.channel.closed {
                    break false;
                }
                self.wait_for_news();
                continue;
            };
            match order {
                Order::Begin { .. } => {}
                Order::Check { command, part, limit } => {
                    let checked = self.check(&command, part.as_deref(), limit);
                    self.channel.send(&News::Checked(checked));
                }
                Order::Start { unit, command, part, restart, signal, grace } => {
                    let surroundings = self.surroundings.within(part.as_deref());
                    let started = Unit::start(unit, command, surroundings, restart, signal, grace);
                    self.channel.send(&News::Started(started.map(|unit| self.units.push(unit))));
                }
                Order::Stop => break true,
            }
        };
        let units = if asked { self.stop_units() } else { Vec::new() };
        let ended = self.run.end_processes(reap_killed);
        let problem = ended.as_ref().err().map(|error| with_causes(error));
        // Nobody waits for its files: they may be many, and a disk slow to free them.
        self.channel.send(&News::Stopped { units, problem });
        match ended.and_then(|()| self.run.remove_files()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        }
    }

    fn check(&mut self, command: &Command, part: Option<&str>, limit: Duration) -> Result<(), String> {
        let mut child = Child::spawn(&self.surroundings.within(part), command)?;
        if !self.channel.await_end(&mut child, Instant::now() + limit) {
            child.kill();
            return Err(format!("it took longer than {} s", limit.as_secs()));
        }
        match child.ended {
            Some(End::Exited(0)) => Ok(()),
            _ => Err(format!("it ended with {}", child.how())),
        }
    }

    /// Waits for an order, or for a unit that ends or is due to be started again.
    fn wait_for_news(&mut self) {
        let ends: Vec<BorrowedFd<'_>> =
            self.units.iter().filter(|unit| unit.child.ended.is_none()).map(|unit| unit.child.pidfd.as_fd()).collect();
        let due = self.units.iter().filter_map(|unit| unit.due).min();
        self.channel.wait(&ends, due);
        let now = Instant::now();
        for unit in &mut self.units {
            if let Some(news) = unit.look(now) {
                self.channel.send(&news);
            }
        }
    }

    /// Asks each unit to stop, last started first, and kills what does not within its grace, or when Stampede is gone.
    fn stop_units(&mut self) -> Vec<UnitStop> {
        let mut stops = Vec::new();
        for unit in self.units.iter_mut().rev() {
            let asked = Instant::now();
            let mut killed = false;
            if !unit.child.has_ended() {
                let _ = kill_process(unit.child.pid, unit.signal);
                killed = !self.channel.await_end(&mut unit.child, asked + unit.grace);
                if killed {
                    unit.child.kill();
                }
            }
            stops.push(UnitStop { unit: unit.id.clone(), took: asked.elapsed(), killed, how: unit.child.how() });
        }
        stops.reverse();
        stops
    }
}

impl Unit {
    fn start(
        id: UnitId,
        command: Command,
        surroundings: Surroundings,
        restart: Restart,
        signal: i32,
        grace: Duration,
    ) -> Result<Self, String> {
        Ok(Self {
            id,
            child: Child::spawn(&surroundings, &command)?,
            command,
            surroundings,
            restarter: Restarter::new(restart),
            due: None,
            told: false,
            // A signal that this system does not know is no reason to leave a unit running.
            signal: Signal::from_named_raw(signal).unwrap_or(Signal::TERM),
            grace,
        })
    }

    /// What is to be told of it now: that it has ended, for good or to be started again.
    fn look(&mut self, now: Instant) -> Option<News> {
        if self.told {
            return None;
        }
        if let Some(due) = self.due {
            return if now >= due { self.start_again() } else { None };
        }
        if !self.child.is_over() {
            return None;
        }
        if self.restarter.may_come() && self.child.ended.is_none() {
            // Its workers would keep its address if it comes back, which only its status tells: once it is reaped for that, its
            // number may be another's.
            let _ = kill_process_group(self.child.pid, Signal::KILL);
        }
        if !self.child.has_ended() {
            return None;
        }
        let end = self.child.ended?;
        match self.restarter.next(end, now) {
            Next::Stay(how) => Some(self.tell(how)),
            Next::Start(due) => {
                self.due = Some(due);
                Some(News::Restarted(UnitExit { unit: self.id.clone(), how: end.to_string() }))
            }
        }
    }

    fn start_again(&mut self) -> Option<News> {
        self.due = None;
        match Child::spawn(&self.surroundings, &self.command) {
            Ok(child) => {
                self.child = child;
                None
            }
            Err(problem) => Some(self.tell(problem)),
        }
    }

    fn tell(&mut self, how: String) -> News {
        self.told = true;
        News::Exited(UnitExit { unit: self.id.clone(), how })
    }
}

/// A child of the warden and, once it has been reaped, how it ended.
struct Child {
    pid: Pid,
    /// Becomes readable when the child ends.
    pidfd: OwnedFd,
    ended: Option<End>,
}

impl Child {
    fn spawn(surroundings: &Surroundings, command: &Command) -> Result<Self, String> {
        let failed = |error: &dyn std::fmt::Display| format!("run {}: {error}", command.path);
        let pid = surroundings.spawn(command).map_err(|error| failed(&error))?;
        Self::watch(pid, |pid| pidfd_open(pid, PidfdFlags::empty())).map_err(|error| failed(&error))
    }

    /// A child that runs already. One that cannot be watched is in no list of what must be ended, and so is ended at once.
    fn watch(pid: Pid, open: impl FnOnce(Pid) -> Result<OwnedFd, Errno>) -> Result<Self, Errno> {
        open(pid).map(|pidfd| Self { pid, pidfd, ended: None }).inspect_err(|_| {
            let _ = kill_process_group(pid, Signal::KILL);
            let deadline = Instant::now() + END_TIME;
            while matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(None)) && Instant::now() < deadline {
                thread::sleep(PAUSE);
            }
        })
    }

    /// Whether the child has ended; it is not reaped by this.
    fn is_over(&self) -> bool {
        let mut watched = [PollFd::new(&self.pidfd, PollFlags::IN)];
        wait_readable(&mut watched, Some(Instant::now()));
        self.ended.is_some() || !watched[0].revents().is_empty()
    }

    /// Reaps the child if it has ended.
    fn has_ended(&mut self) -> bool {
        if self.ended.is_none()
            && let Ok(Some((_, status))) = waitpid(Some(self.pid), WaitOptions::NOHANG)
        {
            self.ended = Some(End::from(status));
        }
        self.ended.is_some()
    }

    /// Kills the child's process group and reaps the child.
    fn kill(&mut self) {
        let _ = kill_process_group(self.pid, Signal::KILL);
        let deadline = Instant::now() + END_TIME;
        while !self.has_ended() && Instant::now() < deadline {
            wait_readable(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], Some(deadline));
        }
    }

    fn how(&self) -> String {
        self.ended.map_or_else(|| "it does not end".to_owned(), |end| end.to_string())
    }
}

/// The socket to Stampede.
struct Channel {
    socket: UnixStream,
    received: Vec<u8>,
    /// Whether Stampede has closed it, or said something that it never says.
    closed: bool,
}

impl Channel {
    fn new(socket: OwnedFd) -> Self {
        Self { socket: socket.into(), received: Vec::new(), closed: false }
    }

    /// The next order, once it is there; `None` when the socket is closed.
    fn next(&mut self) -> Option<Order> {
        loop {
            match self.take() {
                Some(order) => return Some(order),
                None if self.closed => return None,
                None => self.wait(&[], None),
            }
        }
    }

    /// The next order, if it has been received.
    fn take(&mut self) -> Option<Order> {
        let end = self.received.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.received.drain(..=end).collect();
        match serde_json::from_slice(&line) {
            Ok(order) => Some(order),
            Err(error) => {
                eprintln!("read an order: {error}");
                self.closed = true;
                None
            }
        }
    }

    fn send(&mut self, news: &News) {
        // When Stampede is gone there is nobody to tell; the next reading notices it.
        if let Ok(mut line) = serde_json::to_vec(news) {
            line.push(b'\n');
            let _ = self.socket.write_all(&line);
        }
    }

    /// Waits until the child has ended (true), or until the deadline or Stampede's end (false). Orders that come
    /// meanwhile are kept.
    fn await_end(&mut self, child: &mut Child, deadline: Instant) -> bool {
        loop {
            if child.has_ended() {
                return true;
            }
            if self.closed || Instant::now() >= deadline {
                return false;
            }
            self.wait(&[child.pidfd.as_fd()], Some(deadline));
        }
    }

    /// Waits until something is received or one of the other descriptors is readable.
    fn wait(&mut self, others: &[BorrowedFd<'_>], deadline: Option<Instant>) {
        let mut watched = vec![PollFd::new(&self.socket, PollFlags::IN)];
        watched.extend(others.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        wait_readable(&mut watched, deadline);
        if watched[0].revents().is_empty() {
            return;
        }
        let mut bytes = [0; 4096];
        match self.socket.read(&mut bytes) {
            Ok(0) => self.closed = true,
            Ok(read) => self.received.extend_from_slice(&bytes[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => self.closed = true,
        }
    }
}

/// Waits until one of the descriptors is readable. May return too early: the caller looks again.
fn wait_readable(watched: &mut [PollFd<'_>], deadline: Option<Instant>) {
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    let _ = poll(watched, left.as_ref());
}

/// Reaps the children, units and orphans of theirs, that have been killed. Those that take long to end are left to the
/// next call, and in the end to Stampede.
fn reap_killed() {
    const LIMIT: Duration = Duration::from_secs(1);
    let deadline = Instant::now() + LIMIT;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(1)),
            Ok(None) | Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;
    use crate::runs::process_table;

    #[test]
    fn a_child_that_cannot_be_watched_is_ended_and_reaped() {
        let pid = Pid::from_child(&Command::new("sleep").arg("600").process_group(0).spawn().unwrap());
        let error = Child::watch(pid, |_| Err(Errno::MFILE)).err();
        assert_eq!(error, Some(Errno::MFILE));
        assert_eq!(process_table::of(pid), None);
    }
}
