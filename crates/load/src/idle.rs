//! Which user of an open load takes the next request.

use std::collections::VecDeque;
use std::ops::Range;

/// The users of an open load that have no request, by the target of their connection.
///
/// Targets take turns, and within a target the connection that has been idle longest comes first: each connection of a load
/// that keeps all of them carries as many requests as every other. Where connections open as they are needed, those that are
/// closed come only when none is open, so that a server which closes idle connections is not asked for a new one each time.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    queues: Vec<Queue>,
    /// The target that comes next.
    turn: usize,
    /// How many users all queues have.
    len: usize,
    /// All users, idle or not.
    users: Range<usize>,
    keeps_all: bool,
}

/// Idle users of one target. Each of both has room for all users of the target.
#[derive(Debug, Default)]
struct Queue {
    /// The one that has been idle longest is the first. Of those that the server has closed since, some are still here.
    open: VecDeque<usize>,
    /// The one that was closed last is taken first.
    closed: Vec<usize>,
}

impl Idle {
    /// All users, none of whom has a connection yet, where so many share one. `target_of` tells the target of each.
    pub(crate) fn new(
        users: Range<usize>,
        sharers: usize,
        keeps_all: bool,
        (targets, turn): (usize, usize),
        target_of: impl Fn(usize) -> usize,
    ) -> Self {
        let mut idle = Self { queues: Vec::new(), turn, len: 0, users: users.clone(), keeps_all };
        idle.make_room(targets, &target_of);
        if keeps_all {
            // Connections take turns before those who share one do.
            for key in 0..sharers {
                users.clone().skip(key).step_by(sharers).for_each(|user| idle.put(user, target_of(user), true));
            }
        } else {
            users.rev().for_each(|user| idle.put(user, target_of(user), false));
        }
        idle
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds a user that has become idle.
    pub(crate) fn put(&mut self, user: usize, target: usize, is_open: bool) {
        let Some(queue) = self.queues.get_mut(target) else { return };
        if is_open || self.keeps_all {
            queue.open.push_back(user);
        } else {
            queue.closed.push(user);
        }
        self.len += 1;
    }

    /// Takes the user that comes next.
    pub(crate) fn take(&mut self, is_open: impl Fn(usize) -> bool) -> Option<usize> {
        let Self { queues, turn, len, users: _, keeps_all } = self;
        for _ in 0..queues.len() {
            let target = if *turn < queues.len() { *turn } else { 0 };
            *turn = target + 1;
            let Some(queue) = queues.get_mut(target) else { continue };
            if let Some(user) = queue.take(*keeps_all, &is_open) {
                *len -= 1;
                return Some(user);
            }
        }
        None
    }

    /// Deals its users out to other targets. It takes memory.
    pub(crate) fn deal(&mut self, targets: usize, target_of: impl Fn(usize) -> usize, is_open: impl Fn(usize) -> bool) {
        let mut before = std::mem::take(&mut self.queues);
        self.make_room(targets, &target_of);
        let len = std::mem::take(&mut self.len);
        while self.len < len {
            // Of those at the head of each queue it is not known who was idle longer.
            let open = before.iter_mut().filter_map(|queue| queue.open.pop_front());
            let mut taken: Vec<usize> = open.collect();
            if taken.is_empty() {
                taken.extend(before.iter_mut().flat_map(|queue| queue.closed.drain(..)));
            }
            if taken.is_empty() {
                return;
            }
            for user in taken {
                self.put(user, target_of(user), is_open(user));
            }
        }
    }

    fn make_room(&mut self, targets: usize, target_of: &impl Fn(usize) -> usize) {
        let mut users = vec![0; targets];
        for target in self.users.clone().map(target_of) {
            if let Some(count) = users.get_mut(target) {
                *count += 1;
            }
        }
        let room = |count| Queue {
            open: VecDeque::with_capacity(count),
            closed: Vec::with_capacity(if self.keeps_all { 0 } else { count }),
        };
        self.queues = users.into_iter().map(room).collect();
    }
}

impl Queue {
    fn take(&mut self, keeps_all: bool, is_open: &impl Fn(usize) -> bool) -> Option<usize> {
        while let Some(user) = self.open.pop_front() {
            if keeps_all || is_open(user) {
                return Some(user);
            }
            self.closed.push(user);
        }
        self.closed.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes this many, each of which becomes idle again at once with an open connection.
    fn turns(idle: &mut Idle, count: usize, target_of: impl Fn(usize) -> usize) -> Vec<usize> {
        let turn = |_| {
            let user = idle.take(|_| true).unwrap();
            idle.put(user, target_of(user), true);
            user
        };
        (0..count).map(turn).collect()
    }

    #[test]
    fn kept_connections_take_turns_and_others_open_when_none_is_idle() {
        let one_target = |_| 0;
        let mut kept = Idle::new(4..8, 1, true, (1, 0), one_target);
        assert_eq!(turns(&mut kept, 6, one_target), [4, 5, 6, 7, 4, 5]);
        let mut opened = Idle::new(4..8, 1, false, (1, 0), one_target);
        assert_eq!(turns(&mut opened, 3, one_target), [4, 4, 4]);
        // Two at the same time, and both are used in turn from then on.
        assert_eq!((opened.take(|_| true), opened.take(|_| true)), (Some(4), Some(5)));
        opened.put(5, 0, true);
        opened.put(4, 0, true);
        assert_eq!(turns(&mut opened, 4, one_target), [5, 4, 5, 4]);
    }

    #[test]
    fn connections_take_turns_before_those_who_share_one() {
        let mut idle = Idle::new(0..6, 3, true, (1, 0), |_| 0);
        assert_eq!(turns(&mut idle, 7, |_| 0), [0, 3, 1, 4, 2, 5, 0]);
    }

    #[test]
    fn targets_take_turns_whatever_their_number_of_connections() {
        // Three connections to one target, one to the other.
        let target_of = |user| usize::from(user == 3);
        let mut idle = Idle::new(0..4, 1, true, (2, 1), target_of);
        assert_eq!(turns(&mut idle, 8, target_of), [3, 0, 3, 1, 3, 2, 3, 0]);
        // One whose connections are all busy is passed over.
        assert_eq!(idle.take(|_| true), Some(3));
        assert_eq!((idle.take(|_| true), idle.take(|_| true), idle.len()), (Some(1), Some(2), 1));
    }

    #[test]
    fn of_connections_that_open_as_needed_closed_ones_come_last() {
        let mut idle = Idle::new(0..3, 1, false, (1, 0), |_| 0);
        let taken: Vec<_> = (0..3).filter_map(|_| idle.take(|_| true)).collect();
        taken.iter().for_each(|user| idle.put(*user, 0, true));
        // The server has closed the first two meanwhile.
        let is_open = |user| user == 2;
        assert_eq!((idle.take(is_open), idle.take(is_open), idle.take(is_open)), (Some(2), Some(1), Some(0)));
        assert!(idle.is_empty() && idle.take(is_open).is_none());
    }

    #[test]
    fn nobody_is_lost_when_targets_change() {
        let mut idle = Idle::new(0..5, 1, false, (2, 0), |user| user % 2);
        let busy = idle.take(|_| true).unwrap();
        let other = idle.take(|_| true).unwrap();
        idle.put(other, other % 2, true);
        idle.deal(3, |user| user % 3, |user| user == other);
        assert_eq!(idle.len(), 4);
        idle.put(busy, busy % 3, true);
        let mut all: Vec<_> = (0..5).filter_map(|_| idle.take(|user| user == other || user == busy)).collect();
        all.sort_unstable();
        assert_eq!((all, idle.is_empty()), (vec![0, 1, 2, 3, 4], true));
    }
}
