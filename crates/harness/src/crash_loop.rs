//! Tells a server that starts its workers again and again from one that is still starting.

use std::collections::BTreeSet;
use std::time::Duration;

use stampede_seam::Running;

/// How often workers are looked for: half as long as PHP takes to start and end.
const PAUSE: Duration = Duration::from_millis(10);

/// So many workers may end before the first answer. Servers that start well end none.
const MOST: usize = 6;

/// Resolves when workers come and go; the problem as the end of a sentence.
pub(crate) async fn watch(running: &dyn Running) -> String {
    let mut seen = Workers::default();
    loop {
        seen.look(running.forks());
        if seen.ended >= MOST {
            return format!(
                "starts its workers again and again: {} of them ended before any request was answered",
                seen.ended
            );
        }
        let vantage = running.vantage();
        vantage.sleep_until(vantage.now() + PAUSE).await;
    }
}

/// The workers that live, and how many lived once.
#[derive(Debug, Default)]
struct Workers {
    alive: BTreeSet<u32>,
    ended: usize,
}

impl Workers {
    fn look(&mut self, alive: BTreeSet<u32>) {
        self.ended += self.alive.difference(&alive).count();
        self.alive = alive;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_that_are_gone_are_counted_once() {
        let mut workers = Workers::default();
        for (alive, ended) in
            [(vec![1, 2], 0), (vec![1, 2, 3], 0), (vec![3], 2), (vec![4], 3), (vec![4], 3), (vec![], 4)]
        {
            workers.look(alive.iter().copied().collect());
            assert_eq!(workers.ended, ended, "{alive:?}");
        }
    }
}
