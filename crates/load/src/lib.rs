//! The load engine: sends requests to an endpoint on threads of its own and measures the answers.
//!
//! One thread a processor, each with its own connections, recorder and epoll or io_uring instance; nothing is shared while
//! load runs but counters for progress. It knows HTTP and nothing of PHP, and uses no async runtime.
//!
//! # What is measured
//!
//! * A request belongs to the warm-up or to the window by when it was **due**. Load does not pause between the two.
//!   When the window closes nothing new becomes due; what was due before is still waited for until the drain ends.
//! * **Response time** counts from when a request was due, **service time** from when it was sent, both to the end of
//!   its answer. In a closed load a request is due when the previous answer of its connection is there, so that time
//!   for opening a connection again is part of the response time only.
//! * Complete answers have both latencies: right ones, and those with a wrong status or body. Requests that timed out or
//!   had no end when the load was over have a response time: their age then. They are **censored**, and quantiles from the
//!   smallest such age on are lower bounds.
//! * In each phase `sent = ok + failed + unfinished`.
//!
//! # When the clock is read
//!
//! With epoll, before each send and after each receive. With io_uring one system call sends and receives for many connections:
//! the clock is read before it, for all that leaves with it, and after it, for all that came with it. Requests that leave
//! together have one time of sending, so that the service times of the last ones hold the microseconds that the kernel took
//! to send the first ones.
//!
//! # Open loads
//!
//! Due times come from a closed form ([`stampede_core::Schedule`]) and are never skipped or shifted. A request that is due
//! takes a connection that is idle, or waits; those that wait are numbers of the schedule and take no memory. A time-out
//! counts from when a request is begun, so that each of them
//! gets its turn; what never got one is **unsent**. Threads sleep until 50 us before a due time and spin from there.
//!
//! **Connections take turns.** Each target in turn has the next request, and there the connection that has been idle longest,
//! so that connections, and what a server or a balancer binds to them, are used alike at any rate. A load that gives the
//! number of its connections uses all of them: one that was never opened has been idle longest, and its first request opens
//! it. A load that gives none ([`stampede_core::Load::keeps_all`]) opens a connection when none to the target is idle, and
//! not one in the place of another that the server has closed meanwhile. Threads begin at different targets. Each thread
//! deals its own connections out to the targets: shares are equal where each has as many connections as there are targets.
//!
//! # Targets that change
//!
//! [`RunningLoad::set_targets`] replaces them while load runs. Threads compare a number once in each turn of their loop; where it has
//! changed, the connections are dealt out again, and as many stay as may. One that has to move is closed when its answer is
//! there, or at once when none is under way, and opens to its new target with its next request. No request is lost by that,
//! none is sent again, and it is no reconnect.
//!
//! # Closed loads whose connections change
//!
//! When each connection comes and goes is a closed form too ([`stampede_core::Population`]). A user whose connection comes is
//! due at that instant. One whose connection has to go waits for the answer that is under way, which counts; nothing of it
//! becomes due any more, not even the rest of a flow, which is abandoned. The warm-up stays at the first number.
//!
//! # Scenarios
//!
//! Each crowd of a [`Scenario`] has its own load, connections and users. In an open crowd the rate counts the beginnings of
//! flows, and all steps of a flow belong to the phase in which it was due: they are sent even after the window, until the
//! drain ends. In a closed crowd nothing becomes due after the window, not even the rest of a flow. A later step is due at
//! the previous answer plus its pause, in which the user keeps its connection. A request that fails ends its flow.
//!
//! # Streams of events
//!
//! A step that hears events holds its connection open. It ends with the event that it waits for, or with its time; then the engine
//! closes the connection, or over HTTP/2 resets the stream, and counts the answer as complete. The time to the first event and
//! between events are measured where bytes are read. What is fixed does not pass by here.
//!
//! # Authors
//!
//! The requests of a load may be written by an [`Author`] on each thread, who is asked for each of them and may take the answers
//! ([`start_authored`]). Several requests that are sent together are **pipelined**: their answers come one after the other, each
//! is counted, and the two latencies end with the last of them. One that the connection's end keeps from coming has failed.
//! What an author does is part of the load's own time; a load without one does not pass by here.
//!
//! # Whether the generator was the limit
//!
//! **Lateness** is the generator's own delay: from when it could have begun a request to when it did. Together with Little's
//! law it says whether the generator was [saturated](Saturation).
//!
//! # Every request
//!
//! [`start_sampled`] keeps each request for a reader, in memory that is there before the start. The loop neither allocates nor waits
//! for that: what the reader does not fetch in time is lost, and counted.
//!
//! # Redirects
//!
//! A redirect is an answer like any other, unless the load [follows](start_following) them: then a chain of requests is one
//! request, whose latencies end with the last answer. A connection goes to another place for as long as its chain is there.
//!
//! # Connections that end
//!
//! A server may close a connection between two answers, with or without `Connection: close`. When that is found out
//! after the next request was sent, and no byte of its answer has come, the request is sent again on a new connection,
//! with the time at which it was due, and counted once: a reconnect is no error. On a connection that has not carried
//! an answer yet, and in mid-answer, it is one.

mod answered;
mod arrivals;
mod authored;
mod backend;
mod body_check;
mod buffers;
mod calibration;
mod coarse_histogram;
mod connection;
mod crowd;
mod crowd_plan;
mod driver;
mod engine;
mod epoll;
mod fact_counts;
mod fault;
mod hearing;
mod http1;
mod http2;
mod idle;
mod io;
mod near_target;
mod pacer;
mod pipeline;
mod prepared_exchange;
mod protocol_notes;
mod ramp;
mod recorder;
mod redirect;
mod sampler;
mod slicer;
mod socket;
mod tally;
mod targets;
mod timeline;
mod tls;
mod uring;
mod user;
mod worker;

pub use backend::try_out;
pub use calibration::{BackendCalibration, calibrate};
pub use engine::{RunningLoad, StartError, start, start_at, start_authored, start_following, start_sampled};
pub use near_target::{TargetError, find_addresses, find_target, speaks_fastcgi};
pub use redirect::RedirectRules;
pub use sampler::SampleReader;
pub use stampede_seam::{
    Author, AuthoredThread, Backend, BodyCheck, Check, FlowResult, FlowTally, HeaderCheck, HeaderRule, KeptAnswer,
    LittlesLaw, LoadExchange, LoadProgress, LoadResult, LoadSpec, Measures, Pause, RequestFailure, RoughLatencies,
    Saturation, Scenario, Shard, Slice, Statuses, StepResult, TlsClient, TlsIdentity, TlsSpec, TlsVersion, Trust,
    WrongAnswer,
};
pub use stampede_wire::location::Location;
pub use tls::TlsError;
