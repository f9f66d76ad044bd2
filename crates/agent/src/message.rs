//! What the two sides say to each other.
//!
//! A message is a number and a request, or the same number and a reply, in MessagePack with the names of fields: some values are
//! read by looking at them first (`Load` by its `model`), which formats without names and types do not permit.

use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use jiff::Timestamp;
use rmp_serde::config::BytesMode;
use rmp_serde::{Deserializer, Serializer};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use stampede_core::{Answer, Endpoint, MeterSource, Sampling};
use stampede_seam::{
    Call, LoadError, LoadOrder, LoadOutcome, LoadStatus, Moment, NoAnswer, Reading, SampleTargets, SamplingError,
};

use crate::agent_host::AgentHost;
use crate::line_error::LineError;

/// A request to an agent. A load or a sampler is named by the number of the request that started it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum AgentRequest {
    /// Asks for the time; a heartbeat.
    Ping,
    /// Asks what it runs on.
    Describe,
    /// Asks for a server that answers at once, until the line ends.
    ServeNothing,
    Connect {
        endpoint: Endpoint,
        timeout: Duration,
    },
    Exchange(Call),
    /// Reads counters at a moment, or now.
    Counters {
        at: Option<Moment>,
        groups: Vec<Vec<MeterSource>>,
    },
    Load(Box<LoadOrder>),
    /// Has a load go to these.
    SetTargets(Vec<Endpoint>),
    CutLoad,
    FinishLoad,
    DropLoad,
    Sample {
        targets: SampleTargets,
        window: Range<Moment>,
    },
    CutSample,
    FinishSample,
    DropSample,
}

/// What an agent says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum AgentReply {
    /// The time there.
    Pong {
        at: Moment,
        timestamp: Timestamp,
    },
    Described(AgentHost),
    /// Where the server that answers at once listens, or why there is none.
    ServesNothing(Result<SocketAddr, String>),
    Connected(Result<(), NoAnswer>),
    Answered(Result<Answer, NoAnswer>),
    Read(Reading),
    /// A load's window, or why it could not be started.
    Started(Result<Range<Moment>, LoadError>),
    /// How far a load is.
    Seen(Box<LoadStatus>),
    Finished(Box<Result<LoadOutcome, LoadError>>),
    /// Whether a sampler was started.
    Sampling(Result<(), SamplingError>),
    /// How many connections wait, by a sampler.
    Queue(Option<u64>),
    Sampled(Sampling),
}

/// Writes a message.
pub(crate) fn encode<T: Serialize>(number: u64, body: &T) -> Result<Vec<u8>, LineError> {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::new(&mut bytes).with_struct_map().with_bytes(BytesMode::ForceAll);
    (number, body).serialize(&mut serializer).map_err(|error| LineError::Unwritable(error.to_string()))?;
    Ok(bytes)
}

/// Reads a message.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<(u64, T), LineError> {
    let mut deserializer = Deserializer::new(bytes);
    let message = <(u64, T)>::deserialize(&mut deserializer);
    let message = message.map_err(|error| LineError::Unreadable(error.to_string()))?;
    let left = deserializer.get_ref().len();
    if left > 0 {
        return Err(LineError::Unreadable(format!("{left} bytes follow it")));
    }
    Ok(message)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fmt::Debug;
    use std::num::NonZeroU32;

    use stampede_core::{
        AddressId, ClientLink, Cpus, DatabaseLogin, Gauge, Latencies, Limit, LinkUse, PrometheusMetric, Protocol,
        QuerySeen, Request, Series, SeriesSource, StatusFormat, StatusSource, StatusTransport, UnitId,
    };
    use stampede_seam::{
        Backend, Check, HeldUp, LoadExchange, LoadSpec, Pause, RequestFailure, Saturation, Shard, Slice, Statuses,
        StepResult, TlsClient, TlsSpec, Trust, WrongAnswer,
    };
    use stampede_testkit::samples;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// What is written is read as it was, what is cut short or too long is not read.
    fn comes_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(body: &T) {
        let bytes = encode(7, body).unwrap();
        match decode::<T>(&bytes) {
            Ok((number, read)) => assert_eq!((number, &read), (7, body)),
            Err(error) => panic!("{error}: {body:?}"),
        }
        for cut in [0, 1, bytes.len() / 2, bytes.len() - 1] {
            assert!(matches!(decode::<T>(&bytes[..cut]), Err(LineError::Unreadable(_))), "{body:?} {cut}");
        }
        let more = [bytes, vec![0]].concat();
        assert!(matches!(decode::<T>(&more), Err(LineError::Unreadable(_))), "{body:?}");
    }

    fn tcp() -> Endpoint {
        Endpoint::Tcp("[::1]:80".parse().unwrap())
    }

    fn request() -> Request {
        let headers = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
        Request { method: "POST".to_owned(), path: "/".to_owned(), headers, body: (0..=255).collect() }
    }

    fn order(load: &str) -> LoadOrder {
        let spec = LoadSpec {
            targets: vec![tcp(), Endpoint::Unix("/run/a".into())],
            host: "a".to_owned(),
            protocol: Protocol::Http11,
            tls: Some(TlsSpec {
                server_name: "a".to_owned(),
                trust: Trust::Pem(vec![0, 200]),
                client: TlsClient::default(),
            }),
            exchanges: vec![LoadExchange::new(request(), Check::new(Statuses::only(200), Vec::new()))],
            load: load.parse().unwrap(),
            think: Pause::default(),
            scenario: None,
            warm_up: SECOND,
            duration: SECOND,
            requests: Some(7),
            drain: SECOND,
            timeout: Some(SECOND),
            keep_alive: true,
            seed: u64::MAX,
            shard: Some(Shard { index: 1, of: NonZeroU32::MIN }),
            source: None,
            slices: true,
            cpus: vec![0, 3],
            backend: Backend::IoUring,
        };
        LoadOrder {
            spec,
            link: Some(ClientLink { rtt: SECOND, bits_per_second: Some(1) }),
            begins: Some(Moment::new(SECOND)),
            turns: Vec::new(),
        }
    }

    #[test]
    fn every_request_comes_back() {
        let moment = Moment::new(SECOND);
        let source = |transport, format| (UnitId::new("a"), StatusSource { address: tcp(), transport, format });
        let login = DatabaseLogin { user: "u".into(), password: "p".into(), database: "d".into() };
        let metric = PrometheusMetric { name: "m".into(), gauge: Gauge::BusyWorkers };
        let targets = SampleTargets {
            inside: None,
            cpus: Limit::AtMost(Cpus::from_millis(500)),
            meters: vec![MeterSource::CgroupV2 { dir: "/a".into() }],
            listeners: vec![(AddressId::new("front"), tcp())],
            statuses: vec![
                source(StatusTransport::Http("/".into()), StatusFormat::Prometheus(vec![metric].into())),
                source(StatusTransport::FastCgi { script: "/s".into(), query: "json".into() }, StatusFormat::FpmJson),
                source(StatusTransport::Stream, StatusFormat::UwsgiJson),
                source(StatusTransport::Postgres { login, question: "SELECT".into() }, StatusFormat::PostgresActivity),
            ],
        };
        let call = Call { endpoint: tcp(), tls: None, host: Some("a".to_owned()), request: request(), timeout: SECOND };
        for request in [
            AgentRequest::Ping,
            AgentRequest::Describe,
            AgentRequest::ServeNothing,
            AgentRequest::Connect { endpoint: tcp(), timeout: SECOND },
            AgentRequest::Exchange(call),
            AgentRequest::Counters { at: Some(moment), groups: vec![targets.meters.clone(), Vec::new()] },
            AgentRequest::Load(Box::new(order("closed:3"))),
            AgentRequest::Load(Box::new(order("closed:1..5/1s"))),
            AgentRequest::Load(Box::new(order("open:poisson:5..100/2s,7.5@9"))),
            AgentRequest::SetTargets(vec![tcp()]),
            AgentRequest::CutLoad,
            AgentRequest::FinishLoad,
            AgentRequest::DropLoad,
            AgentRequest::Sample { targets, window: moment..moment },
            AgentRequest::CutSample,
            AgentRequest::FinishSample,
            AgentRequest::DropSample,
        ] {
            comes_back(&request);
        }
    }

    #[test]
    fn every_reply_comes_back() {
        let moment = Moment::new(SECOND);
        let mut result = samples::load_result();
        result.steps = vec![StepResult { name: "a".to_owned(), measures: result.total.clone() }];
        result.slices = vec![Slice { service: Latencies::coarse(), ok: 7, ..Slice::new(3) }];
        result.saturation = Some(Saturation::Accounts { ratio: f64::INFINITY });
        result.wrong_answers = vec![WrongAnswer { step: 1, status: 500, offset: 7, bytes: vec![0, 255] }];
        let detail = "closed".to_owned();
        result.first_failure = Some(RequestFailure { class: stampede_core::ErrorClass::TimedOut, step: 0, detail });
        let mut series = Series::new(SeriesSource::Listener(AddressId::new("front")));
        series.push(SECOND, &[(Gauge::BusyWorkers, 3)]);
        series.push(SECOND, &[]);
        let query = QuerySeen { unit: UnitId::new("a"), text: "SELECT".to_owned(), seen: 2, locked: 1 };
        let view = LoadStatus { slices: result.slices.clone(), is_finished: true, ..LoadStatus::default() };
        let answer = Answer { status: 200, headers: vec![("a".to_owned(), "b".to_owned())], body: (0..=255).collect() };
        let no_answer = NoAnswer { problem: "refused".to_owned(), waited: true };
        let outcome = LoadOutcome {
            result,
            link: Some(LinkUse::default()),
            held_up: Some(HeldUp { waited: SECOND, throttled: SECOND, paused: SECOND }),
            generators: Vec::new(),
        };
        for reply in [
            AgentReply::Pong { at: moment, timestamp: "2026-01-01T00:00:00.123456789Z".parse().unwrap() },
            AgentReply::Described(AgentHost {
                cpus: vec![0, 3],
                boot: "a".to_owned(),
                io_uring_refused: Some("b".to_owned()),
            }),
            AgentReply::ServesNothing(Ok("127.0.0.1:80".parse().unwrap())),
            AgentReply::ServesNothing(Err("a".to_owned())),
            AgentReply::Connected(Ok(())),
            AgentReply::Connected(Err(no_answer)),
            AgentReply::Answered(Ok(answer)),
            AgentReply::Read(Reading {
                at: moment,
                groups: vec![Ok(None), Ok(Some(Default::default())), Err("a".to_owned())],
            }),
            AgentReply::Started(Ok(moment..moment)),
            AgentReply::Seen(Box::new(view)),
            AgentReply::Finished(Box::new(Ok(outcome))),
            AgentReply::Finished(Box::new(Err(LoadError("a".to_owned())))),
            AgentReply::Sampling(Err(SamplingError("a".to_owned()))),
            AgentReply::Queue(Some(7)),
            AgentReply::Sampled(Sampling { series: vec![series], cpu: SECOND, queries: vec![query], inside: None }),
        ] {
            comes_back(&reply);
        }
    }
}
