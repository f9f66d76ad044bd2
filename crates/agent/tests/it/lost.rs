//! Agents that are lost, silent, or none.

use std::sync::Arc;
use std::time::Duration;

use stampede_agent::{AgentHost, AgentVantage, LineError, PATIENCE, Preamble, Side, serve};
use stampede_core::{Endpoint, MeterSource, Terms};
use stampede_seam::{Moment, Platform as _, Vantage as _};
use stampede_testkit::{FakeLifetime, FakePlatform, samples};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex, split};
use tokio::time::Instant;

use crate::line::{agent, call, order};

const SECOND: Duration = Duration::from_secs(1);

fn front() -> Endpoint {
    Endpoint::Tcp("127.1.0.0:80".parse().unwrap())
}

/// An agent over this stream.
async fn begin(stream: DuplexStream) -> Result<Arc<AgentVantage>, String> {
    let (input, output) = split(stream);
    AgentVantage::begin("web1", input, output, PATIENCE).await.map_err(|lost| lost.to_string())
}

#[tokio::test(start_paused = true)]
async fn what_is_no_agent_is_an_error_with_what_came() {
    for (name, came, ends, problem) in [
        (
            "a shell without it",
            b"sh: 1: stampede: not found\n".to_vec(),
            true,
            "Stampede's agent did not begin; this came instead: \"sh: 1: stampede: not found\"; look whether Stampede is \
             installed there, and have the shell print nothing before it"
                .to_owned(),
        ),
        (
            "nothing",
            Vec::new(),
            true,
            "it ended without a word; look whether Stampede is installed there and can be run".to_owned(),
        ),
        (
            "another version",
            Preamble { protocol: 7, program: "9.9.9".to_owned() }.to_bytes(Side::Agent),
            false,
            format!(
                "it is Stampede 9.9.9 with protocol 7, but this is {}; install the same Stampede on both sides",
                Preamble::ours()
            ),
        ),
        (
            "silence",
            b"Last login: today\n".to_vec(),
            false,
            "nothing was heard of it for 10s; look whether its machine is stopped, overloaded, or not connected any more"
                .to_owned(),
        ),
        (
            "nonsense",
            [Preamble::ours().to_bytes(Side::Agent), vec![0; 13]].concat(),
            true,
            "its output ended within a message; look whether it was killed, or the connection to it was closed".to_owned(),
        ),
    ] {
        let (ours, mut theirs) = duplex(1 << 20);
        theirs.write_all(&came).await.unwrap();
        let _kept = (!ends).then_some(theirs);
        assert_eq!(begin(ours).await.map(drop), Err(format!("agent web1 is lost: {problem}")), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_call_fails_with_the_name_and_the_reason_when_an_agent_is_lost() {
    let platform = FakePlatform::new(|_| FakeLifetime {
        stall: Some((5 * SECOND, 500 * SECOND)),
        ..FakeLifetime::serving("hi", 100.0)
    });
    let _running = platform.launch(&samples::deployment("a"), &Terms::of(samples::LIMITS)).await.unwrap();
    let (vantage, served) = agent(Arc::clone(platform.vantage()), 1000).await;
    let until = |secs: u32| Moment::START + SECOND * secs;
    vantage.sleep_until(until(6)).await;
    let (load, looked) = (vantage.load(order(&front(), "closed:4")), vantage.load(order(&front(), "closed:4")));
    let (load, mut looked) = (load.unwrap(), looked.unwrap());
    let (front, mut call) = (front(), call(&front()));
    call.timeout = 100 * SECOND;
    let meters: [&[MeterSource]; 2] = [&[MeterSource::CgroupV2 { dir: "/fake/0".into() }], &[]];
    let _ = vantage.counters(&meters);
    let kill = async {
        tokio::time::sleep(SECOND).await;
        served.abort();
    };
    let began = Instant::now();
    let (connected, answer, finished, (), (), lost) = tokio::join!(
        vantage.connect(&front, 100 * SECOND),
        vantage.exchange(&call),
        load.finish(),
        vantage.sleep_until(until(8)),
        kill,
        vantage.lost(),
    );
    let problem = lost.to_string();
    assert!(problem.starts_with("agent local is lost: its output ended"), "{problem}");
    assert_eq!(connected.unwrap_err().problem, problem);
    assert_eq!(answer.unwrap_err().problem, problem);
    assert_eq!(finished.unwrap_err().to_string(), problem);
    assert!(looked.look().is_finished);
    assert_eq!(looked.finish().await.unwrap_err().to_string(), problem);
    assert_eq!(vantage.counters(&meters).groups, [Err(problem.clone()), Ok(None)]);
    assert_eq!(vantage.load(order(&front, "closed:4")).map(drop).unwrap_err().to_string(), problem);
    assert_eq!(vantage.check_clock().await.unwrap_err(), lost);
    assert!(began.elapsed() < 3 * SECOND, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_hears_nothing_ends_what_it_started() {
    let platform = FakePlatform::new(|_| FakeLifetime::serving("hi", 100.0));
    for (name, patience, is_closed, end) in [
        ("silence", 3 * SECOND, false, Err(LineError::Silent(3 * SECOND))),
        ("the end of its input", PATIENCE, true, Ok(())),
    ] {
        let (ours, theirs) = duplex(1000);
        let (input, output) = split(theirs);
        let served = tokio::spawn(serve(Arc::clone(platform.vantage()), AgentHost::default(), input, output, patience));
        let (mut input, mut output) = split(ours);
        output.write_all(&Preamble::ours().to_bytes(Side::Client)).await.unwrap();
        let mut came = vec![0; Preamble::ours().to_bytes(Side::Agent).len()];
        input.read_exact(&mut came).await.unwrap();
        assert_eq!(came, Preamble::ours().to_bytes(Side::Agent), "{name}");
        let began = Instant::now();
        if is_closed {
            output.shutdown().await.unwrap();
        }
        assert_eq!(served.await.unwrap(), end, "{name}");
        assert!(began.elapsed() < 4 * SECOND, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_idle_is_kept_by_its_heartbeats_and_a_full_one_loses_no_result() {
    let platform = FakePlatform::new(|_| FakeLifetime::serving("hi", 100.0));
    let running = platform.launch(&samples::deployment("a"), &Terms::of(samples::LIMITS)).await.unwrap();
    let (vantage, served) = agent(Arc::clone(platform.vantage()), 16).await;
    vantage.sleep_until(Moment::START + 60 * SECOND).await;
    assert!(!served.is_finished());
    let (a, b) = (
        vantage.load(order(running.front(), "closed:4")).unwrap(),
        vantage.load(order(running.front(), "open:10")).unwrap(),
    );
    let (a, b) = tokio::join!(a.finish(), b.finish());
    assert_eq!(a.unwrap().result.slices.len(), 3);
    assert_eq!(b.unwrap().result.total.requests.ok, 30);
}
