//! `stampede init`: a plan for an application, with the answers that it gives now.

pub(crate) mod args;
mod site;
pub(crate) mod traffic;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use stampede_conduct::{Bench, Ground, Host, LAST_WAIT, Unrecordable, conditions, record_answers, walk};
use stampede_core::{CpuLayout, Expectation, Play, Request};
use stampede_harness::{Copies, Recorded};
use stampede_plan::{ComparePlan, PLAN_FILE, WrittenAnswer, write_plan};

use crate::exit::{Exit, Failure};
use crate::flags::WaitArgs;
use crate::init::args::InitArgs;
use crate::init::site::Site;
use crate::init::traffic::{SCENARIO, Traffic};
use crate::signals::Signals;
use crate::{Outcome, screen};
use stampede_catalogue::BuiltIn;

/// Where answers are written, beside the plan.
const ANSWERS: &str = "stampede.expected";

pub(crate) fn run(args: &InitArgs, host: &dyn Host) -> Outcome {
    let InitArgs { dir, index, host: name, databases, traffic, force, wait: WaitArgs { no_wait } } = args;
    let file = dir.join(PLAN_FILE);
    if !dir.is_dir() {
        return Err(Failure::usage(format!("{} is no folder; name the application's", dir.display())));
    }
    let files = [file.clone(), dir.join(ANSWERS), dir.join(SCENARIO)];
    if let Some(there) = files.into_iter().find(|path| path.exists()).filter(|_| !force) {
        let file = there.display();
        return Err(Failure::usage(format!("{file} is there already; add --force to write another in its place")));
    }
    crate::destination::writable(&file)
        .map_err(|error| Failure::usage(format!("{} cannot be written: {error}", file.display())))?;
    let site = traffic.crawl.map(Site::new).transpose()?;
    let traffic = Traffic::read(traffic, name.host.as_deref())?;
    let mut plan =
        ComparePlan::of_application(dir, index, name, databases, host.size(), &BuiltIn).map_err(Failure::usage)?;
    let scenario = traffic.as_ref().and_then(|traffic| traffic.scenario.clone());
    let unrecordable = match traffic {
        None => Unrecordable::Refused,
        Some(traffic) => traffic.put_into(&mut plan),
    };
    let cpus = host.cpus();
    let pinning = CpuLayout::divide(&cpus, plan.limits.cpus.whole_cores());
    let runtime = host.enter(&CpuLayout { server: cpus.clone(), generator: cpus })?;
    let recorded = runtime.block_on(async {
        let mut signals = Signals::new()?;
        tokio::select! {
            biased;
            () = signals.any() => Ok(None),
            recorded = record(host, plan, pinning, *no_wait, unrecordable, site) => recorded.map(Some),
        }
    });
    runtime.shutdown_timeout(LAST_WAIT);
    let Some((mut plan, recorded)) = recorded? else {
        screen::warning("interrupted; nothing was written");
        return Ok(Exit::Interrupted);
    };
    let dump = databases.dump.database.as_deref().map(|dump| from_plan(dir, dump));
    let beside = dir.join(SCENARIO);
    let mut written = format!("wrote {} and {}/\n", file.display(), dir.join(ANSWERS).display());
    if let Some(scenario) = scenario {
        fs::write(&beside, scenario)
            .map_err(|error| Failure::missing(format!("cannot write {}: {error}", beside.display())))?;
        plan.workload.play = Some(Play { folder: dir.clone(), scenario: SCENARIO.into(), generate: Vec::new() });
        written = format!("wrote {}, {} and {}/\n", file.display(), beside.display(), dir.join(ANSWERS).display());
    } else if beside.exists() {
        // It was of the plan whose place this one takes.
        fs::remove_file(&beside)
            .map_err(|error| Failure::missing(format!("cannot remove {}: {error}", beside.display())))?;
    }
    write(dir, &file, &plan, &recorded, dump.as_deref())?;
    screen::print(&written)?;
    screen::note(&format!("next: stampede compare {}", dir.display()));
    Ok(Exit::Done)
}

/// Finds the requests of a site that is walked over, and records what all are answered with. Returns the plan with its requests too.
async fn record(
    host: &dyn Host,
    mut plan: ComparePlan,
    pinning: CpuLayout,
    no_wait: bool,
    mut unrecordable: Unrecordable,
    site: Option<Site>,
) -> Result<(ComparePlan, Vec<Recorded>), Failure> {
    let bench = Bench { host, no_wait, quiet: false };
    let ground = Ground::take(bench, "init", &plan, &[], &pinning).await?;
    let conditions = conditions(host, &plan, pinning)?;
    let cases = ground.prepare(&plan, &conditions, &mut Copies::default()).await?;
    if let Some(mut site) = site {
        walk(bench, &*ground.platform, &plan, &cases.prepared, &mut site).await?;
        // Of a site that answers nothing, the plan's own request says what is wrong.
        if let Some(traffic) = site.traffic() {
            unrecordable = traffic.put_into(&mut plan);
        }
    }
    let recorded = record_answers(bench, &*ground.platform, &plan, &cases.prepared, unrecordable).await?;
    Ok((plan, recorded))
}

/// Writes the answers first: a plan that is there names files that are there.
fn write(
    dir: &Path,
    file: &Path,
    plan: &ComparePlan,
    recorded: &[Recorded],
    dump: Option<&Path>,
) -> Result<(), Failure> {
    let Some(look) = &plan.look else { return Ok(()) };
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error| Failure::missing(format!("cannot write {path}: {error}"))
    };
    let answers = dir.join(ANSWERS);
    if answers.exists() {
        fs::remove_dir_all(&answers).map_err(failed(&answers))?;
    }
    fs::create_dir_all(&answers).map_err(failed(&answers))?;
    let mut plan = plan.clone();
    let (mut names, mut written) = (BTreeSet::new(), Vec::new());
    for answer in recorded {
        let name = file_name(&answer.request, answer.content_type.as_deref(), &mut names);
        let (body, mask) = answer.marked();
        fs::write(answers.join(&name), body).map_err(failed(&answers.join(&name)))?;
        let body_file = PathBuf::from(ANSWERS).join(name);
        let Expectation { status, head, .. } = answer.expect.clone();
        let exchange = answer.complete(&mut plan.workload);
        written.push(WrittenAnswer { exchange, status, body_file, mask, head });
    }
    plan.workload.exchanges.retain(|exchange| written.iter().any(|written| written.exchange == exchange.name));
    fs::write(file, write_plan(&plan, look, &written, dump)).map_err(failed(file))
}

/// A file as the plan in this folder names it: from there, or whole where it lies elsewhere.
fn from_plan(dir: &Path, file: &Path) -> PathBuf {
    let whole = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let file = whole(file);
    file.strip_prefix(whole(dir)).map(Path::to_owned).unwrap_or(file)
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
