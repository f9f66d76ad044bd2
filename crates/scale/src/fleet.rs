//! The instances: which are there, how many requests each has, and which is given the next.

use std::time::Duration;

use crate::billing::{SpanMeter, rounded_up};
use crate::index_set::IndexSet;
use crate::{Time, Usage};

/// An instance. The number of one that has gone is given to a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InstanceId(pub u32);

/// Which instance is given a request, among those that have room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Balancing {
    /// The first: the others become idle.
    FirstAvailable,
    /// The next after the one before.
    RoundRobin,
}

/// Where an instance is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Absent,
    /// Not ready yet.
    Starting,
    /// Given requests.
    Serving,
    /// No more wanted: given requests when no other has room.
    Spare,
    /// Given no more requests; gone with the last that it has.
    Draining,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    phase: Phase,
    in_flight: u32,
    /// Since when it has no request.
    idle_since: Time,
    started: Time,
    meter: SpanMeter,
}

/// All instances of a service.
#[derive(Clone, Debug)]
pub(crate) struct Fleet {
    concurrency: u32,
    balancing: Balancing,
    granularity: Duration,
    slots: Vec<Slot>,
    /// Numbers below [`Fleet::slots`]' length that no instance has.
    absent: IndexSet,
    /// Serving and with room.
    open: IndexSet,
    /// Spare and with room.
    spare_open: IndexSet,
    cursor: usize,
    most: u32,
    pub(crate) starting: u32,
    pub(crate) serving: u32,
    pub(crate) spare: u32,
    draining: u32,
    /// The fewest that are kept, for what their idleness costs.
    kept: u32,
    busy: u32,
    busy_changed: Time,
    usage: Usage,
}

impl Fleet {
    /// No instance yet, and never more than `most` beside those that drain.
    pub(crate) fn new(concurrency: u32, balancing: Balancing, granularity: Duration, kept: u32, most: u32) -> Self {
        // Draining instances keep their numbers while others take their place.
        let numbers = 2 * most as usize;
        Self {
            concurrency,
            balancing,
            granularity,
            slots: Vec::new(),
            absent: IndexSet::new(numbers),
            open: IndexSet::new(numbers),
            spare_open: IndexSet::new(numbers),
            cursor: 0,
            most,
            starting: 0,
            serving: 0,
            spare: 0,
            draining: 0,
            kept,
            busy: 0,
            busy_changed: Time::START,
            usage: Usage::default(),
        }
    }

    /// Instances that are there or come up, without those that drain.
    pub(crate) fn alive(&self) -> u32 {
        self.starting + self.serving + self.spare
    }

    /// An instance begins to start; `None` when no more may be there.
    pub(crate) fn start(&mut self, now: Time) -> Option<InstanceId> {
        if self.alive() >= self.most || self.alive() + self.draining >= 2 * self.most {
            return None;
        }
        let index = match self.absent.next(0) {
            Some(index) => {
                self.absent.remove(index);
                index
            }
            None => {
                self.slots.push(Slot {
                    phase: Phase::Absent,
                    in_flight: 0,
                    idle_since: now,
                    started: now,
                    meter: SpanMeter::default(),
                });
                self.slots.len() - 1
            }
        };
        let slot = &mut self.slots[index];
        *slot =
            Slot { phase: Phase::Starting, in_flight: 0, idle_since: now, started: now, meter: SpanMeter::default() };
        slot.meter.begin(now);
        self.starting += 1;
        self.busy_changes(now, 1);
        Some(InstanceId(index as u32))
    }

    /// An instance has come up. Ignored when it was given up meanwhile.
    pub(crate) fn ready(&mut self, now: Time, InstanceId(id): InstanceId) {
        let slot = &mut self.slots[id as usize];
        if slot.phase != Phase::Starting {
            return;
        }
        slot.phase = Phase::Serving;
        slot.idle_since = now;
        self.usage.busy_seconds += slot.meter.end(now, self.granularity).as_secs_f64();
        self.starting -= 1;
        self.serving += 1;
        self.open.insert(id as usize);
        self.busy_changes(now, -1);
    }

    /// Gives the next request to an instance that has room.
    pub(crate) fn place(&mut self, now: Time) -> Option<InstanceId> {
        let first = match self.balancing {
            Balancing::FirstAvailable => self.open.next(0),
            Balancing::RoundRobin => self.open.next(self.cursor).or_else(|| self.open.next(0)),
        };
        let index = first.or_else(|| self.spare_open.next(0))?;
        self.cursor = index + 1;
        let slot = &mut self.slots[index];
        slot.in_flight += 1;
        if slot.in_flight == self.concurrency {
            match slot.phase {
                Phase::Spare => self.spare_open.remove(index),
                _ => self.open.remove(index),
            }
        }
        self.usage.requests += 1.0;
        if slot.in_flight == 1 {
            slot.meter.begin(now);
            self.busy_changes(now, 1);
        }
        Some(InstanceId(index as u32))
    }

    /// A request is over. Whether the instance has gone with it.
    pub(crate) fn release(&mut self, now: Time, InstanceId(id): InstanceId) -> bool {
        let slot = &mut self.slots[id as usize];
        slot.in_flight = slot.in_flight.saturating_sub(1);
        let (phase, idle) = (slot.phase, slot.in_flight == 0);
        if idle {
            slot.idle_since = now;
            self.usage.busy_seconds += slot.meter.end(now, self.granularity).as_secs_f64();
            self.busy_changes(now, -1);
        }
        match phase {
            Phase::Spare => self.spare_open.insert(id as usize),
            Phase::Serving => self.open.insert(id as usize),
            Phase::Draining if idle => {
                self.draining -= 1;
                self.remove(now, id as usize);
                return true;
            }
            _ => {}
        }
        false
    }

    /// Wants so many, beside those that are spare: takes spare ones back first, and makes spare what is too much, those with
    /// the highest numbers first. How many have to be started.
    pub(crate) fn want(&mut self, wanted: u32) -> u32 {
        for index in 0..self.slots.len() {
            if self.spare == 0 || self.starting + self.serving >= wanted {
                break;
            }
            self.rephase(index, Phase::Spare, Phase::Serving);
        }
        for index in (0..self.slots.len()).rev() {
            if self.serving == 0 || self.starting + self.serving <= wanted {
                break;
            }
            self.rephase(index, Phase::Serving, Phase::Spare);
        }
        wanted.saturating_sub(self.starting + self.serving)
    }

    fn rephase(&mut self, index: usize, from: Phase, to: Phase) {
        let slot = &mut self.slots[index];
        if slot.phase != from {
            return;
        }
        slot.phase = to;
        let room = slot.in_flight < self.concurrency;
        let (out, into) = match to {
            Phase::Serving => {
                self.spare -= 1;
                self.serving += 1;
                (&mut self.spare_open, &mut self.open)
            }
            _ => {
                self.serving -= 1;
                self.spare += 1;
                (&mut self.open, &mut self.spare_open)
            }
        };
        if room {
            out.remove(index);
            into.insert(index);
        }
    }

    /// Spare instances go that have had no request for so long, while more than the fewest are there.
    pub(crate) fn stop_idle(&mut self, now: Time, idle: Duration, stopped: &mut Vec<InstanceId>) {
        for index in (0..self.slots.len()).rev() {
            if self.spare == 0 || self.alive() <= self.kept {
                return;
            }
            let Slot { phase, in_flight, idle_since, .. } = self.slots[index];
            if phase == Phase::Spare && in_flight == 0 && now.since(idle_since) >= idle {
                self.spare -= 1;
                self.spare_open.remove(index);
                self.remove(now, index);
                stopped.push(InstanceId(index as u32));
            }
        }
    }

    /// Instances go until so many are left: those that start, then those with the highest numbers. One that has requests
    /// drains first; `stopped` are those that have none.
    pub(crate) fn shrink_to(&mut self, now: Time, wanted: u32, stopped: &mut Vec<InstanceId>) {
        for phase in [Phase::Starting, Phase::Serving] {
            for index in (0..self.slots.len()).rev() {
                if self.alive() <= wanted {
                    return;
                }
                if self.slots[index].phase != phase {
                    continue;
                }
                self.take_out(now, index, stopped);
            }
        }
    }

    /// An instance has gone by itself, or will never come up: it is given no more requests, and its number is free once those
    /// that it has are over. Ignored when it was given up already.
    pub(crate) fn lose(&mut self, now: Time, InstanceId(id): InstanceId, stopped: &mut Vec<InstanceId>) {
        if !matches!(self.slots[id as usize].phase, Phase::Absent | Phase::Draining) {
            self.take_out(now, id as usize, stopped);
        }
    }

    /// Takes an instance out that starts, serves or is spare. One that has requests drains first.
    fn take_out(&mut self, now: Time, index: usize, stopped: &mut Vec<InstanceId>) {
        match self.slots[index].phase {
            Phase::Starting => {
                self.starting -= 1;
                let billed = self.slots[index].meter.end(now, self.granularity);
                self.usage.busy_seconds += billed.as_secs_f64();
                self.busy_changes(now, -1);
            }
            Phase::Spare => {
                self.spare -= 1;
                self.spare_open.remove(index);
            }
            _ => {
                self.serving -= 1;
                self.open.remove(index);
            }
        }
        if self.slots[index].in_flight > 0 {
            self.slots[index].phase = Phase::Draining;
            self.draining += 1;
        } else {
            self.remove(now, index);
            stopped.push(InstanceId(index as u32));
        }
    }

    fn remove(&mut self, now: Time, index: usize) {
        let slot = &mut self.slots[index];
        slot.phase = Phase::Absent;
        self.usage.lived_seconds += rounded_up(now.since(slot.started), self.granularity).as_secs_f64();
        self.absent.insert(index);
    }

    fn busy_changes(&mut self, now: Time, by: i32) {
        if self.kept > 0 {
            let idle = f64::from(self.kept.saturating_sub(self.busy));
            self.usage.kept_idle_seconds += idle * now.since(self.busy_changed).as_secs_f64();
            self.busy_changed = now;
        }
        self.busy = self.busy.saturating_add_signed(by);
    }

    /// What all instances were counted for until now, those that live included.
    pub(crate) fn usage(&self, now: Time) -> Usage {
        let mut usage = self.usage;
        for slot in &self.slots {
            if slot.phase == Phase::Absent {
                continue;
            }
            usage.lived_seconds += rounded_up(now.since(slot.started), self.granularity).as_secs_f64();
            if slot.in_flight > 0 || slot.phase == Phase::Starting {
                usage.busy_seconds += { slot.meter }.end(now, self.granularity).as_secs_f64();
            }
        }
        let idle = f64::from(self.kept.saturating_sub(self.busy));
        usage.kept_idle_seconds += idle * now.since(self.busy_changed).as_secs_f64();
        usage
    }
}
