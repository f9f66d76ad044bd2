//! A sampler over servers that answer, answer late, and never answer.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use stampede_core::{
    AddressId, Cpus, Endpoint, Gauge, Limit, Series, SeriesSource, StatusFormat, StatusSource, StatusTransport, UnitId,
    UnitStatus,
};
use stampede_observe::Sampler;
use stampede_seam::SampleTargets;

const WINDOW: Duration = Duration::from_millis(800);
const ANSWER: &str = "HTTP/1.0 200 OK\r\n\r\nActive connections: 2 \nserver accepts handled requests\n 7 7 9 \n\
                      Reading: 0 Writing: 1 Waiting: 1 \n";

/// A server that does this with each connection, and how many it had.
fn server(folder: &Path, name: &str, serve: fn(UnixStream)) -> (UnitStatus, Arc<AtomicUsize>) {
    let path = folder.join(name);
    let listener = UnixListener::bind(&path).unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let count = connections.clone();
    thread::spawn(move || {
        for connection in listener.incoming() {
            count.fetch_add(1, Ordering::Relaxed);
            thread::spawn(move || serve(connection.unwrap()));
        }
    });
    let (address, transport) = (Endpoint::Unix(path), StatusTransport::Http("/".into()));
    ((UnitId::new(name), StatusSource { address, transport, format: StatusFormat::NginxStub }), connections)
}

fn answer(mut connection: UnixStream) {
    assert!(connection.read(&mut [0; 512]).unwrap() > 0);
    connection.write_all(ANSWER.as_bytes()).unwrap();
}

#[test]
fn a_window_that_is_cut_short_is_sampled_until_then() {
    let opens = Instant::now();
    let targets = SampleTargets {
        cpus: Limit::Unlimited,
        meters: Vec::new(),
        listeners: Vec::new(),
        statuses: Vec::new(),
        inside: None,
    };
    Sampler::start(targets, opens, opens + Duration::from_secs(60)).unwrap().cut();
    assert!(opens.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_server_that_does_not_answer_delays_nothing_and_is_asked_once() {
    let folder = tempfile::tempdir().unwrap();
    let (quick, _) = server(folder.path(), "quick", answer);
    let (silent, asked) = server(folder.path(), "silent", |mut connection| {
        // Until the sampler is gone.
        while connection.read(&mut [0; 512]).is_ok_and(|count| count > 0) {}
    });
    let (late, _) = server(folder.path(), "late", |connection| {
        thread::sleep(Duration::from_millis(250));
        answer(connection);
    });
    let nobody = Endpoint::Unix(folder.path().join("nobody"));
    let gone = (UnitId::new("gone"), StatusSource { address: nobody.clone(), ..quick.1.clone() });
    let front = (AddressId::new("front"), quick.1.address.clone());
    let statuses = vec![quick, silent, late, gone];
    let targets =
        SampleTargets { cpus: Limit::Unlimited, meters: Vec::new(), listeners: vec![front], statuses, inside: None };
    let opens = Instant::now() + Duration::from_millis(50);
    let sampling = Sampler::start(targets, opens, opens + WINDOW).unwrap().finish();
    assert!(opens.elapsed() < WINDOW + Duration::from_secs(2));
    assert!(sampling.cpu > Duration::ZERO && sampling.cpu < WINDOW);

    let of = |source: SeriesSource| -> &Series {
        sampling.series.iter().find(|series| series.source == source).unwrap_or_else(|| panic!("no {source:?}"))
    };
    let unit = |name: &str| of(SeriesSource::Unit(UnitId::new(name)));
    for (name, answers) in [("quick", 1..=9), ("silent", 0..=0), ("late", 1..=4), ("gone", 0..=0)] {
        let series = unit(name);
        let answered = series.len() - series.unanswered();
        assert!(answers.contains(&answered), "{name}: {answered} of {} answered", series.len());
        assert!((1..=9).contains(&series.len()), "{name}: {series:?}");
        assert!(series.at_us.is_sorted(), "{name}: {series:?}");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    assert_eq!(unit("quick").values(Gauge::Requests).max(), Some(9));
    assert!(!of(SeriesSource::Machine).is_empty());
    let front = of(SeriesSource::Listener(AddressId::new("front")));
    assert!(front.values(Gauge::AcceptQueue).count() > 0);
    assert_eq!(front.values(Gauge::AcceptQueueLimit).count(), 1);
    assert_eq!(of(SeriesSource::Machine).values(Gauge::LongestAcceptQueue).count(), 1);
}

#[test]
fn a_small_deployment_is_asked_less_often_and_a_late_answer_has_its_own_time() {
    let folder = tempfile::tempdir().unwrap();
    let (quick, asked) = server(folder.path(), "quick", answer);
    let (late, _) = server(folder.path(), "late", |connection| {
        thread::sleep(Duration::from_millis(150));
        answer(connection);
    });
    // Two units of 0.25 CPUs: one question every 400 ms to each.
    let cpus = Limit::AtMost(Cpus::from_millis(250));
    let targets =
        SampleTargets { cpus, meters: Vec::new(), listeners: Vec::new(), statuses: vec![quick, late], inside: None };
    let opens = Instant::now() + Duration::from_millis(300);
    let sampling = Sampler::start(targets, opens, opens + WINDOW).unwrap().finish();
    let unit = |name: &str| {
        let of = SeriesSource::Unit(UnitId::new(name));
        sampling.series.iter().find(|series| series.source == of).unwrap_or_else(|| panic!("no {name}"))
    };
    // The first one was asked before the window opened.
    assert!((1..=4).contains(&asked.load(Ordering::Relaxed)), "{asked:?}");
    let late = unit("late");
    let answered: Vec<u64> =
        late.columns[&Gauge::Requests].iter().zip(&late.at_us).filter_map(|(told, at)| told.map(|_| *at)).collect();
    assert!(!answered.is_empty() && late.unanswered() >= answered.len(), "{late:?}");
    // Questions are at 0, 400 and 800 ms.
    assert!(answered.iter().all(|at| (150_000..390_000).contains(&(at % 400_000))), "{late:?}");
    assert!(late.at_us.is_sorted(), "{late:?}");
}
