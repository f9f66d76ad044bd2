//! The event loop of one load thread. From its start to its end it takes no lock, and no memory but
//! what TLS, HTTP/2 and the requests of a scenario take. When targets change it takes both, once.

use std::collections::BinaryHeap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use stampede_core::Protocol;
use stampede_priority::{Hurry, ThreadRole};

use crate::authored::Authored;
use crate::connection::{Connection, Stage};
use crate::crowd::Crowd;
use crate::crowd_plan::CrowdShare;
use crate::driver::{Driver, PLAIN, SPIN, TIMERS_A_USER};
use crate::engine::{ABORT, ThreadProgress};
use crate::io::{Io, Woken};
use crate::prepared_exchange::PreparedExchange;
use crate::recorder::Recorder;
use crate::redirect::Redirects;
use crate::targets::{self, Targets};
use crate::timeline::{Phase, Timeline};
use crate::tls::Security;
use crate::user::User;

/// Requests of an open load that are begun before events are looked at again.
const BATCH: usize = 64;

/// A load that has sent nothing so long after its start has no start to be on time for.
const LONGEST_HURRY: Duration = Duration::from_secs(1);

/// What a thread is given to begin with.
pub(crate) struct Assignment {
    pub(crate) exchanges: Arc<[PreparedExchange]>,
    pub(crate) targets: Arc<Targets>,
    /// The event that calls the thread: it is to end, or its targets have changed.
    pub(crate) call: Arc<OwnedFd>,
    pub(crate) security: Option<Security>,
    pub(crate) crowds: Vec<CrowdShare>,
    pub(crate) recorder: Recorder,
    /// Of each turn; one for a load that does not rest.
    pub(crate) timelines: Arc<[Timeline]>,
    /// Whether the thread goes first until its first request is sent.
    pub(crate) hurries: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) protocol: Protocol,
    pub(crate) keep_alive: bool,
    /// Whether the window ends with the last request instead of with its time.
    pub(crate) by_count: bool,
    pub(crate) progress: Arc<ThreadProgress>,
    /// How many connections come before this thread's.
    pub(crate) first_connection: usize,
    /// Who writes its requests or takes its answers, if anybody does.
    pub(crate) authored: Option<Authored>,
    /// What redirects are followed with, if they are.
    pub(crate) redirects: Option<Box<Redirects>>,
}

/// Drives the load until it is over, and returns what was seen.
pub(crate) fn run<I: Io>(assignment: Assignment, io: I) -> Recorder {
    let Assignment {
        exchanges,
        targets: source,
        call,
        security,
        crowds: shares,
        mut recorder,
        timelines,
        hurries,
        timeout,
        protocol,
        keep_alive,
        by_count,
        progress,
        first_connection,
        authored,
        redirects,
    } = assignment;
    let start = Instant::now();
    let mut hurry = hurries.then(|| Hurry::begin(ThreadRole::Load)).flatten();
    let mut later = timelines.iter();
    let Some(&timeline) = later.next() else { return recorder };
    let (is_http2, sharers) = match protocol {
        Protocol::Http10 | Protocol::Http11 => (false, 1),
        Protocol::Http2 { streams } => (true, streams.get() as usize),
    };
    let (generation, targets) = source.current();
    recorder.begin_targets(targets.len());
    let connections = shares.iter().map(|share| share.connections).sum::<usize>();
    let user_count = connections * sharers;
    let mut users = Vec::with_capacity(user_count);
    let mut crowds = Vec::with_capacity(shares.len());
    for share in shares {
        let first = users.len();
        let count = share.connections * sharers;
        let target_of = |token: usize| targets::place(first_connection, token / sharers, targets.len());
        let crowd = share.begin((first, count), &timeline, targets.len(), target_of);
        for token in first..first + count {
            let place = crowd.place((first_connection * sharers + token) as u64);
            let script = crowd.script.as_ref();
            let begins = (place, crowd.exchange_at(place));
            let mut user = User::new(token, sharers, (crowds.len(), script), begins, start);
            user.comparison.redirection = redirects.as_ref().map(|_| Box::default());
            if script.is_none() {
                exchanges.iter().for_each(|exchange| user.comparison.reserve(&exchange.check));
            }
            users.push(user);
        }
        crowds.push(crowd);
    }
    let mut driver = Driver {
        io,
        connections: (0..connections)
            .map(|number| {
                Connection::new(number, targets::place(first_connection, number, targets.len()), is_http2, start)
            })
            .collect(),
        timeline,
        rests: timelines.len() > 1,
        recorder,
        exchanges,
        crowds,
        authored,
        redirects,
        timeout,
        keep_alive,
        in_flight: 0,
        departing: Vec::with_capacity(user_count),
        woke_at: start,
        targets,
        source,
        generation,
        first_link: first_connection,
        opened: 0,
        timers: BinaryHeap::with_capacity(TIMERS_A_USER * user_count),
        sharers,
        unflushed: Vec::with_capacity(connections + 2 * user_count),
        plain: vec![0; if security.is_some() { PLAIN } else { 0 }].into_boxed_slice(),
        security,
        notices: Vec::with_capacity(2 * sharers),
        progress,
    };
    let mut usage = Usage::default();
    if let Some(slicer) = &mut driver.recorder.slicer {
        slicer.resume(&timeline, Duration::ZERO, !driver.rests);
    }
    if let Some(sampler) = &mut driver.recorder.sampler {
        sampler.begin(timeline.starts_at);
    }
    // What the windows of turns before this one take together.
    let mut before = Duration::ZERO;

    let start = Instant::now();
    driver.recorder.missed(start.saturating_duration_since(timeline.starts_at));
    for user in &mut users {
        if driver.crowds.get(user.crowd).is_some_and(|crowd| crowd.active > 0) {
            let pause = driver.authored.as_mut().map_or(Some(Duration::ZERO), Authored::pause).unwrap_or_default();
            user.schedule(&mut driver, timeline.starts_at.max(start) + pause, start);
        }
    }
    let mut seen = InFlight { count: driver.in_flight, at: start };
    // When the last turn of the loop began, if it did nothing but spin.
    let mut spun_from = None;
    loop {
        let now = Instant::now();
        if let Some(from) = spun_from.take() {
            usage.spun(now.saturating_duration_since(from));
        }
        usage.pass(now, &driver.timeline);
        if let Some(slicer) = &mut driver.recorder.slicer {
            slicer.turn(now);
        }
        if let Some(sampler) = &mut driver.recorder.sampler {
            sampler.turn(now);
        }
        if driver.targets_have_changed() {
            driver.follow_targets(&mut users);
        }
        seen.look(&mut driver, now);
        while let Some((at, token, timer)) = driver.pop_timer(now) {
            if let Some(user) = users.get_mut(token) {
                user.on_timer(&mut driver, timer, at, now);
            }
        }
        begin_due(&mut driver, &mut users, now);
        driver.flush();
        let now = if driver.in_flight == seen.count { now } else { Instant::now() };
        seen.look(&mut driver, now);
        if driver.author_has_ended() {
            hold_out(&mut driver, &mut users, &call);
            break;
        }
        let Timeline { closes_at, drain_ends_at, .. } = driver.timeline;
        if now >= drain_ends_at || driver.is_over() && (by_count || driver.ran_out() || now >= closes_at) {
            let Some(&next) = later.next() else { break };
            before += driver.timeline.window(None);
            usage.turn_is_over();
            driver.turn_to(next, before, later.len() == 0);
            for user in &mut users {
                user.resume(&mut driver, now);
            }
            continue;
        }
        let departs = !driver.departing.is_empty();
        for token in driver.departing.drain(..) {
            if let Some(user) = users.get_mut(token) {
                user.departs(&mut driver.recorder, now);
            }
        }
        if hurry.is_some() && (driver.recorder.has_begun() || now >= timeline.starts_at + LONGEST_HURRY) {
            hurry = None;
        }
        let (patience, spins) = driver.patience(now);
        // The kernel gives no error for a valid descriptor and buffer (epoll_wait(2)).
        let Ok(woken) = driver.io.wait(patience) else { break };
        driver.woke_at = Instant::now();
        let woke_at = driver.woke_at;
        seen.look(&mut driver, woke_at);
        match woken {
            Woken::Called if is_aborted(&call) => break,
            Woken::Patience if spins && !departs && driver.timeline.phase(now) == Some(Phase::Window) => {
                spun_from = Some(now);
            }
            Woken::Patience | Woken::Happened | Woken::Called => {}
        }
        while let Some(number) = driver.take_next(&mut users) {
            let first = number * sharers;
            let mut place = 0;
            while let Some((key, notice)) = driver.notices.get(place).copied() {
                if let Some(user) = users.get_mut(first + key) {
                    user.act(&mut driver, notice);
                }
                place += 1;
            }
            driver.notices.clear();
            driver.flush();
        }
    }
    if I::DEFERS {
        // What was begun has to leave, to be what it is counted as.
        let _ = driver.io.wait(Duration::ZERO);
    }
    let now = Instant::now();
    for user in &mut users {
        user.give_up(&mut driver, now);
    }
    driver.give_up_waiting(now);
    driver.recorder.is_over(now);
    if timelines.len() > 1 {
        driver.recorder.turn_is_over();
    }
    usage.turn_is_over();
    driver.recorder.used(usage.cpu, usage.spin);
    for Crowd { number, script, .. } in driver.crowds {
        if let (Some(script), Some(tally)) = (script, driver.recorder.crowds.get_mut(number)) {
            tally.merge(&script.into_tally());
        }
    }
    driver.recorder
}

/// Ends the requests and connections of a thread whose author has ended, and waits for the window to close: those of others
/// may still be under way.
fn hold_out<I: Io>(driver: &mut Driver<I>, users: &mut [User], call: &OwnedFd) {
    let now = Instant::now();
    for user in users {
        user.give_up(driver, now);
    }
    for number in 0..driver.connections.len() {
        driver.close(number);
    }
    loop {
        while driver.io.next().is_some() {}
        let left = driver.timeline.closes_at.saturating_duration_since(Instant::now());
        match driver.io.wait(left) {
            _ if left.is_zero() => return,
            Ok(Woken::Called) if is_aborted(call) => return,
            Ok(Woken::Called | Woken::Happened | Woken::Patience) => {}
            Err(_) => return,
        }
    }
}

/// Gives requests, or flows, of an open load that are due to idle users.
fn begin_due<I: Io>(driver: &mut Driver<I>, users: &mut [User], now: Instant) {
    for number in 0..driver.crowds.len() {
        for _ in 0..BATCH {
            let Driver { crowds, connections, sharers, .. } = &mut *driver;
            let Some(crowd) = crowds.get_mut(number) else { return };
            if crowd.idle.is_empty() {
                break;
            }
            let Some(arrival) = crowd.take_due(now) else { break };
            let is_open = |token: usize| {
                connections.get(token / *sharers).is_some_and(|connection| connection.stage != Stage::Closed)
            };
            let user = crowd.idle.take(is_open).and_then(|token| users.get_mut(token));
            if let Some(user) = user {
                user.take(driver, arrival, now);
            }
        }
    }
}

/// Why the thread was called: `true` when it is to end.
fn is_aborted(call: &OwnedFd) -> bool {
    let mut sum = [0; 8];
    // It is there, or nobody would have called.
    rustix::io::read(call, &mut sum).is_ok_and(|_| u64::from_ne_bytes(sum) >= ABORT)
}

/// How many requests were in flight at the last look.
struct InFlight {
    count: u32,
    at: Instant,
}

impl InFlight {
    /// Adds up the time in flight since the last look. Where the number has changed, it has done so bit by bit.
    fn look<I: Io>(&mut self, driver: &mut Driver<I>, now: Instant) {
        let time = driver.timeline.overlap(self.at, now);
        driver.recorder.saw_in_flight(time.saturating_mul(self.count + driver.in_flight) / 2);
        *self = Self { count: driver.in_flight, at: now };
    }
}

/// What this thread used between the edges of the window, or of all turns' windows.
#[derive(Default)]
struct Usage {
    /// In the windows that are over.
    cpu: Duration,
    cpu_at_open: Option<Duration>,
    cpu_at_close: Option<Duration>,
    spin: Duration,
}

impl Usage {
    /// Reads the thread's clock when an edge has passed.
    fn pass(&mut self, now: Instant, timeline: &Timeline) {
        if now >= timeline.opens_at {
            self.cpu_at_open.get_or_insert_with(thread_cpu);
        }
        if now >= timeline.closes_at {
            self.cpu_at_close.get_or_insert_with(thread_cpu);
        }
    }

    /// Adds a turn of a spin. A turn takes about a microsecond; one longer than the spin may be was spent waiting for the
    /// processor.
    fn spun(&mut self, turn: Duration) {
        if turn < SPIN {
            self.spin += turn;
        }
    }

    /// A window is over: now, when the load was ended early.
    fn turn_is_over(&mut self) {
        if let Some(opened) = self.cpu_at_open.take() {
            self.cpu += self.cpu_at_close.take().unwrap_or_else(thread_cpu).saturating_sub(opened);
        }
    }
}

fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
