//! An application with its requests and the answers that it must give.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{App, Audit, Masked, ServiceNeed, WorkloadId};

/// An application, in one or more languages, with its requests and the answers that it must give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Its name.
    pub id: WorkloadId,
    /// One line: what it is.
    pub title: String,
    /// The same application for different kinds of runtime.
    pub apps: Vec<App>,
    /// Every request with the answer that must come; all are verified before anything is timed.
    pub exchanges: Vec<Exchange>,
    /// Whether visitors keep the cookies that they are given, where exchanges are the load: each connection is a visitor.
    pub cookies: bool,
    /// Services that it needs, or can use.
    pub services: Vec<ServiceNeed>,
    /// What is sent as load in place of exchanges.
    pub play: Option<Play>,
    /// What the load must have made.
    pub audits: Vec<Audit>,
}

impl Workload {
    /// The exchanges that make up the load, in order.
    pub fn load_mix(&self) -> impl Iterator<Item = &Exchange> {
        self.exchanges.iter().filter(|exchange| exchange.in_load())
    }

    /// The request by which a deployment shows that it is ready, which is sent until it is answered: the load's first one, or
    /// the first of all that may be sent more than once.
    pub fn first_request(&self) -> Option<&Request> {
        let mut repeated = self.exchanges.iter().filter(|exchange| !exchange.once);
        self.load_mix().next().or_else(|| repeated.next()).map(|exchange| &exchange.request)
    }
}

/// A scenario that a workload is loaded with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Play {
    /// The workload's folder.
    pub folder: PathBuf,
    /// The scenario's file in it.
    pub scenario: PathBuf,
    /// A command, run in the folder with one more argument, that writes the scenario's feeders into the folder of that name;
    /// empty where they lie beside the scenario.
    pub generate: Vec<String>,
}

/// The largest weight of an exchange: what is sent more rarely than once in a thousand times shows in no figure.
pub const MOST_WEIGHT: u32 = 1000;

/// A request and the answer that must come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Its name within the workload.
    pub name: String,
    /// What is sent.
    pub request: Request,
    /// What must come back.
    pub expect: Expectation,
    /// How often it is sent as load, in proportion to the others; one of weight 0 is verified only.
    pub weight: u32,
    /// Whether it is sent once in a trial: what it does can be done once, and its second answer rightly is another one.
    pub once: bool,
    /// Whether only those who ask for it get it: the application answers rightly only if it is set up for it.
    pub optional: bool,
}

impl Exchange {
    /// Whether it is part of the load.
    pub fn in_load(&self) -> bool {
        self.weight > 0
    }
}

/// An HTTP request without its connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// `GET`, `POST`.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers beside `Host` and `Content-Length`, which the client adds.
    pub headers: BTreeMap<String, String>,
    /// The body, empty when there is none.
    pub body: Vec<u8>,
}

/// An HTTP answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Names and values in the order in which the server wrote them; bytes that are not UTF-8 are replaced.
    pub headers: Vec<(String, String)>,
    /// The body, transfer coding removed.
    pub body: Vec<u8>,
}

impl Answer {
    /// The first value of a header, whatever the case of its name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(of, _)| of.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// What an answer must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The status.
    pub status: u16,
    /// The body, without the coding that it is sent in.
    pub body: Body,
    /// Whether it must be sent gzip-coded. What is not asked for may come either way.
    pub gzip: bool,
    /// What its head must be.
    pub head: ExpectedHead,
}

/// What of an answer's head must be so; what is absent is not looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpectedHead {
    /// The kind of `Content-Type`, in lower case and without parameters: `text/html`.
    pub content_type: Option<String>,
    /// `Location`; a place on the server that answers begins with `/`.
    pub location: Option<String>,
    /// The names of all cookies that it sets.
    pub cookies: Option<BTreeSet<String>>,
}

/// What a body must be. Bodies are compared by meaning, since runtimes and languages write the same answer differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Anything.
    Any,
    /// Exactly these bytes.
    Bytes(Vec<u8>),
    /// A JSON object whose member `field` is HTML of the same meaning: heading ids, blank space and the way characters
    /// are escaped do not count.
    JsonHtml {
        /// The member's name.
        field: String,
        /// The HTML.
        html: String,
    },
    /// What it must be but for parts that vary.
    Masked(Masked),
}
