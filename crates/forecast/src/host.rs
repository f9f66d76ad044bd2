//! Processors that instances share: who has one, who waits for one, and which of them have nothing to do.

use std::collections::VecDeque;

use crate::instance::SLICE;

/// Those that wait already get on at a tick: 250 a second in Debian's kernel.
const TICK: u64 = 4_000_000;

/// The processors of a machine. Instances that work take turns on them, first come, first served, as control groups of equal weight do. A
/// group's turn goes on until the next tick, or until one of its processes gives way to another one after a slice: then the kernel
/// looks for the next group anew (`pick_next_task_fair` in kernel/sched/fair.c), while among processes of one group who was
/// just woken is next.
#[derive(Debug)]
pub(crate) struct Host {
    processors: u32,
    /// Instances that work; those that have processors first.
    order: VecDeque<Seat>,
    /// When a turn is over, where others wait.
    due: u64,
    /// How many instances have requests.
    working: u32,
    /// Until when each processor without an instance worked; the latest last.
    asleep: Vec<u64>,
}

/// What changes who has processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// An instance asks for other processors than before.
    Asks(u32),
    /// Turns that are over at this time are: others are next.
    Over,
    /// A process of an instance, whose work is done, gives way to another one of it: others are next, where they wait and it had
    /// its slice.
    HandsOver(u32),
}

/// An instance that works, or would.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seat {
    pub(crate) number: u32,
    /// The part of the processors it asks for that it has.
    pub(crate) part: f64,
    /// Since when it has any.
    since: u64,
}

impl Host {
    /// Processors that never did anything.
    pub(crate) fn new(processors: u32) -> Self {
        let asleep = vec![0; processors as usize];
        Self { processors, order: VecDeque::new(), due: u64::MAX, working: 0, asleep }
    }

    /// An instance that was idle has a request: until when its processor did something, which is the one that rested least.
    pub(crate) fn wake(&mut self, now: u64) -> u64 {
        self.working += 1;
        if self.working > self.processors { now } else { self.asleep.pop().unwrap_or(now) }
    }

    /// An instance has nothing to do any more.
    pub(crate) fn rest(&mut self, now: u64) {
        self.working = self.working.saturating_sub(1);
        if self.working < self.processors {
            self.asleep.push(now);
        }
    }

    /// When a turn is over.
    pub(crate) fn due(&self) -> u64 {
        self.due
    }

    /// Something changes. `demand`: how many processors each instance asks for.
    pub(crate) fn change(&mut self, now: u64, change: Change, demand: impl Fn(u32) -> f64) {
        match change {
            Change::Asks(number) => self.ask(now, number, demand),
            Change::Over => self.rotate(now, demand),
            Change::HandsOver(number) => self.hand_over(now, number, demand),
        }
    }

    fn ask(&mut self, now: u64, number: u32, demand: impl Fn(u32) -> f64) {
        let place = self.order.iter().position(|seat| seat.number == number);
        match (place, demand(number) > 0.0) {
            (None, true) => self.order.push_back(Seat { number, part: 0.0, since: now }),
            (Some(place), false) => drop(self.order.remove(place)),
            _ => {}
        }
        self.settle(now, demand);
    }

    fn rotate(&mut self, now: u64, demand: impl Fn(u32) -> f64) {
        let over: Vec<Seat> = self.order.iter().filter(|seat| self.is_over(seat, now)).copied().collect();
        self.order.retain(|seat| !over.contains(seat));
        self.order.extend(over.into_iter().map(|seat| Seat { part: 0.0, ..seat }));
        self.settle(now, demand);
    }

    fn is_over(&self, seat: &Seat, now: u64) -> bool {
        seat.part > 0.0 && now > seat.since && (now - seat.since).is_multiple_of(TICK)
    }

    fn hand_over(&mut self, now: u64, number: u32, demand: impl Fn(u32) -> f64) {
        let had_its_slice = |seat: &Seat| seat.number == number && seat.part > 0.0 && now - seat.since >= SLICE;
        if self.due != u64::MAX
            && let Some(place) = self.order.iter().position(had_its_slice)
            && let Some(seat) = self.order.remove(place)
        {
            self.order.push_back(Seat { part: 0.0, ..seat });
            self.settle(now, demand);
        }
    }

    /// Who works or would, with what each has.
    pub(crate) fn seats(&self) -> impl Iterator<Item = &Seat> {
        self.order.iter()
    }

    fn settle(&mut self, now: u64, demand: impl Fn(u32) -> f64) {
        let mut free = f64::from(self.processors);
        for seat in &mut self.order {
            let asked = demand(seat.number);
            let part = if asked > 0.0 { (free / asked).min(1.0) } else { 0.0 };
            free = (free - part * asked).max(0.0);
            if seat.part == 0.0 {
                seat.since = now;
            }
            seat.part = part;
        }
        let others_wait = self.order.iter().any(|seat| seat.part < 1.0);
        let ends = self.order.iter().filter(|seat| seat.part > 0.0).map(|seat| {
            let turns = (now - seat.since) / TICK + 1;
            seat.since + turns * TICK
        });
        self.due = ends.min().filter(|_| others_wait).unwrap_or(u64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_processor_that_works_for_another_did_not_sleep() {
        let mut host = Host::new(2);
        assert_eq!((host.wake(5), host.wake(7), host.wake(9)), (0, 0, 9));
        // One of three is left without a processor, and takes the one that is free now.
        host.rest(11);
        host.rest(12);
        assert_eq!((host.wake(20), host.wake(30)), (12, 30));
        host.rest(40);
        host.rest(41);
        host.rest(45);
        assert_eq!((host.wake(50), host.wake(50), host.wake(50)), (45, 41, 50));
    }

    fn told(host: &Host) -> Vec<(u32, f64)> {
        host.seats().map(|seat| (seat.number, seat.part)).collect()
    }

    #[test]
    fn instances_take_turns() {
        let one = |_: u32| 1.0;
        let mut host = Host::new(1);
        host.ask(10 * MS, 7, one);
        assert_eq!((told(&host), host.due()), (vec![(7, 1.0)], u64::MAX));
        // It had one turn for itself; the second is over at 18 ms.
        host.ask(15 * MS, 8, one);
        assert_eq!((told(&host), host.due()), (vec![(7, 1.0), (8, 0.0)], 18 * MS));
        host.rotate(18 * MS, one);
        assert_eq!((told(&host), host.due()), (vec![(8, 1.0), (7, 0.0)], 22 * MS));
        // A process gives way to another one: not before the slice of 1.4 ms is over, and then for the other instance.
        host.hand_over(19 * MS, 8, one);
        assert_eq!(told(&host), [(8, 1.0), (7, 0.0)]);
        host.hand_over(20 * MS, 8, one);
        assert_eq!((told(&host), host.due()), (vec![(7, 1.0), (8, 0.0)], 24 * MS));
        // The first has nothing to do any more.
        host.ask(21 * MS, 7, |number| if number == 7 { 0.0 } else { 1.0 });
        assert_eq!((told(&host), host.due()), (vec![(8, 1.0)], u64::MAX));
        // Nobody waits.
        host.hand_over(30 * MS, 8, one);
        assert_eq!(told(&host), [(8, 1.0)]);
    }

    #[test]
    fn who_asks_for_more_than_is_left_gets_that() {
        let mut host = Host::new(2);
        let two = |number: u32| if number == 8 { 2.0 } else { 1.0 };
        host.ask(0, 7, two);
        host.ask(1, 8, two);
        assert_eq!((told(&host), host.due()), (vec![(7, 1.0), (8, 0.5)], 4 * MS));
    }
}
