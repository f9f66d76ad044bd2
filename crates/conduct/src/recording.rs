//! Expected answers of an application that nobody has written down: they are recorded before it is compared.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use stampede_core::{Body, CaseId, Exchange, MaskClass, Workload, named_status};
use stampede_harness::{Prepared, RecordError, Recordable, Recorded, Recording, Stop, UnderLoad, Walk, under_load};
use stampede_plan::ComparePlan;
use stampede_seam::Platform;

use crate::exit::{Exit, Failure};
use crate::host::Bench;

/// The runtimes whose answers are taken where they can serve the application, the first that is there. PHP-FPM is what applications
/// are made for; the others start PHP afresh for each request too, so that none leaves anything behind for the next.
const PREFERRED: [&str; 6] = ["nginx-fpm", "apache-fpm", "caddy-fpm", "php-cli-server", "apache-mod-php", "uwsgi-php"];

/// So many of them are PHP-FPM, whose answer is the right one whatever others give.
const FPM: usize = 3;

/// The setting of FrankenPHP by which it starts PHP afresh.
const MODE: (&str, &str) = ("mode", "classic");

/// The workload with all its answers, those that were missing recorded.
pub(crate) async fn complete(
    bench: Bench<'_>,
    platform: &dyn Platform,
    plan: &ComparePlan,
    prepared: &[Prepared],
) -> Result<Workload, Failure> {
    let mut workload = plan.workload.clone();
    let written = workload.exchanges.iter().filter(|exchange| !plan.unrecorded.contains(&exchange.name));
    for Exchange { name, expect, .. } in written {
        masked(&expect.body, None).iter().for_each(|masked| bench.paragraph(&format!("{name}: {masked}"), 2));
    }
    for recorded in record(bench, platform, plan, prepared, Unrecordable::Refused).await? {
        recorded.complete(&mut workload);
    }
    Ok(workload)
}

/// How many runtimes are tried: an application that answers rightly on none of them is at fault itself.
const MOST_TRIED: usize = 3;

/// How many others are asked whether they give the same answers.
const MOST_ASKED: usize = 4;

/// What becomes of a request whose answer cannot be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unrecordable {
    /// The application cannot be compared.
    Refused,
    /// It is left out, which is reported, unless all of them are.
    LeftOut,
}

/// Records the answers that are missing on the first runtime that serves the application, and tells what they are. One that does not
/// serve it stays among those that are compared, where its trials fail. Where that is not PHP-FPM, what most runtimes give is the
/// right answer.
///
/// # Errors
///
/// When the application does not answer as one that can be compared, on the first runtime that was tried.
pub(crate) async fn record(
    bench: Bench<'_>,
    platform: &dyn Platform,
    plan: &ComparePlan,
    prepared: &[Prepared],
    unrecordable: Unrecordable,
) -> Result<Vec<Recorded>, Failure> {
    if plan.unrecorded.is_empty() {
        return Ok(Vec::new());
    }
    let recorder_of = Recorder { bench, platform, plan, unrecordable };
    let mut failures: Vec<(&CaseId, RecordError)> = Vec::new();
    let recorders = recorders(prepared);
    for (number, recorder) in recorders.iter().enumerate().take(MOST_TRIED) {
        let id = &recorder.case.id;
        match recorder_of.of(recorder).await {
            Ok(Recording { recorded, left_out }) => {
                for (failed, error) in failures {
                    let error = error.to_string();
                    let problem = error.lines().next().unwrap_or_default();
                    bench.warning(&format!("on {failed} {problem}; answers are recorded on {id} instead"));
                }
                for (name, problem) in left_out {
                    let problem = problem.lines().next().unwrap_or_default();
                    bench.warning(&format!("{name} is left out: {problem}"));
                }
                let others = &recorders[number + 1..];
                let (id, recorded) = match is_fpm(recorder) {
                    true => (id, recorded),
                    false => recorder_of.of_most(recorder, recorded, others).await,
                };
                let other = recorders.iter().find(|other| other.case.id != *id);
                let recorded = match (unrecordable, other) {
                    (Unrecordable::LeftOut, Some(other)) => recorder_of.in_one_order(id, recorded, other).await,
                    _ => recorded,
                };
                tell(bench, id, &plan.workload, &recorded);
                return Ok(recorded);
            }
            Err(error) => failures.push((id, error)),
        }
    }
    let mut failures = failures.into_iter();
    let Some((id, error)) = failures.next() else { return Ok(Vec::new()) };
    let others: String = failures.map(|(id, _)| format!("\n{id} does not answer correctly either")).collect();
    let message = format!("the application cannot be compared: on {id} {error}{others}").replace('\n', "\n  ");
    Err(Failure { exit: Exit::TrialFailed, message })
}

/// Walks over the first of these cases that answers.
///
/// # Errors
///
/// When none of those that were tried answers, with what is wrong on the first.
pub(crate) async fn walk(
    bench: Bench<'_>,
    platform: &dyn Platform,
    plan: &ComparePlan,
    prepared: &[Prepared],
    walk: &mut dyn Walk,
) -> Result<(), Failure> {
    let mut first_failure = None;
    for case in recorders(prepared).into_iter().take(MOST_TRIED) {
        let id = &case.case.id;
        bench.note(&format!("looking for requests on {id}"));
        match stampede_harness::walk(platform, case, &plan.workload, walk, plan.ready_timeout).await {
            Ok(()) => return Ok(()),
            Err(error) => {
                first_failure.get_or_insert_with(|| format!("on {id} {error}").replace('\n', "\n  "));
            }
        }
    }
    first_failure.map_or(Ok(()), |message| Err(Failure { exit: Exit::TrialFailed, message }))
}

/// How answers are recorded.
struct Recorder<'a> {
    bench: Bench<'a>,
    platform: &'a dyn Platform,
    plan: &'a ComparePlan,
    unrecordable: Unrecordable,
}

impl<'a> Recorder<'a> {
    async fn of(&self, prepared: &Prepared) -> Result<Recording, RecordError> {
        let Self { bench, platform, plan: ComparePlan { workload, unrecorded, ready_timeout, .. }, unrecordable } =
            self;
        let stop = Stop::default();
        let mut progress = bench.host.notices().progress(bench.quiet, &stop, Duration::ZERO);
        let recordable = Recordable {
            names: unrecorded,
            is_kept: is_kept(prepared),
            may_be_left_out: *unrecordable == Unrecordable::LeftOut,
        };
        stampede_harness::record(*platform, prepared, workload, recordable, *ready_timeout, &mut *progress).await
    }

    /// What most of these cases answer, and one of them: what the first gave, unless more others agree with one of them.
    async fn of_most(
        &self,
        first: &'a Prepared,
        recorded: Vec<Recorded>,
        others: &[&'a Prepared],
    ) -> (&'a CaseId, Vec<Recorded>) {
        let id = &first.case.id;
        let (with_first, against) = self.agreeing(&recorded, others).await;
        let Some((second, rest)) = against.split_first().filter(|_| against.len() > 1 + with_first.len()) else {
            return (id, recorded);
        };
        let Ok(Recording { recorded: theirs, .. }) = self.of(second).await else { return (id, recorded) };
        let (with_second, _) = self.agreeing(&theirs, rest).await;
        if with_second.len() <= with_first.len() {
            return (id, recorded);
        }
        let names = |cases: &[&Prepared]| -> String {
            cases.iter().map(|prepared| prepared.case.id.as_str()).collect::<Vec<_>>().join(", ")
        };
        let (with, second) = (names(&with_second), &second.case.id);
        self.bench.warning(&format!("{id} gives another response than {second} and {with}, whose responses are used"));
        (second, theirs)
    }

    /// Those of the answers that another runtime does not give in another order. The others are no fault of a runtime: a query leaves
    /// the order of rows open that are equal for its ORDER BY. All of them stay where none would be left.
    async fn in_one_order(&self, id: &CaseId, recorded: Vec<Recorded>, other: &Prepared) -> Vec<Recorded> {
        let (workload, names) = self.of_recorded(&recorded);
        let asked = stampede_harness::reordered(self.platform, other, &workload, self.plan.ready_timeout).await;
        // One that does not answer at all is told of when it is measured.
        let moved = asked.unwrap_or_default();
        let what = if moved.len() == recorded.len() { "has no fixed order" } else { "is left out" };
        for name in &moved {
            self.bench.warning(&format!(
                "{name} {what}: {} answers it with the parts of {id}'s answer in another order; if they are rows of a query, \
                 add a unique column to its ORDER BY",
                other.case.id
            ));
        }
        if moved.len() == recorded.len() {
            return recorded;
        }
        recorded.into_iter().zip(names).filter(|(_, name)| !moved.contains(name)).map(|(answer, _)| answer).collect()
    }

    /// The workload with these answers and no others, and their names.
    fn of_recorded(&self, recorded: &[Recorded]) -> (Workload, Vec<String>) {
        let mut workload = self.plan.workload.clone();
        let names: Vec<String> = recorded.iter().map(|recorded| recorded.complete(&mut workload)).collect();
        workload.exchanges.retain(|exchange| names.contains(&exchange.name));
        (workload, names)
    }

    /// Which of these cases answer as was recorded, and which do not; some of them where they are many.
    async fn agreeing(&self, recorded: &[Recorded], cases: &[&'a Prepared]) -> (Vec<&'a Prepared>, Vec<&'a Prepared>) {
        let (workload, _) = self.of_recorded(recorded);
        let (mut with, mut against) = (Vec::new(), Vec::new());
        for prepared in cases.iter().copied().take(MOST_ASKED) {
            match stampede_harness::agrees(self.platform, prepared, &workload, self.plan.ready_timeout).await {
                Ok(()) => with.push(prepared),
                Err(_) => against.push(prepared),
            }
        }
        (with, against)
    }
}

/// The cases that answers are recorded on, one of each runtime and image, the preferred one first and those whose workers keep the application
/// last.
fn recorders(prepared: &[Prepared]) -> Vec<&Prepared> {
    let mut all: Vec<&Prepared> = prepared.iter().collect();
    all.sort_by_key(|prepared| (rank(prepared), is_kept(prepared)));
    let mut runtimes = BTreeSet::new();
    all.into_iter().filter(|Prepared { case, .. }| runtimes.insert((&case.runtime, &case.base_image))).collect()
}

fn rank(Prepared { case, .. }: &Prepared) -> usize {
    PREFERRED.iter().position(|name| *name == case.runtime.as_str()).unwrap_or(PREFERRED.len())
}

fn is_fpm(prepared: &Prepared) -> bool {
    rank(prepared) < FPM
}

/// Whether workers keep the application from one request to the next.
fn is_kept(prepared: &Prepared) -> bool {
    let (mode, afresh) = MODE;
    rank(prepared) == PREFERRED.len() && prepared.case.tuning.get(mode) != Some(afresh)
}

fn tell(bench: Bench<'_>, id: &CaseId, workload: &Workload, recorded: &[Recorded]) {
    bench.paragraph(&format!("Expected answers, recorded on {id}; every runtime must give the same:"), 0);
    for Recorded { exchange, request, expect, bytes, masked: varying, .. } in recorded {
        let asked = workload.exchanges.iter().find(|known| known.name == *exchange);
        let followed = asked.filter(|asked| asked.request.path != request.path);
        let followed =
            followed.map(|_| format!(" (redirected to {}, which is used)", request.path)).unwrap_or_default();
        let share = (*varying > 0).then(|| 100.0 * *varying as f64 / *bytes as f64);
        let masked = masked(&expect.body, share).map(|masked| format!("; {masked}")).unwrap_or_default();
        let status = named_status(expect.status);
        bench.paragraph(&format!("  {exchange}{followed}: status {status}, {bytes} bytes{masked}"), 4);
    }
}

/// What of an answer is masked, with the percentage of its bytes that varies where it was recorded, and what is checked of it under
/// load; nothing of one without masks.
fn masked(body: &Body, share: Option<f64>) -> Option<String> {
    let Body::Masked(masked) = body else { return None };
    let mut counts: BTreeMap<MaskClass, usize> = BTreeMap::new();
    masked.classes().for_each(|class| *counts.entry(class).or_default() += 1);
    let load = match under_load(body) {
        UnderLoad::Whole => "the whole body".to_owned(),
        UnderLoad::Part(part) => format!("{} bytes between them", part.len()),
        UnderLoad::StatusOnly => "only its status".to_owned(),
    };
    let list = |is_known: bool| {
        let named = counts.iter().filter(|(class, _)| class.is_known() == is_known);
        let named = named.map(|(class, count)| match (class, count) {
            (MaskClass::Anything, count) => format!("{count} of any content"),
            (class, 1) => class.name().to_owned(),
            (class, count) => format!("{count} x {}", class.name()),
        });
        named.collect::<Vec<_>>().join(", ")
    };
    let share = share.map(|share| format!(" ({share:.1} % of its bytes)")).unwrap_or_default();
    let varies = Some(list(false)).filter(|list| !list.is_empty()).map(|list| list + &share).unwrap_or_default();
    let parts = [("varies", varies), ("may differ by runtime", list(true)), ("checked under load", load)];
    let parts = parts.into_iter().filter(|(_, list)| !list.is_empty());
    Some(parts.map(|(what, list)| format!("{what}: {list}")).collect::<Vec<_>>().join("; "))
}
