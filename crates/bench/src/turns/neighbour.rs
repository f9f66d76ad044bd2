//! A neighbour on the same machine: `stampede-bench disturb SEED`, a process of its own that takes bursts of work on every
//! processor until its standard input ends.

use std::hint::black_box;
use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use stampede_core::Random;

/// The shortest and the longest burst, and pause: what a compiler or a backup does, and shorter or longer than a turn.
const BURST: (f64, f64) = (0.3, 5.0);

/// A neighbour that works until this is dropped.
#[derive(Debug)]
pub(crate) struct Neighbour(Child);

impl Neighbour {
    /// Starts it.
    pub(crate) fn start(seed: u64) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let child = command.args(["disturb", &seed.to_string()]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        Ok(Self(child))
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // It ends by itself now; where it does not, nobody can do more.
        let _ = self.0.wait();
    }
}

/// Works on each processor in bursts of its own, until the standard input ends.
pub(crate) fn disturb(seed: u64) -> io::Result<()> {
    let processors = thread::available_parallelism()?.get() as u64;
    for processor in 0..processors {
        thread::spawn(move || work(Random(seed.wrapping_mul(processors).wrapping_add(processor))));
    }
    io::stdin().read_to_end(&mut Vec::new()).map(drop)
}

fn work(mut random: Random) {
    loop {
        let end = Instant::now() + length(&mut random);
        let mut value = 1_u64;
        while Instant::now() < end {
            for _ in 0..10_000 {
                value = black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
            }
        }
        thread::sleep(length(&mut random));
    }
}

/// Lengths of all magnitudes alike.
fn length(random: &mut Random) -> Duration {
    Duration::from_secs_f64(BURST.0 * (BURST.1 / BURST.0).powf(random.uniform()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_are_of_all_lengths_alike_and_the_same_for_the_same_seed() {
        let of = |seed| {
            let mut random = Random(seed);
            (0..4000).map(|_| length(&mut random)).collect::<Vec<_>>()
        };
        let lengths = of(3);
        assert_eq!(lengths, of(3));
        let middle = lengths.iter().filter(|length| length.as_secs_f64() < (BURST.0 * BURST.1).sqrt()).count();
        // Half of 4,000; the standard deviation is 32.
        assert!((1880..2120).contains(&middle), "{middle}");
    }
}
