//! What samples of PHP's stacks show: where most of a request's time goes, and why.

use std::collections::BTreeMap;

use stampede_core::{Finding, InsideFunction, InsideStack, InsideState, InsideTarget, Severity};

use super::{finding, percent};
use crate::inside::{GARBAGE_COLLECTION, TimePart, Weighed, is_applications, is_internal, part_share};
use crate::metric::ratio;
use crate::record::Record;

/// Shares of a request's time from which on something is worth a change: below them a change gains less than it costs.
const ITSELF: f64 = 0.2;
const QUERIED: f64 = 0.3;
/// Of the time of all queries, from which on one line of code has most of them.
const ONE_LINE: f64 = 0.5;
/// Seconds of queries in a request from which on one query is slow: with an index, one takes less than a millisecond, and a page may
/// consist of it.
const SLOW: f64 = 0.005;
/// Waits of a request from which on its queries are many: a request of its own has a few, for its reading and its answer.
const MANY_WAITS: f64 = 10.0;
/// Shares of the time that PHP ran.
const BOOTED: f64 = 0.4;
const LOADED: f64 = 0.3;
const SEARCHED: f64 = 0.1;
const MATCHED: f64 = 0.25;
const COLLECTED: f64 = 0.1;
/// Of a request's time.
const LOGGED: f64 = 0.15;

/// Ids of the findings that say what a request's time goes to.
pub const SEEN_INSIDE: [&str; 10] = [
    "session-lock",
    "waits-on-itself",
    "n-plus-one-queries",
    "query-dominates",
    "autoload-without-class-map",
    "compiles-each-request",
    "boots-each-request",
    "regular-expression",
    "garbage-collection",
    "logs-to-disk",
];

/// What is found in all trials of a case together.
struct Inside<'a> {
    trials: Vec<Weighed<'a>>,
    /// Seconds of requests, however they were spent.
    time: f64,
    /// Seconds that threads ran PHP.
    ran: f64,
    requests: f64,
    waits: f64,
}

impl<'a> Inside<'a> {
    fn of(record: &Record<'a>) -> Option<Self> {
        let trials = Weighed::windows(record);
        let mut inside = Self { trials, time: 0.0, ran: 0.0, requests: 0.0, waits: 0.0 };
        inside.time = inside.sum(|trial, stack| TimePart::of(trial.record, stack) != TimePart::Outside);
        inside.ran = inside.sum(|_, stack| stack.state == InsideState::Running && !stack.frames.is_empty());
        inside.requests = inside.trials.iter().map(|trial| trial.requests).sum();
        inside.waits = inside.trials.iter().map(|trial| trial.record.spent.waits as f64).sum();
        (inside.time > 0.0).then_some(inside)
    }

    /// The seconds of all stacks for which this holds.
    fn sum(&self, holds: impl Fn(&Weighed<'a>, &InsideStack) -> bool) -> f64 {
        self.trials.iter().map(|trial| trial.sum(|stack| holds(trial, stack))).sum()
    }

    /// The share of requests' time.
    fn share(&self, holds: impl Fn(&Weighed<'a>, &InsideStack) -> bool) -> f64 {
        ratio(self.sum(holds), self.time).unwrap_or_default()
    }

    /// The share of the time that PHP ran.
    fn ran_share(&self, holds: impl Fn(&Weighed<'a>, &InsideStack) -> bool) -> f64 {
        let ran = self.sum(|trial, stack| stack.state == InsideState::Running && holds(trial, stack));
        ratio(ran, self.ran).unwrap_or_default()
    }

    /// What has the largest part of those for which there is a name, and its share of them.
    fn most(&self, named: impl Fn(&Weighed<'a>, &InsideStack) -> Option<String>) -> Option<(String, f64)> {
        let mut times: BTreeMap<String, f64> = BTreeMap::new();
        for trial in &self.trials {
            for stack in &trial.record.stacks {
                if let Some(name) = named(trial, stack) {
                    *times.entry(name).or_default() += trial.seconds(stack);
                }
            }
        }
        let all: f64 = times.values().sum();
        let (name, time) = times.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((name, ratio(time, all)?))
    }
}

/// The place in the application from which something of PHP is called: `App\Users::all (Users.php:12)`.
fn caller(trial: &Weighed<'_>, stack: &InsideStack) -> Option<String> {
    let mut written = trial.record.frames(stack).rev().filter(|function| function.file.is_some());
    let innermost = written.next()?;
    // What asks is the application, though a package of its puts the question.
    let mut own = std::iter::once(innermost).chain(written).filter(|function| is_applications(function));
    let function = own.find(|function| function.name.is_some()).unwrap_or(innermost);
    let file = function.file.as_deref().unwrap_or_default();
    let file = file.rsplit('/').next().unwrap_or(file);
    let line = stack.line.filter(|_| function == innermost).map_or_else(String::new, |line| format!(":{line}"));
    Some(match function.name {
        Some(_) => format!("{function} ({file}{line})"),
        None => format!("{file}{line}"),
    })
}

fn target(stack: &InsideStack) -> Option<&InsideTarget> {
    match &stack.state {
        InsideState::Waiting(wait) => wait.target.as_ref(),
        InsideState::Running | InsideState::Ready => None,
    }
}

/// The share of requests' time in which stacks wait for the lock of a session; nothing where stacks were not sampled.
pub(super) fn session_lock_share(record: &Record<'_>) -> Option<f64> {
    let waits = |trial: &Weighed<'_>, stack: &InsideStack| {
        matches!(&stack.state, InsideState::Waiting(wait) if wait.call.as_deref() != Some("accept"))
            && TimePart::of(trial.record, stack) == TimePart::Session
    };
    Some(Inside::of(record)?.share(waits))
}

/// The application asks its own server, and waits for a worker of the pool that it is in.
pub(super) fn waits_on_itself(record: &Record<'_>) -> Option<Finding> {
    let inside = Inside::of(record)?;
    let is_itself = |trial: &Weighed<'_>, stack: &InsideStack| {
        // Studies before 2026-11-28 have a database of the deployment among its own servers.
        matches!(target(stack), Some(InsideTarget::Itself(_)))
            && TimePart::of(trial.record, stack) == TimePart::Services
    };
    let share = inside.share(is_itself);
    let (place, _) = inside.most(|trial, stack| is_itself(trial, stack).then(|| caller(trial, stack)).flatten())?;
    (share >= ITSELF).then(|| {
        finding(
            "waits-on-itself",
            Severity::Warning,
            format!(
                "Requests spend {} of their time waiting for an answer from their own server, in {place}: each occupies a worker and needs a second one.",
                percent(share)
            ),
            [("waiting_share", share)],
            "Call the code directly, without a request; if all workers wait for each other, nothing is answered (deadlock).",
        )
    })
}

/// Queries that have much of the time of requests, most of them from one line.
struct Queries {
    /// Of the time of requests.
    share: f64,
    /// The line, and its share of their time.
    place: String,
    of_queries: f64,
    /// Seconds of a request.
    each: f64,
    /// Waits of a request.
    waits: f64,
}

fn queries(inside: &Inside<'_>) -> Option<Queries> {
    let is_query = |trial: &Weighed<'_>, stack: &InsideStack| TimePart::of(trial.record, stack) == TimePart::Database;
    let share = inside.share(is_query);
    let (place, of_queries) =
        inside.most(|trial, stack| is_query(trial, stack).then(|| caller(trial, stack)).flatten())?;
    let (each, waits) = (ratio(inside.sum(is_query), inside.requests)?, ratio(inside.waits, inside.requests)?);
    (share >= QUERIED && of_queries >= ONE_LINE).then_some(Queries { share, place, of_queries, each, waits })
}

/// One line asks a database many times in each request.
pub(super) fn n_plus_one(record: &Record<'_>) -> Option<Finding> {
    let Queries { share, place, of_queries, waits, .. } = queries(&Inside::of(record)?)?;
    (waits >= MANY_WAITS).then(|| {
        finding(
            "n-plus-one-queries",
            Severity::Warning,
            format!(
                "Requests spend {} of their time in queries, {} of it in {place}, and wait {waits:.0} times each: this line runs one query after another (N+1).",
                percent(share),
                percent(of_queries)
            ),
            [("queries_share", share), ("line_share", of_queries), ("waits_per_request", waits)],
            "Fetch all rows in one query (a join, WHERE id IN (...), eager loading).",
        )
    })
}

/// One query has most of a request's time, and takes long.
pub(super) fn slow_query(record: &Record<'_>) -> Option<Finding> {
    let Queries { share, place, of_queries, each, waits } = queries(&Inside::of(record)?)?;
    (waits < MANY_WAITS && each >= SLOW).then(|| {
        finding(
            "query-dominates",
            Severity::Warning,
            format!(
                "Requests spend {} of their time in queries, {:.0} ms each, {} of it in {place}.",
                percent(share),
                1e3 * each,
                percent(of_queries)
            ),
            [
                ("queries_share", share),
                ("line_share", of_queries),
                ("queries_ms_per_request", 1e3 * each),
                ("waits_per_request", waits),
            ],
            "Look at the plan of that query (EXPLAIN ANALYZE), add the index that it lacks, or cache what it finds.",
        )
    })
}

/// Functions that look whether a file is there.
const LOOKS: &[&str] = &["file_exists", "is_file", "is_readable", "stat", "stream_resolve_include_path"];

/// Files of classes are searched for in one folder after the other.
pub(super) fn searches_classes(record: &Record<'_>) -> Option<Finding> {
    let inside = Inside::of(record)?;
    let is_search = |trial: &Weighed<'_>, stack: &InsideStack| {
        let frames: Vec<&InsideFunction> = trial.record.frames(stack).collect();
        let looks = frames.last().is_some_and(|leaf| is_internal(leaf, LOOKS));
        let searches = frames.iter().any(|function| function.name.as_deref() == Some("findFileWithExtension"));
        (looks || searches) && TimePart::of(trial.record, stack) == TimePart::Autoload
    };
    let share = inside.ran_share(is_search);
    (share >= SEARCHED).then(|| {
        finding(
            "autoload-without-class-map",
            Severity::Warning,
            format!("PHP spends {} of its time looking for the files of classes, folder by folder.", percent(share)),
            [("running_share", share)],
            "Run composer dump-autoload --classmap-authoritative (or --optimize) when you build the application; an autoloader of your own needs a class map.",
        )
    })
}

/// Files are compiled for each request, though a cache could hold them.
pub(super) fn loads_files(record: &Record<'_>) -> Option<Finding> {
    let inside = Inside::of(record)?;
    let share = inside.ran_share(|trial, stack| TimePart::of(trial.record, stack) == TimePart::Compile);
    (share >= LOADED).then(|| {
        finding(
            "compiles-each-request",
            Severity::Warning,
            format!("PHP spends {} of its time loading and compiling files in the measured window.", percent(share)),
            [("running_share", share)],
            "Check that OPcache is on and large enough (opcache.memory_consumption, opcache.max_accelerated_files), that \
             opcache.validate_timestamps is off, and that no file is written and then loaded again.",
        )
    })
}

/// The application is built up for each request.
pub(super) fn boots(record: &Record<'_>) -> Option<Finding> {
    let inside = Inside::of(record)?;
    let share = inside.ran_share(|trial, stack| {
        matches!(TimePart::of(trial.record, stack), TimePart::Boot | TimePart::Autoload | TimePart::Compile)
    });
    let built = inside.ran_share(|trial, stack| TimePart::of(trial.record, stack) == TimePart::Boot);
    let saved_us = ratio(inside.ran * share * 1e6, inside.requests)?;
    (share >= BOOTED && built >= share / 2.0).then(|| {
        finding(
            "boots-each-request",
            Severity::Info,
            format!(
                "PHP spends {} of its time booting the application for each request: {saved_us:.0} us of CPU each, which a \
                 runtime that keeps the application would save.",
                percent(share)
            ),
            [("running_share", share), ("saved_us_per_request", saved_us)],
            "Compare a runtime with workers (FrankenPHP, RoadRunner, Swoole), or cache configuration, routes and the container.",
        )
    })
}

/// Regular expressions have most of the time.
pub(super) fn matches_patterns(record: &Record<'_>) -> Option<Finding> {
    let inside = Inside::of(record)?;
    let is_match = |trial: &Weighed<'_>, stack: &InsideStack| {
        trial.record.frames(stack).next_back().is_some_and(|leaf| is_internal(leaf, &["preg_"]))
    };
    let share = inside.ran_share(is_match);
    let (place, _) = inside.most(|trial, stack| is_match(trial, stack).then(|| caller(trial, stack)).flatten())?;
    (share >= MATCHED).then(|| {
        finding(
            "regular-expression",
            Severity::Warning,
            format!("PHP spends {} of its time in regular expressions, most of it in {place}.", percent(share)),
            [("running_share", share)],
            "Make the pattern fail early: no nested repetition ((a+)+), possessive or atomic groups, or a string function.",
        )
    })
}

/// PHP looks for garbage often, by itself or since the application tells it to.
pub(super) fn collects_garbage(record: &Record<'_>) -> Option<Finding> {
    let inside = Inside::of(record)?;
    let by_itself = part_share(&inside.trials, GARBAGE_COLLECTION);
    let called = inside.ran_share(|trial, stack| {
        trial.record.frames(stack).next_back().is_some_and(|leaf| is_internal(leaf, &["gc_collect_cycles"]))
    });
    let (share, what, advice) = if called >= COLLECTED {
        let advice = "Call it once in many requests, not in each, or find the code that creates the cycles.";
        (called, "in gc_collect_cycles()", advice)
    } else {
        let advice = "Find the code that keeps many objects that refer to each other, and release them; a job that ends soon may turn \
                      it off with gc_disable().";
        (by_itself, "collecting garbage: looking for objects that refer to each other", advice)
    };
    (share >= COLLECTED).then(|| {
        finding(
            "garbage-collection",
            Severity::Warning,
            format!("PHP spends {} of its time {what}.", percent(share)),
            [("running_share", share)],
            advice,
        )
    })
}

/// A log is written while the request waits.
pub(super) fn logs(record: &Record<'_>) -> Option<Finding> {
    let inside = Inside::of(record)?;
    const WRITES: &[&str] =
        &["fwrite", "fputs", "file_put_contents", "error_log", "syslog", "flock", "fflush", "fopen"];
    let share = inside.share(|trial, stack| {
        let frames: Vec<&InsideFunction> = trial.record.frames(stack).collect();
        let Some(leaf) = frames.last().filter(|leaf| is_internal(leaf, WRITES)) else { return false };
        let is_logger = |function: &&InsideFunction| {
            let name = function.to_string().to_lowercase();
            name.starts_with("monolog\\") || name.contains("logger") || name.contains("log::") || name.ends_with("log")
        };
        is_internal(leaf, &["error_log", "syslog"]) || frames.iter().any(is_logger)
    });
    (share >= LOGGED).then(|| {
        finding(
            "logs-to-disk",
            Severity::Warning,
            format!("Requests spend {} of their time writing a log.", percent(share)),
            [("share", share)],
            "Log less in production, buffer the lines (Monolog's BufferHandler), or write to standard error.",
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use stampede_core::{InsideCode, InsideEffort, InsideRecord, InsideTimes, InsideWait, Sampling};

    use super::*;
    use crate::rules::tests::found;

    /// `Class::name@file`, or `name` of PHP's own; a file alone after `@`.
    fn function(text: &str) -> InsideFunction {
        let (name, file) = text.split_once('@').map_or((text, None), |(name, file)| (name, Some(file.to_owned())));
        let (class, name) = name.split_once("::").map_or((None, name), |(class, name)| (Some(class.to_owned()), name));
        InsideFunction { class, name: (!name.is_empty()).then(|| name.to_owned()), file, first_line: 1 }
    }

    fn running() -> InsideState {
        InsideState::Running
    }

    fn waiting(call: &str, target: InsideTarget) -> InsideState {
        InsideState::Waiting(InsideWait { call: Some(call.to_owned()), kernel: None, target: Some(target) })
    }

    /// So many samples of each stack, a tenth of a second each, beside a second of the application's own and one of an idle worker.
    fn sampling(waits: u64, stacks: &[(&[&str], InsideState, u64)]) -> Sampling {
        let mut record = InsideRecord::default();
        let idle = waiting("accept", InsideTarget::Listener("/run/fpm.sock".to_owned()));
        let own: &[&str] = &["@/app/index.php", "App\\Page::show@/app/src/Page.php"];
        let all = stacks.iter().cloned().chain([(own, running(), 10), (&[][..], idle, 1_000)]);
        for (frames, state, samples) in all {
            let first = record.functions.len() as u32;
            record.functions.extend(frames.iter().map(|text| function(text)));
            let frames = (first..record.functions.len() as u32).collect();
            record.stacks.push(InsideStack { frames, line: Some(7), state, request: None, samples });
        }
        let of = |holds: fn(&InsideState) -> bool| {
            let seen = record.stacks.iter().filter(|stack| holds(&stack.state)).map(|stack| stack.samples).sum::<u64>();
            Duration::from_millis(100) * seen as u32
        };
        let ran = of(|state| *state == InsideState::Running);
        let waited = of(|state| matches!(state, InsideState::Waiting(_)));
        record.spent = InsideTimes { running: ran, ready: Duration::ZERO, waiting: waited, waits };
        record.effort = InsideEffort { taken: 1_000, ..InsideEffort::default() };
        Sampling { inside: Some(Box::new(record)), ..Sampling::default() }
    }

    #[test]
    fn each_fault_is_found_by_its_stacks_and_by_nothing_else() {
        const RULES: [fn(&Record<'_>) -> Option<Finding>; 10] = [
            crate::rules::sessions::lock,
            waits_on_itself,
            n_plus_one,
            slow_query,
            searches_classes,
            loads_files,
            boots,
            matches_patterns,
            collects_garbage,
            logs,
        ];
        let peer = || InsideTarget::Peer("127.0.0.1:3306".to_owned());
        let sess = || InsideTarget::File("/tmp/sess_a".to_owned());
        let log = || InsideTarget::File("/var/log/app.log".to_owned());
        let itself = || InsideTarget::Itself("127.0.0.1:8080".to_owned());
        let query: &[&str] = &["@/app/index.php", "App\\Users::all@/app/src/Users.php", "PDO::query"];
        let none: Vec<&str> = Vec::new();
        let mut named = BTreeSet::new();
        // A trial has 5,000 right answers.
        for (name, waits, stacks, ids) in [
            ("healthy", 10_000, vec![(query, waiting("poll", peer()), 2)], none.clone()),
            (
                "a lock",
                10_000,
                vec![(&["@/app/index.php", "session_start"][..], waiting("flock", sess()), 30)],
                vec!["session-lock"],
            ),
            (
                "itself",
                10_000,
                vec![(&["@/app/index.php", "file_get_contents"][..], waiting("poll", itself()), 30)],
                vec!["waits-on-itself"],
            ),
            ("many queries", 200_000, vec![(query, waiting("poll", peer()), 30)], vec!["n-plus-one-queries"]),
            ("a page that is one quick query", 15_000, vec![(query, waiting("poll", peer()), 30)], none.clone()),
            ("a slow query", 15_000, vec![(query, waiting("poll", peer()), 300)], vec!["query-dominates"]),
            (
                "a database that is part of the deployment",
                15_000,
                vec![(query, waiting("poll", itself()), 300), (&["@/app/index.php"][..], waiting("poll", itself()), 2)],
                vec!["query-dominates"],
            ),
            (
                "classes are searched",
                10_000,
                vec![(&["@/app/index.php", "autoload@/app/a.php", "file_exists"][..], running(), 5)],
                vec!["autoload-without-class-map"],
            ),
            (
                "files",
                10_000,
                vec![(&["@/app/index.php", InsideRecord::LOAD][..], running(), 9)],
                vec!["compiles-each-request"],
            ),
            (
                "boot",
                10_000,
                vec![(&["@/app/index.php", "boot@/app/a.php"][..], running(), 30)],
                vec!["boots-each-request"],
            ),
            (
                "a pattern",
                10_000,
                vec![(&["@/app/index.php", "preg_match"][..], running(), 30)],
                vec!["regular-expression"],
            ),
            (
                "garbage",
                10_000,
                vec![(&["@/app/index.php", "gc_collect_cycles"][..], running(), 30)],
                vec!["garbage-collection"],
            ),
            (
                "a log",
                10_000,
                vec![(&["@/app/index.php", "error_log"][..], waiting("write", log()), 30)],
                vec!["logs-to-disk"],
            ),
        ] {
            let of = |rule: &fn(&Record<'_>) -> Option<Finding>| {
                found(*rule, |trial| {
                    trial.measurement.as_mut().unwrap().sampling = Some(sampling(waits, &stacks));
                })
            };
            let found: Vec<Finding> = RULES.iter().filter_map(of).collect();
            let found_ids: Vec<&str> = found.iter().map(|finding| finding.id.as_str()).collect();
            assert_eq!(found_ids, ids, "{name}: {found:?}");
            named.extend(ids);
        }
        assert_eq!(named, BTreeSet::from(SEEN_INSIDE));
    }

    #[test]
    fn garbage_that_php_collects_by_itself_is_seen_in_machine_code() {
        for (collector, others, told) in [(200, 800, true), (50, 950, false), (3, 7, false)] {
            let finding = found(collects_garbage, |trial| {
                let code = |symbol: &str, samples| InsideCode {
                    file: "php-fpm8.2".to_owned(),
                    symbol: Some(symbol.to_owned()),
                    samples,
                };
                let mut sampling = sampling(0, &[]);
                let inside = sampling.inside.as_mut().unwrap();
                inside.native.code =
                    vec![code("execute_ex", others), code("gc_possible_root .. zend_gc_get_status", collector)];
                trial.measurement.as_mut().unwrap().sampling = Some(sampling);
            });
            let text = finding.as_ref().map(|finding| finding.text.as_str());
            let expected =
                "PHP spends 20 % of its time collecting garbage: looking for objects that refer to each other.";
            assert_eq!(text, told.then_some(expected), "{collector} of {}", collector + others);
        }
    }

    #[test]
    fn a_query_is_named_with_its_place() {
        let query: &[&str] = &["@/app/index.php", "App\\Users::all@/app/src/Users.php", "PDO::query"];
        let peer = InsideTarget::Peer("127.0.0.1:3306".to_owned());
        let finding = found(n_plus_one, |trial| {
            let stacks = [(query, waiting("poll", peer.clone()), 30)];
            trial.measurement.as_mut().unwrap().sampling = Some(sampling(200_000, &stacks));
        });
        let text = finding.unwrap().text;
        assert!(text.contains("75 % of their time") && text.contains("App\\Users::all (Users.php:7)"), "{text}");
        assert!(text.contains("wait 40 times each"), "{text}");
    }
}
