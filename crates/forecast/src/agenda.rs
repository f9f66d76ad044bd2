//! What happens next: one time for each instance, the earliest first.

/// A heap with four children a node that knows where each entry is, so that an entry's time is changed in place. Times that are
/// equal come in the order of their numbers.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    heap: Vec<(u64, u32)>,
    /// Where in the heap a number is.
    places: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;
const CHILDREN: usize = 4;

impl Agenda {
    /// The earliest entry.
    pub(crate) fn first(&self) -> Option<(u64, u32)> {
        self.heap.first().copied()
    }

    /// Sets the time of a number, or takes it out.
    pub(crate) fn set(&mut self, number: u32, time: Option<u64>) {
        let index = number as usize;
        if index >= self.places.len() {
            self.places.resize(index + 1, ABSENT);
        }
        let place = self.places[index];
        match (time, place) {
            (None, ABSENT) => {}
            (None, _) => self.remove(place as usize),
            (Some(time), ABSENT) => {
                self.heap.push((time, number));
                self.rise(self.heap.len() - 1);
            }
            (Some(time), _) => self.replace(place as usize, (time, number)),
        }
    }

    fn remove(&mut self, place: usize) {
        let (_, number) = self.heap.swap_remove(place);
        self.places[number as usize] = ABSENT;
        if let Some(moved) = self.heap.get(place).copied() {
            self.replace(place, moved);
        }
    }

    fn replace(&mut self, place: usize, entry: (u64, u32)) {
        self.heap[place] = entry;
        let place = self.rise(place);
        self.sink(place);
    }

    /// Moves an entry up to where it belongs, and tells where that is.
    fn rise(&mut self, mut place: usize) -> usize {
        let entry = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if self.heap[parent] <= entry {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
        place
    }

    fn sink(&mut self, mut place: usize) {
        let entry = self.heap[place];
        loop {
            let first = place * CHILDREN + 1;
            let children = first..(first + CHILDREN).min(self.heap.len());
            match children.min_by_key(|child| self.heap[*child]) {
                Some(child) if self.heap[child] < entry => {
                    self.put(place, self.heap[child]);
                    place = child;
                }
                _ => break,
            }
        }
        self.put(place, entry);
    }

    fn put(&mut self, place: usize, entry: (u64, u32)) {
        self.heap[place] = entry;
        self.places[entry.1 as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    proptest::proptest! {
        /// Whatever is set and taken out, the first is the first.
        #[test]
        fn the_first_is_the_first(
            steps in proptest::collection::vec((0..50_u32, proptest::option::weighted(0.7, 0..100_u64)), 0..400),
        ) {
            let (mut agenda, mut all) = (Agenda::default(), BTreeMap::new());
            for (number, time) in steps {
                agenda.set(number, time);
                match time {
                    Some(time) => { all.insert(number, time); }
                    None => { all.remove(&number); }
                }
                let first = all.iter().map(|(number, time)| (*time, *number)).min();
                proptest::prop_assert_eq!(agenda.first(), first);
            }
        }
    }
}
