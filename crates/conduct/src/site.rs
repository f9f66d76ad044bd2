//! Where a study is measured: a platform, under the lock on the machine, and how load is driven there.

use std::collections::BTreeSet;

use jiff::Timestamp;
use stampede_core::{
    Availability, Candidate, CaseId, Composer as _, CpuLayout, LeftOut, Machine, MakersImage, Requirement, Severity,
    shortened,
};
use stampede_harness::{Conditions, Copies, Lack, Missing, Prepared, Stop};
use stampede_plan::{ComparePlan, RuntimeChoice};
use stampede_runtimes::Topologies;
use stampede_seam::{Backend, Platform};

use crate::exit::{Exit, Failure};
use crate::host::{Bench, Host, Lock};
use crate::notices::ToldFindings;
use crate::{connections, detected, php_setups, revisions};

/// What every case of a plan is served under.
///
/// # Errors
///
/// When a certificate cannot be made for a topology that needs one.
pub(crate) fn conditions(host: &dyn Host, plan: &ComparePlan, pinning: CpuLayout) -> Result<Conditions, Failure> {
    let topology = plan.topology.clone();
    let certificate = topology.has_tls().then(|| host.certificate()).transpose()?;
    Ok(Conditions {
        limits: plan.limits,
        load: plan.load.clone(),
        beside: plan.beside.clone(),
        pinning,
        topology,
        certificate,
        services: plan.services.clone(),
        audits: plan.workload.audits.clone(),
    })
}

/// The cases of a plan.
pub(crate) struct Cases {
    /// Those that can run here: one at least.
    pub prepared: Vec<Prepared>,
    /// Those that were asked for and cannot, with why and how to mend that.
    pub left_out: Vec<LeftOut>,
}

/// The finding that no limits can be held, after which no trial would count.
const NO_LIMITS: &str = "limits-not-enforced";

/// What is said where something was to be measured all the same.
const UNCOUNTED: &str = "Figures without limits do not count, so nothing was measured.";

/// What a machine is taken for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purpose<'a> {
    /// The command, which others who wait for the lock are told.
    pub(crate) command: &'a str,
    /// Whether it measures: no figure counts where no limits can be held.
    pub(crate) measures: bool,
}

/// A platform that nobody else measures on.
pub(crate) struct Ground<'a> {
    bench: Bench<'a>,
    // Fields are dropped in this order: the platform first.
    /// The platform.
    pub platform: Box<dyn Platform>,
    _lock: Lock,
}

impl<'a> Ground<'a> {
    /// Waits for the lock, cleans up after Stampedes that were killed, and says what stands in the way of the limits. What is `beside`
    /// a plan has other runtimes or settings, and all else as the plan.
    ///
    /// # Errors
    ///
    /// When somebody else measures and is not to be waited for, the platform cannot be had, or it can hold no limits and something is to
    /// be measured.
    pub(crate) async fn take(
        bench: Bench<'a>,
        purpose: Purpose<'_>,
        plan: &ComparePlan,
        beside: &[&ComparePlan],
        pinning: &CpuLayout,
    ) -> Result<Self, Failure> {
        let Bench { host, no_wait, quiet } = bench;
        let lock = host.lock(&told_to_others(purpose.command, plan), no_wait).await?;
        let platform = host.platform(plan, beside, pinning.server.clone(), quiet).await?;
        for finding in platform.preflight(&plan.limits).await {
            if finding.id == NO_LIMITS && purpose.measures {
                let line = host.as_root().map(|line| format!(" As root:\n  {line}")).unwrap_or_default();
                let told = format!("{}; {}\n  {UNCOUNTED}{line}", finding.text, finding.advice);
                return Err(Failure::missing(told));
            }
            if finding.severity > Severity::Info {
                bench.warning(&format!("{}; {}", finding.text, finding.advice));
            }
        }
        Ok(Self { bench, platform, _lock: lock })
    }

    /// Prepares the plan's cases, and says what a look at an application found; and what cannot run here.
    ///
    /// # Errors
    ///
    /// When none of them can run, or one cannot that the plan must have.
    pub(crate) async fn prepare(
        &self,
        plan: &ComparePlan,
        conditions: &Conditions,
        copies: &mut Copies,
    ) -> Result<Cases, Failure> {
        self.prepare_as(self.bench, plan, conditions, copies).await
    }

    /// The same for a plan that differs from one that was prepared before: what is told of it was told then.
    pub(crate) async fn prepare_beside(
        &self,
        plan: &ComparePlan,
        conditions: &Conditions,
        copies: &mut Copies,
    ) -> Result<Cases, Failure> {
        self.prepare_as(Bench { quiet: true, ..self.bench }, plan, conditions, copies).await
    }

    pub(crate) async fn prepare_as(
        &self,
        bench: Bench<'_>,
        plan: &ComparePlan,
        conditions: &Conditions,
        copies: &mut Copies,
    ) -> Result<Cases, Failure> {
        let commands: BTreeSet<_> = plan.candidates.iter().flat_map(|candidate| &candidate.app.prepare).collect();
        for command in commands {
            bench.note(&preparing(command));
        }
        let prepared = stampede_harness::prepare(&*self.platform, &Topologies, &plan.candidates, conditions, copies);
        let (mut prepared, missing) = prepared.await.map_err(Failure::missing)?;
        for remark in copies.take_remarks() {
            bench.note(&remark);
        }
        revisions::add(bench.host, &mut prepared, &plan.candidates).await;
        detected::tell(bench, plan, &prepared, &missing);
        if !bench.quiet {
            prepared.iter().filter_map(|one| connections::warning(&one.case)).for_each(|line| bench.warning(&line));
        }
        php_setups::lines(&prepared).into_iter().for_each(|line| bench.paragraph(&line, 2));
        let left_out = account_for_missing(bench, plan, &prepared, &missing)?;
        Ok(Cases { prepared, left_out })
    }
}

/// Whether a plan's platform has all that the plan's candidates need, or was given it now.
pub(crate) async fn has_all(bench: Bench<'_>, command: &str, plan: &ComparePlan) -> Result<bool, Failure> {
    let Bench { host, no_wait, quiet } = bench;
    let _lock = host.lock(&told_to_others(command, plan), no_wait).await?;
    let platform = host.platform(plan, &[], host.cpus(), quiet).await?;
    for (image, need) in needs(plan) {
        if matches!(platform.detect(&need, image.as_ref()).await, Availability::Missing { .. }) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What the candidates of a plan and what is around them need, each in the image of its makers.
#[must_use]
pub fn needs(plan: &ComparePlan) -> Vec<(Option<MakersImage>, Requirement)> {
    let around = Topologies.requires(&plan.topology);
    let of_candidate = |candidate: &Candidate| {
        let image = candidate.image();
        let needs = around.iter().cloned().chain(candidate.needs(&candidate.app));
        needs.map(|need| (image.clone(), need)).collect::<Vec<_>>()
    };
    plan.candidates.iter().flat_map(of_candidate).collect()
}

/// What others who wait are told.
fn told_to_others(command: &str, plan: &ComparePlan) -> String {
    format!("{command} {}", plan.workload.id)
}

/// What becomes of cases that cannot run: they are left out, and every report says so of those that were meant to run. Where none is
/// left, or the plan must have each, it is an error.
fn account_for_missing(
    bench: Bench<'_>,
    plan: &ComparePlan,
    prepared: &[Prepared],
    missing: &[Missing],
) -> Result<Vec<LeftOut>, Failure> {
    if prepared.is_empty() && missing.is_empty() {
        return Err(Failure::usage("no runtime can serve this workload; see stampede list runtimes"));
    }
    let lines = told(missing);
    if prepared.is_empty() || (plan.choice == RuntimeChoice::Settled && !missing.is_empty()) {
        let is_of_app = |Missing { why, .. }: &Missing| matches!(why, Lack::Unprepared(_));
        // The application is at fault itself.
        let exit = if missing.iter().any(is_of_app) { Exit::TrialFailed } else { Exit::Missing };
        return Err(Failure { exit, message: lines.join("\n") });
    }
    // A look at an application says so of each runtime.
    if plan.look.is_none() {
        let unable = plan.unable.iter().map(|(runtime, kinds)| format!("{runtime} {}", serves(kinds)));
        for line in lines.into_iter().chain(unable) {
            bench.host.notices().paragraph(&format!("skipped: {line}"), 4);
        }
    }
    let is_named = plan.choice == RuntimeChoice::Named;
    let meant = missing.iter().filter(|of| is_named || !matches!(of.why, Lack::Needs { .. }));
    let lacking = meant.map(|Missing { case, why }| match why {
        Lack::Needs { what, install } => {
            LeftOut { case: case.clone(), reason: format!("needs {what}"), fix: Some(install.to_string()) }
        }
        Lack::Unrenderable(_) | Lack::Unprepared(_) => {
            LeftOut { case: case.clone(), reason: why.to_string(), fix: None }
        }
    });
    let unable = plan.unable.iter().filter(|_| is_named).map(|(runtime, kinds)| LeftOut {
        case: CaseId::new(runtime.as_str()),
        reason: serves(kinds),
        fix: None,
    });
    Ok(lacking.chain(unable).collect())
}

/// `serves only go-program`: what a runtime can serve, that cannot serve this.
fn serves(kinds: &[&str]) -> String {
    format!("serves only {}", kinds.join(", "))
}

/// A line for each reason, with the cases that it is true of.
fn told(missing: &[Missing]) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for Missing { case, why } in missing {
        let why = why.to_string();
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, cases)) => cases.push(case.as_str()),
            None => reasons.push((why, vec![case.as_str()])),
        }
    }
    reasons.into_iter().map(|(why, cases)| format!("{} {why}", cases.join(", "))).collect()
}

/// Where studies are measured, one after another.
pub(crate) struct Site<'a> {
    /// What may ask them to end.
    pub(crate) stop: &'a Stop,
    pub(crate) ground: Ground<'a>,
    pub(crate) machine: Machine,
    pub(crate) pinning: CpuLayout,
    pub(crate) backend: Backend,
    pub(crate) told: ToldFindings,
}

impl<'a> Site<'a> {
    /// The site of a plan.
    pub(crate) async fn take(
        bench: Bench<'a>,
        purpose: Purpose<'_>,
        plan: &ComparePlan,
        beside: &[&ComparePlan],
        backend: Option<Backend>,
        pinning: CpuLayout,
        stop: &'a Stop,
    ) -> Result<Self, Failure> {
        let ground = Ground::take(bench, purpose, plan, beside, &pinning).await?;
        let asked = if ground.platform.vantage().refuses_io_uring() { Some(Backend::Epoll) } else { backend };
        let backend = bench.host.backend(asked, &pinning, bench.quiet).await;
        let elsewhere = ground.platform.machine();
        // Nothing is pinned where others than this program decide what runs where.
        let pinning =
            if elsewhere.is_some() { CpuLayout { server: Vec::new(), generator: Vec::new() } } else { pinning };
        let machine = elsewhere.unwrap_or_else(|| bench.host.machine());
        Ok(Self { stop, ground, machine, pinning, backend, told: ToldFindings::default() })
    }

    /// Who it is for.
    pub(crate) fn bench(&self) -> Bench<'a> {
        self.ground.bench
    }

    /// The date and time there.
    pub(crate) fn now(&self) -> Timestamp {
        self.ground.platform.vantage().timestamp()
    }
}

/// What is printed before a command prepares an application; a long one without its middle.
#[must_use]
pub fn preparing(command: &[String]) -> String {
    const MOST: usize = 100;
    format!("preparing the application: {}", shortened(&command.join(" "), MOST))
}
