//! A plan for an application, with the answers that it gives now.

mod site;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use stampede_core::{CpuLayout, Expectation, Play, Request};
use stampede_harness::{Copies, Recorded};
use stampede_plan::{ComparePlan, PLAN_FILE, WrittenAnswer, write_plan};
use stampede_traffic::{PlannedTraffic, SCENARIO};

pub use self::site::SiteWalk;
use crate::exit::Failure;
use crate::host::{Bench, LAST_WAIT};
use crate::recording::{self, Unrecordable};
use crate::site::{Ground, Purpose, conditions};

/// The folder of the answers, beside the plan.
pub const ANSWERS: &str = "stampede.expected";

/// Where the requests of a plan that is written come from.
pub enum RequestsOfPlan {
    /// From the look at its application.
    OfApplication,
    /// From files that were read.
    Read(PlannedTraffic),
    /// From a walk over its pages.
    Walked(Box<SiteWalk>),
}

/// A plan with the answers that its application gives.
#[derive(Debug)]
pub struct NewPlan {
    plan: ComparePlan,
    recorded: Vec<Recorded>,
    /// The text of the scenario that is its load, where it has one.
    scenario: Option<String>,
}

/// Serves the application of a plan, finds its requests and records their answers; nothing where a signal ended that.
///
/// # Errors
///
/// When it cannot be served here, or does not answer as an application that can be compared.
pub fn init(bench: Bench<'_>, mut plan: ComparePlan, requests: RequestsOfPlan) -> Result<Option<NewPlan>, Failure> {
    let (mut unrecordable, mut scenario, mut site) = (Unrecordable::Refused, None, None);
    match requests {
        RequestsOfPlan::OfApplication => {}
        RequestsOfPlan::Read(mut traffic) => {
            scenario = traffic.scenario.take();
            unrecordable = take(bench, traffic, &mut plan);
        }
        RequestsOfPlan::Walked(walk) => site = Some(walk),
    }
    let cpus = bench.host.cpus();
    let pinning = CpuLayout::divide(&cpus, plan.limits.cpus.whole_cores());
    let runtime = bench.host.enter(&CpuLayout { server: cpus.clone(), generator: cpus })?;
    let recorded = runtime.block_on(async {
        let mut interrupts = bench.host.interrupts()?;
        tokio::select! {
            biased;
            _ = interrupts.next() => Ok(None),
            recorded = record(bench, plan, pinning, unrecordable, site) => recorded.map(Some),
        }
    });
    runtime.shutdown_timeout(LAST_WAIT);
    Ok(recorded?.map(|(plan, recorded)| NewPlan { plan, recorded, scenario }))
}

/// Makes requests those of a plan, their answers to be recorded, and tells what there is to say of them.
fn take(bench: Bench<'_>, traffic: PlannedTraffic, plan: &mut ComparePlan) -> Unrecordable {
    let PlannedTraffic { exchanges, notes, scenario: _, load } = traffic;
    notes.iter().for_each(|note| bench.note(note));
    plan.unrecorded = exchanges.iter().map(|exchange| exchange.name.clone()).collect();
    plan.workload.exchanges = exchanges;
    if let Some(load) = load {
        plan.load = load;
    }
    Unrecordable::LeftOut
}

/// Finds the requests of a site that is walked over, and records what all are answered with. Returns the plan with its requests too.
async fn record(
    bench: Bench<'_>,
    mut plan: ComparePlan,
    pinning: CpuLayout,
    mut unrecordable: Unrecordable,
    site: Option<Box<SiteWalk>>,
) -> Result<(ComparePlan, Vec<Recorded>), Failure> {
    let ground = Ground::take(bench, Purpose { command: "init", measures: false }, &plan, &[], &pinning).await?;
    let conditions = conditions(bench.host, &plan, pinning)?;
    let cases = ground.prepare(&plan, &conditions, &mut Copies::default()).await?;
    if let Some(mut site) = site {
        recording::walk(bench, &*ground.platform, &plan, &cases.prepared, &mut *site).await?;
        // Of a site that answers nothing, the plan's own request says what is wrong.
        if let Some(traffic) = site.traffic() {
            unrecordable = take(bench, traffic, &mut plan);
        }
    }
    let recorded = recording::record(bench, &*ground.platform, &plan, &cases.prepared, unrecordable).await?;
    Ok((plan, recorded))
}

impl NewPlan {
    /// The file of its scenario, from the application's folder.
    #[must_use]
    pub fn scenario_file(&self) -> Option<&'static str> {
        self.scenario.is_some().then_some(SCENARIO)
    }

    /// Its files with their content, from the application's folder, in the order in which they are to be written: a plan that is there
    /// names files that are there. `dump` is the file that its database begins with, as the plan is to name it.
    #[must_use]
    pub fn files(self, folder: &Path, dump: Option<&Path>) -> Vec<(PathBuf, Vec<u8>)> {
        let Self { mut plan, recorded, scenario } = self;
        let mut files = Vec::new();
        if let Some(scenario) = scenario {
            files.push((PathBuf::from(SCENARIO), scenario.into_bytes()));
            plan.workload.play =
                Some(Play { folder: folder.to_owned(), scenario: SCENARIO.into(), generate: Vec::new() });
        }
        let (mut names, mut written) = (BTreeSet::new(), Vec::new());
        for answer in &recorded {
            let name = file_name(&answer.request, answer.content_type.as_deref(), &mut names);
            let (body, mask) = answer.marked();
            let body_file = PathBuf::from(ANSWERS).join(name);
            files.push((body_file.clone(), body));
            let Expectation { status, head, .. } = answer.expect.clone();
            let exchange = answer.complete(&mut plan.workload);
            written.push(WrittenAnswer { exchange, status, body_file, mask, head });
        }
        plan.workload.exchanges.retain(|exchange| written.iter().any(|written| written.exchange == exchange.name));
        if let Some(look) = &plan.look {
            files.push((PathBuf::from(PLAN_FILE), write_plan(&plan, look, &written, dump).into_bytes()));
        }
        files
    }
}

/// A name that no other answer has: `get.html`, `get-about.html`.
fn file_name(request: &Request, content_type: Option<&str>, taken: &mut BTreeSet<String>) -> String {
    const ENDINGS: [(&str, &str); 5] =
        [("text/html", "html"), ("application/json", "json"), ("text/plain", "txt"), ("xml", "xml"), ("css", "css")];
    let ending = ENDINGS.iter().find(|(kind, _)| content_type.is_some_and(|of| of.contains(kind)));
    let ending = ending.map_or("body", |(_, ending)| ending);
    let words = format!("{} {}", request.method, request.path).to_lowercase();
    let words: Vec<_> =
        words.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let stem = words.join("-");
    let numbered = (2..).map(|number| format!("{stem}-{number}.{ending}"));
    let name = std::iter::once(format!("{stem}.{ending}")).chain(numbered).find(|name| !taken.contains(name));
    let name = name.unwrap_or_default();
    taken.insert(name.clone());
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_has_a_file_of_its_own_by_what_it_answers() {
        let mut taken = BTreeSet::new();
        let mut name = |path: &str, kind: Option<&str>| {
            let request = Request {
                method: "GET".to_owned(),
                path: path.to_owned(),
                headers: Default::default(),
                body: Vec::new(),
            };
            file_name(&request, kind, &mut taken)
        };
        for (path, kind, expected) in [
            ("/", Some("text/html; charset=UTF-8"), "get.html"),
            ("/", Some("text/html"), "get-2.html"),
            ("/about?page=2", Some("application/json"), "get-about-page-2.json"),
            ("/../x", None, "get-x.body"),
        ] {
            assert_eq!(name(path, kind), expected, "{path}");
        }
    }
}
