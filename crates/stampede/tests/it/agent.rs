//! `stampede __agent` over a pipe.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use stampede_agent::{AgentVantage, PATIENCE, Preamble, Side};
use stampede_core::Request;
use stampede_seam::{Call, LoadHandle, LoadOrder, SampleTargets, Vantage as _};
use stampede_testkit::{Behaviour, CountingServer, samples};
use stampede_vantage::Here;
use tokio::net::unix::pipe;

/// An agent, ended when it is dropped.
struct Agent(Child);

impl Agent {
    fn start(command: &mut Command) -> Self {
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(pipes.spawn().unwrap())
    }

    fn stampede() -> Self {
        Self::start(Command::new(env!("CARGO_BIN_EXE_stampede")).arg("__agent"))
    }

    /// Begins the line to it.
    async fn begin(&mut self) -> Result<Arc<AgentVantage>, String> {
        let (input, output) = (self.0.stdout.take().unwrap().into(), self.0.stdin.take().unwrap().into());
        let input = pipe::Receiver::from_owned_fd(input).unwrap();
        let output = pipe::Sender::from_owned_fd(output).unwrap();
        AgentVantage::begin("this machine", input, output, PATIENCE).await.map_err(|lost| lost.to_string())
    }

    /// How it ends, and what it says. The runtime goes on meanwhile: it closes lines.
    async fn ended(mut self) -> (ExitStatus, String) {
        let wait = move || {
            let mut said = String::new();
            self.0.stderr.as_mut().unwrap().read_to_string(&mut said).unwrap();
            (self.0.wait().unwrap(), said)
        };
        tokio::task::spawn_blocking(wait).await.unwrap()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn order(server: &CountingServer, load: &str, duration: Duration) -> LoadOrder {
    let mut order = samples::load_order(server.endpoint(), load.parse().unwrap());
    (order.spec.warm_up, order.spec.duration) = (Duration::from_millis(100), duration);
    order
}

/// Waits until answers come.
async fn answers(vantage: &AgentVantage, load: &mut dyn LoadHandle) {
    while load.look().progress.ok == 0 {
        vantage.sleep_until(vantage.now() + Duration::from_millis(5)).await;
    }
}

/// How long the server still receives requests.
fn until_quiet(server: &CountingServer) -> Duration {
    let began = Instant::now();
    let (mut last, mut since) = (server.requests(), began);
    while since.elapsed() < Duration::from_millis(300) {
        std::thread::yield_now();
        let now = server.requests();
        if now != last {
            (last, since) = (now, Instant::now());
        }
        assert!(began.elapsed() < Duration::from_secs(20), "it goes on");
    }
    since - began
}

#[tokio::test]
async fn it_sees_what_this_process_sees() {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let mut agent = Agent::start(Command::new("/bin/sh").args([
        "-c",
        "echo 'Welcome! You have new mail.'; exec \"$0\" __agent",
        env!("CARGO_BIN_EXE_stampede"),
    ]));
    let (far, here) = (agent.begin().await.unwrap(), Here::new());
    let nobody = stampede_core::Endpoint::Unix("/nowhere/socket".into());
    for endpoint in [server.endpoint(), &nobody] {
        let within = Duration::from_secs(5);
        assert_eq!(far.connect(endpoint, within).await, here.connect(endpoint, within).await);
        let request =
            Request { method: "GET".to_owned(), path: "/".to_owned(), headers: Default::default(), body: vec![] };
        let call = Call { endpoint: endpoint.clone(), tls: None, host: None, request, timeout: within };
        assert_eq!(far.exchange(&call).await, here.exchange(&call).await);
    }
    let meters = [stampede_core::MeterSource::CgroupV2 { dir: "/nowhere".into() }];
    let directly = here.counters(&[&meters, &[]]).groups;
    // Counters come with the next pause.
    assert_eq!(far.counters(&[&meters, &[]]).groups, [Ok(None), Ok(None)]);
    let edge = far.now() + Duration::from_millis(20);
    far.sleep_until(edge).await;
    let read = far.counters(&[&meters, &[]]);
    assert_eq!(read.groups, directly);
    assert!(read.at >= edge, "{read:?}");

    let before = server.requests();
    let mut load = far.load(order(&server, "open:200", Duration::from_secs(1))).unwrap();
    let targets = SampleTargets {
        cpus: stampede_core::Limit::Unlimited,
        meters: vec![],
        listeners: vec![],
        statuses: vec![],
        inside: None,
    };
    let sampler = far.sample(targets, load.window()).unwrap();
    answers(&far, load.as_mut()).await;
    let result = load.finish().await.unwrap().result;
    let all = result.total.requests.sent + result.total.warm_up.sent;
    assert_eq!((result.total.requests.ok, all), (200, server.requests() - before));
    assert_eq!(result.total.response.count(), 200);
    assert!(!sampler.finish().await.series.is_empty());
    let check = far.check_clock().await.unwrap();
    assert!(check.drift() <= check.first.bound + check.last.bound + Duration::from_millis(1), "{check:?}");
    drop(far);
    let (status, said) = agent.ended().await;
    assert!(status.success() && said.is_empty(), "{status} {said}");
}

#[tokio::test]
async fn one_that_is_killed_under_load_is_named_and_leaves_nothing() {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let mut agent = Agent::stampede();
    let far = agent.begin().await.unwrap();
    let mut load = far.load(order(&server, "open:500", Duration::from_secs(600))).unwrap();
    answers(&far, load.as_mut()).await;
    agent.0.kill().unwrap();
    let error = load.finish().await.unwrap_err();
    assert!(error.to_string().starts_with("agent this machine is lost: its output ended"), "{error}");
    assert!(until_quiet(&server) < Duration::from_secs(1));
}

#[tokio::test]
async fn it_ends_with_its_input_and_so_does_its_load() {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let mut agent = Agent::stampede();
    let far = agent.begin().await.unwrap();
    let mut load = far.load(order(&server, "open:500", Duration::from_secs(600))).unwrap();
    answers(&far, load.as_mut()).await;
    // A load that is kept does not end by being dropped, but by the end of the line.
    drop(far);
    let began = Instant::now();
    let quiet = tokio::task::spawn_blocking(move || until_quiet(&server)).await.unwrap();
    assert!(quiet < Duration::from_secs(1), "{quiet:?}");
    let (status, said) = agent.ended().await;
    assert!(status.success() && said.is_empty(), "{status} {said}");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    drop(load);
}

#[tokio::test]
async fn it_refuses_who_is_not_of_its_version() {
    let mut agent = Agent::stampede();
    let theirs = Preamble { protocol: 1, program: "9.9.9".to_owned() };
    agent.0.stdin.as_mut().unwrap().write_all(&theirs.to_bytes(Side::Client)).unwrap();
    let (status, said) = agent.ended().await;
    let ours = Preamble::ours();
    assert_eq!(status.code(), Some(1), "{said}");
    assert_eq!(
        said,
        format!(
            "stampede __agent: who started this is lost: it is {theirs}, but this is {ours}; install the same Stampede on both \
             sides\n"
        )
    );
}

#[tokio::test]
async fn a_program_that_is_none_is_an_error_with_what_it_said() {
    let mut agent = Agent::start(Command::new("/bin/sh").args(["-c", "echo 'sh: 1: stampede: not found'"]));
    let error = agent.begin().await.map(drop).unwrap_err();
    assert_eq!(
        error,
        "agent this machine is lost: Stampede's agent did not begin; this came instead: \"sh: 1: stampede: not found\"; look whether \
         Stampede is installed there, and have the shell print nothing before it"
    );
}
