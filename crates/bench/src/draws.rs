//! Many draws of one kind, on all processors.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use stampede_stats::SplitMix64;

/// So many draws. Each has random numbers of its own, so that which processor makes it changes nothing in it.
pub(crate) fn draws<T: Send>(seed: u64, count: u32, one: impl Fn(&mut SplitMix64) -> T + Sync) -> Vec<T> {
    on_all_processors(count as usize, |number| one(&mut SplitMix64::new(seed_of(seed, number))))
}

/// The seed of a draw.
pub(crate) fn seed_of(seed: u64, number: usize) -> u64 {
    seed.wrapping_mul(1_000_003).wrapping_add(number as u64)
}

/// What comes of each number below `count`, in their order.
pub(crate) fn on_all_processors<T: Send>(count: usize, one: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let (one, numbers) = (&one, &AtomicUsize::new(0));
    let next = || Some(numbers.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < count);
    let some = || std::iter::from_fn(next).map(|number| (number, one(number))).collect::<Vec<_>>();
    let mut made: Vec<(usize, T)> = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(some)).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    made.sort_by_key(|(number, _)| *number);
    made.into_iter().map(|(_, of)| of).collect()
}

/// Above 0 and below 1.
pub(crate) fn uniform(random: &mut SplitMix64) -> f64 {
    ((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

/// Box and Muller 1958.
pub(crate) fn normal(random: &mut SplitMix64) -> f64 {
    (-2.0 * uniform(random).ln()).sqrt() * (std::f64::consts::TAU * uniform(random)).cos()
}

/// Student's t with 3 degrees of freedom, of variance 1: one in fifty is further out than three deviations.
pub(crate) fn heavy(random: &mut SplitMix64) -> f64 {
    let chi: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
    normal(random) / chi.sqrt()
}
