//! What load is asked for.

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use stampede_core::{Endpoint, Load, Protocol, Request};
use stampede_scenario::{Check, Pause, Scenario};

use crate::backend::Backend;

/// A load on one endpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadSpec {
    /// Where requests go: each connection to one of them, in turn.
    pub targets: Vec<Endpoint>,
    /// The value of the `Host` header, or of `:authority`.
    pub host: String,
    /// What is spoken.
    pub protocol: Protocol,
    /// How connections are encrypted, if they are.
    pub tls: Option<TlsSpec>,
    /// What is sent: in turn on each connection of a closed load, where connections begin at different places; in turn
    /// over all arrivals of an open load.
    pub exchanges: Vec<LoadExchange>,
    /// How much of it.
    pub load: Load,
    /// In a closed load, the time from a connection's last answer to when its next request is due.
    pub think: Pause,
    /// What is sent and how much of it, in place of `exchanges`, `load` and `think`. HTTP/1.0 is not spoken then.
    pub scenario: Option<Arc<Scenario>>,
    /// Load before the window; its requests are counted apart. The warm-up of an open load stays at the schedule's first
    /// rate, and the schedule begins with the window.
    pub warm_up: Duration,
    /// Length of the window, at most.
    pub duration: Duration,
    /// End the window when this many requests of it have ended, all threads together. Each user class of a scenario begins this
    /// many flows.
    pub requests: Option<u64>,
    /// How long answers are waited for after the window, at most.
    pub drain: Duration,
    /// How long one request may take from when it was begun; after that it has failed and its connection is closed.
    pub timeout: Option<Duration>,
    /// Whether connections are kept for the next request. Otherwise each request asks the server to close, and has a
    /// connection of its own.
    pub keep_alive: bool,
    /// Seed of random arrivals; the same seed gives the same due times on any number of threads.
    pub seed: u64,
    /// The part of the load that is driven here; all of it by default.
    pub shard: Option<Shard>,
    /// The address of this machine that connections come from; the kernel's choice by default.
    pub source: Option<IpAddr>,
    /// Whether each second is told by itself.
    pub slices: bool,
    /// Processors to run on: a thread, pinned, on each.
    pub cpus: Vec<u32>,
    /// How the kernel is reached.
    pub backend: Backend,
}

/// A part of a load that several generators drive.
///
/// All parts go through one sequence of arrivals, and part `index` takes each `of`-th from its own place on: together their due
/// times are those of the whole load, whatever threads each has. Requests, connections and rows of feeders are shared out in the same
/// way; what has fewer connections than there are parts is in as many as it has connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Its number, from 0.
    pub index: u32,
    /// How many there are.
    pub of: NonZeroU32,
}

/// How connections are encrypted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsSpec {
    /// The name or address that the server's certificate must be for.
    pub server_name: String,
    /// Whose certificates are trusted.
    pub trust: Trust,
    /// What the client says of itself.
    pub client: TlsClient,
}

/// What a client says of itself where connections are encrypted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsClient {
    /// Its certificate, where it has one.
    pub identity: Option<TlsIdentity>,
    /// Whether it leaves out the server's name, which it sends by default (SNI, RFC 6066, section 3).
    pub hides_name: bool,
    /// The one version that it speaks; by default 1.3 and 1.2.
    pub version: Option<TlsVersion>,
    /// The cipher suites that it offers, by their names at IANA; by default all that there are.
    pub suites: Vec<String>,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TlsVersion {
    /// TLS 1.2 (RFC 5246).
    Tls12,
    /// TLS 1.3 (RFC 8446).
    Tls13,
}

/// A client's certificate and its key, in PEM.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsIdentity {
    /// Its certificate, and those between it and one that the server trusts.
    pub chain: Vec<u8>,
    /// The private key.
    pub key: Vec<u8>,
}

/// Without the key.
impl fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsIdentity").field("chain", &self.chain.len()).finish_non_exhaustive()
    }
}

/// Whose certificates are trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trust {
    /// Those that this machine trusts.
    System,
    /// These, in PEM.
    Pem(Vec<u8>),
    /// Anyone's.
    Anyone,
}

/// A request and what its answer must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadExchange {
    /// What is sent.
    pub request: Request,
    /// What must come back.
    pub check: Check,
    /// How often it is sent, in proportion to the others; 1 in a load whose requests are sent in turn.
    pub weight: NonZeroU32,
}

impl LoadExchange {
    /// One that is sent as often as the others.
    pub fn new(request: Request, check: Check) -> Self {
        Self { request, check, weight: NonZeroU32::MIN }
    }
}
