//! Many draws of one kind, on all processors.

use std::thread;

use stampede_stats::SplitMix64;

/// So many draws. Each has random numbers of its own, so that which processor makes it changes nothing in it.
pub(crate) fn draws<T: Send>(seed: u64, count: u32, one: impl Fn(&mut SplitMix64) -> T + Sync) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let from = seed.wrapping_mul(1_000_003);
    let one = |number: u32| one(&mut SplitMix64::new(from.wrapping_add(number.into())));
    let every = |first: usize| (0..count).skip(first).step_by(threads).map(&one).collect::<Vec<_>>();
    let every = &every;
    thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|first| scope.spawn(move || every(first))).collect();
        let joined = handles.into_iter().map(|handle| match handle.join() {
            Ok(drawn) => drawn,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.flatten().collect()
    })
}
