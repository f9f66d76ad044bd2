//! Agents that begin at one moment, over lines whose delay varies and with clocks that drift. Time is tokio's, and stands still
//! while anything can be done.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use stampede_agent::{AgentHost, AgentVantage, PATIENCE, serve};
use stampede_core::{Answer, Endpoint, Fut, MeterSource, Random};
use stampede_seam::{
    Call, LoadError, LoadHandle, LoadOrder, Moment, NoAnswer, Platform as _, Reading, SampleTargets, SamplerHandle,
    SamplingError, Vantage,
};
use stampede_testkit::{FakeLifetime, FakePlatform};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// Another vantage on a clock that is ahead, and goes faster or slower.
#[derive(Debug)]
struct Skewed {
    vantage: Arc<dyn Vantage>,
    began: Instant,
    ahead: Duration,
    speed: f64,
}

impl Skewed {
    /// What its clock shows then.
    fn moment(&self, instant: Instant) -> Moment {
        Moment::new(self.ahead + instant.duration_since(self.began).mul_f64(self.speed))
    }

    /// When its clock shows that.
    fn instant(&self, moment: Moment) -> Instant {
        self.began + (moment.since_start() - self.ahead).div_f64(self.speed)
    }
}

impl Vantage for Skewed {
    fn now(&self) -> Moment {
        self.moment(Instant::now())
    }

    fn timestamp(&self) -> jiff::Timestamp {
        self.vantage.timestamp()
    }

    fn sleep_until(&self, until: Moment) -> Fut<'_, ()> {
        Box::pin(sleep_until(self.instant(until)))
    }

    fn connect<'a>(&'a self, endpoint: &'a Endpoint, timeout: Duration) -> Fut<'a, Result<(), NoAnswer>> {
        self.vantage.connect(endpoint, timeout)
    }

    fn exchange<'a>(&'a self, call: &'a Call) -> Fut<'a, Result<Answer, NoAnswer>> {
        self.vantage.exchange(call)
    }

    fn counters(&self, groups: &[&[MeterSource]]) -> Reading {
        self.vantage.counters(groups)
    }

    fn load(&self, order: LoadOrder) -> Result<Box<dyn LoadHandle>, LoadError> {
        self.vantage.load(order)
    }

    fn sample(&self, targets: SampleTargets, window: Range<Moment>) -> Result<Box<dyn SamplerHandle>, SamplingError> {
        self.vantage.sample(targets, window)
    }
}

/// Passes bytes on in their order, each after a delay between two.
async fn delay(
    mut from: ReadHalf<DuplexStream>,
    mut to: WriteHalf<DuplexStream>,
    delays: (Duration, Duration),
    mut random: Random,
) {
    let (sender, mut late) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    tokio::spawn(async move {
        while let Some((due, bytes)) = late.recv().await {
            sleep_until(due).await;
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
    });
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count) = from.read(&mut buffer).await
        && count > 0
    {
        let due = Instant::now() + delays.0 + (delays.1 - delays.0).mul_f64(random.uniform());
        if sender.send((due, buffer[..count].to_vec())).is_err() {
            return;
        }
    }
}

/// An agent on a skewed clock over such a line.
async fn far(delays: (Duration, Duration), random: &mut Random) -> (Arc<AgentVantage>, Arc<Skewed>) {
    let ((ours, near), (far, theirs)) = (duplex(1 << 16), duplex(1 << 16));
    let ((from_near, to_near), (from_far, to_far)) = (split(near), split(far));
    tokio::spawn(delay(from_near, to_far, delays, Random(random.draw())));
    tokio::spawn(delay(from_far, to_near, delays, Random(random.draw())));
    let vantage = Arc::clone(FakePlatform::new(|_| FakeLifetime::serving("hi", 100.0)).vantage());
    let (ahead, speed) = (1000 * SECOND.mul_f64(random.uniform()), 1.0 + (random.uniform() - 0.5) * 100e-6);
    let skewed = Arc::new(Skewed { vantage, began: Instant::now(), ahead, speed });
    let (input, output) = split(theirs);
    tokio::spawn(serve(Arc::clone(&skewed) as Arc<dyn Vantage>, AgentHost::default(), input, output, PATIENCE));
    let (input, output) = split(ours);
    (AgentVantage::begin("far", input, output, PATIENCE).await.unwrap(), skewed)
}

/// What four agents that are to begin at one moment make of it: between the first and the last of them, in truth and as it is
/// measured ten seconds later, and whether each bound held.
async fn start(delays: (Duration, Duration), waits: Duration, seed: u64) -> (Duration, Duration, bool) {
    let mut random = Random(seed);
    let (mut begun, mut measured, mut holds) = (Vec::new(), Vec::new(), true);
    let mut agents = Vec::new();
    for _ in 0..4 {
        agents.push(far(delays, &mut random).await);
    }
    sleep(waits).await;
    let begins = Instant::now() + SECOND;
    let mut due = Vec::new();
    for (agent, skewed) in &agents {
        let offset = agent.clock_offset();
        let there = agent.moment_at(begins, offset);
        let truth = skewed.instant(there);
        holds &= truth.max(begins) - truth.min(begins) <= offset.bound + MS / 5;
        begun.push(truth);
        due.push(there);
    }
    sleep(10 * SECOND).await;
    for ((agent, _), there) in agents.iter().zip(due) {
        let clock = agent.check_clock().await.unwrap();
        measured.push(agent.instant_at(there, clock.last));
    }
    let skew = |instants: &[Instant]| *instants.iter().max().unwrap() - *instants.iter().min().unwrap();
    (skew(&begun), skew(&measured), holds)
}

#[tokio::test(start_paused = true)]
async fn agents_begin_together_on_lines_whose_delay_varies() {
    for (name, delays, waits, seeds, most) in [
        ("a short line", (MS / 10, MS / 5), Duration::ZERO, 4, MS),
        ("50 ms, varied by 10 ms", (40 * MS, 60 * MS), Duration::ZERO, 20, 5 * MS),
        ("the same in the midst of a study", (40 * MS, 60 * MS), 60 * SECOND, 4, 5 * MS),
        ("300 ms, varied by 10 ms", (290 * MS, 310 * MS), Duration::ZERO, 4, 5 * MS),
    ] {
        let mut worst = (Duration::ZERO, Duration::ZERO);
        for seed in 0..seeds {
            let (begun, measured, holds) = start(delays, waits, seed).await;
            assert!(holds, "{name}, seed {seed}: a bound did not hold");
            worst = (worst.0.max(begun), worst.1.max(measured));
        }
        assert!(worst.0 < most && worst.1 < most, "{name}: {worst:?}");
    }
}
