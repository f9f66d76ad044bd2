//! What an instance takes in memory, by an allocator that counts.

#[path = "../benches/allocated.rs"]
mod allocated;
#[path = "../benches/fleet.rs"]
mod fleet;

use stampede_forecast::simulate;

#[test]
fn an_instance_takes_at_most_a_kibibyte() {
    // Each at work, with the requests that it has at once. What does not grow with their number falls out of the difference.
    let bytes = |instances: u32| {
        let scenario = fleet::scenario(instances, fleet::rate(instances));
        let (run, bytes) = allocated::most_while(|| simulate(&scenario, &fleet::Exponential, 1));
        assert_eq!(run.instances.max, instances);
        assert!(run.answered > 3 * u64::from(instances), "{} answers", run.answered);
        bytes as f64
    };
    let each = (bytes(20_000) - bytes(1_000)) / 19_000.0;
    assert!((100.0..=1024.0).contains(&each), "{each} bytes an instance");
}
