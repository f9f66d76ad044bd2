//! Where the connections of a load go, which may change while it runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::socket::Target;

/// The targets of all threads. A thread looks only at the generation in its loop, and takes the lock when that is another.
#[derive(Debug)]
pub(crate) struct Targets {
    generation: AtomicU64,
    current: Mutex<Arc<[Target]>>,
}

impl Targets {
    pub(crate) fn new(targets: Arc<[Target]>) -> Self {
        Self { generation: AtomicU64::new(0), current: Mutex::new(targets) }
    }

    /// Has connections go to these from now on.
    pub(crate) fn replace(&self, targets: Arc<[Target]>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        *current = targets;
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// How often they have changed.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The present ones, with their generation.
    pub(crate) fn current(&self) -> (u64, Arc<[Target]>) {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        (self.generation(), Arc::clone(&current))
    }
}

/// The target of a thread's connection, before whose connections so many come: they are dealt out in turn.
pub(crate) fn place(first: usize, number: usize, targets: usize) -> usize {
    (first + number) % targets.max(1)
}

/// Deals a thread's connections out to other targets, in the shares that [`place`] gives. `before` has the places of their
/// present targets among the new ones, if they have any: as many stay as may.
pub(crate) fn deal(before: &[Option<usize>], first: usize, targets: usize) -> Vec<usize> {
    let mut room = vec![0_usize; targets];
    for number in 0..before.len() {
        if let Some(room) = room.get_mut(place(first, number, targets)) {
            *room += 1;
        }
    }
    let mut take = |target: usize| match room.get_mut(target) {
        Some(room) if *room > 0 => {
            *room -= 1;
            true
        }
        _ => false,
    };
    let stays: Vec<_> = before.iter().map(|target| target.filter(|target| take(*target))).collect();
    // There is as much room as there are connections: in turn, each of the others finds some.
    let mut turn = first;
    let mut next = || {
        (0..targets).find_map(|_| {
            let target = turn % targets;
            turn = target + 1;
            take(target).then_some(target)
        })
    };
    stays.into_iter().map(|target| target.or_else(&mut next).unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_stay_where_they_may_and_the_others_share_what_is_left() {
        let all = |before: &[usize]| before.iter().map(|target| Some(*target)).collect::<Vec<_>>();
        for (what, before, first, targets, expected) in [
            ("nothing changes", all(&[0, 1, 2, 0, 1, 2]), 0, 3, vec![0, 1, 2, 0, 1, 2]),
            ("a target comes", all(&[0, 1, 0, 1, 0, 1]), 0, 3, vec![0, 1, 0, 1, 2, 2]),
            ("a target leaves", vec![Some(0), None, Some(1), Some(0), None, Some(1)], 0, 2, vec![0, 0, 1, 0, 1, 1]),
            ("all are replaced", vec![None; 4], 1, 2, vec![1, 0, 1, 0]),
            ("there are more targets than connections", all(&[0, 1]), 2, 4, vec![2, 3]),
        ] {
            assert_eq!(deal(&before, first, targets), expected, "{what}");
        }
    }

    #[test]
    fn a_change_is_a_new_generation() {
        let targets = Targets::new(Arc::from([]));
        let (generation, _) = targets.current();
        assert_eq!(targets.generation(), generation);
        targets.replace(Arc::from([]));
        assert_ne!(targets.generation(), generation);
        assert_eq!(targets.current().0, targets.generation());
    }
}
