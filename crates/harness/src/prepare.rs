//! From planned candidates to cases that can run here: what each needs is looked for, and its deployment is rendered.

use std::path::Path;
use std::{fmt, mem};

use stampede_core::{
    AddressId, App, Audit, Availability, Candidate, Case, CaseId, Certificate, ComposeContext, Composed, Composer,
    CpuLayout, Deployment, Install, Limits, Load, MakersImage, PhpBuild, PlanError, Programs, RenderContext,
    Requirement, ServiceNeed, Terms, Topology, with_causes,
};
use stampede_scale::Scaling;
use stampede_seam::{Platform, PreparedApp};

use crate::audit::PreparedAudit;
use crate::prepared_database::{Databases, Inits, reached};

/// What all cases of a study have in common.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// What each deployment may use.
    pub limits: Limits,
    /// What load is driven.
    pub load: Load,
    /// The loads of a scenario's other crowds.
    pub beside: Vec<Load>,
    /// Which cores serve and which generate load.
    pub pinning: CpuLayout,
    /// What stands around each runtime.
    pub topology: Topology,
    /// Who the front is, where the topology has TLS.
    pub certificate: Option<Certificate>,
    /// What is said of the topology's services beside their settings.
    pub services: Vec<ServiceNeed>,
    /// What the load must have made.
    pub audits: Vec<Audit>,
}

/// A case that can run.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The case.
    pub case: Case,
    /// What is launched for each of its trials.
    pub deployment: Deployment,
    /// Under which budgets.
    pub terms: Terms,
    /// The replicas' own fronts, behind a balancer.
    pub replicas: Vec<AddressId>,
    /// The certificate that clients trust, in PEM, where the front speaks TLS.
    pub trust: Option<Vec<u8>>,
    /// What the load must have made.
    pub audits: Vec<PreparedAudit>,
    /// How many of it there are, where they are started and stopped as requests come; `None` where there is one.
    pub scaling: Option<Scaling>,
}

impl Prepared {
    /// A case that stands alone: without replicas, TLS, audits or scaling.
    pub fn alone(case: Case, deployment: Deployment, terms: Terms) -> Self {
        let (replicas, audits) = (Vec::new(), Vec::new());
        Self { case, deployment, terms, replicas, trust: None, audits, scaling: None }
    }
}

/// A case that cannot run here.
#[derive(Clone, Debug)]
pub struct Missing {
    /// The case.
    pub case: CaseId,
    /// Why.
    pub why: Lack,
}

/// Why a case cannot run here.
#[derive(Clone, Debug)]
pub enum Lack {
    /// It needs something.
    Needs {
        /// What is missing.
        what: String,
        /// How to get it.
        install: Install,
    },
    /// Its runtime cannot be configured for it.
    Unrenderable(String),
    /// Its application could not be copied, or the commands that prepare it failed.
    Unprepared(String),
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Needs { what, install } => write!(f, "needs {what}: {install}"),
            Self::Unrenderable(problem) => f.write_str(problem),
            Self::Unprepared(problem) => write!(f, "has no application: {problem}"),
        }
    }
}

impl Missing {
    fn needs(case: &CaseId, what: String, install: Install) -> Self {
        Self { case: case.clone(), why: Lack::Needs { what, install } }
    }
}

/// Looks for what each candidate needs and renders those that have it. A candidate that lacks several things appears
/// once for each. For candidates of several conditions it is called once for each: an application is prepared once for all of
/// them.
///
/// # Errors
///
/// When what is around the runtimes cannot be configured although all that it required is there.
pub async fn prepare(
    platform: &dyn Platform,
    composer: &dyn Composer,
    candidates: &[Candidate],
    conditions: &Conditions,
    copies: &mut Copies,
) -> Result<(Vec<Prepared>, Vec<Missing>), PlanError> {
    let Conditions { limits, load, beside: other_loads, pinning, topology, certificate, services, audits } = conditions;
    let mut prepared = Vec::new();
    let mut missing = Vec::new();
    let around = CaseId::new("the topology");
    let Some(beside) = find(platform, &around, (&composer.requires(topology), None), &mut missing).await else {
        return Ok((prepared, missing));
    };
    missing.extend(services.iter().filter_map(|need| outdated(need, &around, composer, &beside)));
    if !missing.is_empty() {
        return Ok((prepared, missing));
    }
    let all_load = &load.joined_by(other_loads);
    let audits = audits.iter().map(|audit| ready_to_ask(audit, topology, composer, &beside));
    let audits: Vec<PreparedAudit> = audits.collect::<Result<_, _>>()?;
    let given: Inits = services.iter().filter_map(|need| Some((need.kind, need.init.clone()?))).collect();
    for candidate in candidates {
        let Candidate { id, runtime, role, app: original, php: _, tuning } = candidate;
        let image = candidate.image();
        let image = image.as_ref();
        // An extension that PHP lacks is found before the application's commands run, which would fail for it in other words.
        let of_php: Vec<_> = candidate.needs(original).into_iter().filter(Requirement::is_php).collect();
        if !original.prepare.is_empty() && find(platform, id, (&of_php, image), &mut missing).await.is_none() {
            continue;
        }
        let databases = reached(original, topology, platform);
        let mut dumpers = beside.clone();
        if let Some(databases) = &databases {
            let needs: Vec<_> = databases.services.iter().flat_map(|used| composer.dumper(used.kind)).collect();
            match find(platform, &around, (&needs, None), &mut missing).await {
                Some(found) => dumpers.extend(found),
                None => return Ok((prepared, missing)),
            }
        }
        let databases = databases.as_ref().map(|topology| Databases {
            platform,
            composer,
            programs: &dumpers,
            context: ComposeContext {
                topology,
                limits,
                load: all_load,
                programs: &beside,
                certificate: None,
                init: &given,
            },
        });
        let Copy { app: PreparedApp { folder, autoloader, .. }, init } =
            match copies.of(original, platform, databases).await {
                Ok(copy) => copy,
                Err(problem) => {
                    missing.push(Missing { case: id.clone(), why: Lack::Unprepared(problem) });
                    continue;
                }
            };
        let app = &App { source: folder, ..original.clone() };
        let before = missing.len();
        let needs = candidate.needs(app);
        let Some(programs) = find(platform, id, (&needs, image), &mut missing).await else {
            // What the application lacks is to be added where it came from.
            let [copy, source] = [app, original].map(|app| app.source.display().to_string());
            for Missing { why, .. } in &mut missing[before..] {
                if let Lack::Needs { what, .. } = why {
                    *what = what.replace(&copy, &source);
                }
            }
            continue;
        };
        let own = topology.replica_limits(limits);
        let app = &composer.connect(app, topology);
        let context = RenderContext { app, limits: &own, load: all_load, tuning, programs: &programs };
        let one = match runtime.deployment(&context) {
            Ok(rendered) => rendered,
            Err(error) => {
                missing.push(match error {
                    PlanError::Unsuitable { runtime: _, what, install } => Missing::needs(id, what, install),
                    error => Missing { case: id.clone(), why: Lack::Unrenderable(with_causes(&error)) },
                });
                continue;
            }
        };
        let certificate = certificate.as_ref();
        let context = ComposeContext {
            topology,
            limits,
            load: all_load,
            programs: &beside,
            certificate,
            init: init.as_ref().unwrap_or(&given),
        };
        let own = one.units.first().map(|unit| unit.id.clone());
        let Composed { mut deployment, parts, replicas } = composer.compose(one, &context)?;
        deployment.image = image.cloned();
        for unit in deployment.units.iter_mut().filter(|unit| Some(&unit.id) == own.as_ref()) {
            unit.logs.extend(app.logs.iter().map(|log| Path::new("@{app}").join(log)));
        }
        let case = Case {
            id: id.clone(),
            runtime: runtime.id(),
            role: *role,
            runtime_version: runtime.version(&programs),
            app: app.name.clone(),
            site: app.site.is_told().then(|| app.site.clone()),
            revision: None,
            autoloader,
            php: serving_php(&needs, &programs),
            tuning: tuning.clone().with_roles(runtime.tunables()),
            limits: *limits,
            topology: topology.clone(),
            platform: platform.id().to_owned(),
            base_image: match &deployment.container {
                Some(container) => Some(container.record()),
                None => platform.image_of(image),
            },
            pinning: pinning.clone(),
            load: load.clone(),
            beside: other_loads.clone(),
        };
        let terms = Terms { total: *limits, parts };
        let trust = certificate.map(|certificate| certificate.certificate.clone().into_bytes());
        prepared.push(Prepared { case, deployment, terms, replicas, trust, audits: audits.clone(), scaling: None });
    }
    Ok((prepared, missing))
}

/// The build of PHP that serves: runtimes ask for it before those that prepare an application.
fn serving_php(needs: &[Requirement], programs: &Programs) -> Option<PhpBuild> {
    let mut keys = needs.iter().filter(|need| need.is_php()).filter_map(Requirement::key);
    let build = keys.find_map(|key| programs.get(key)?.php.clone())?;
    let setup = build.setup.map(|setup| Box::new(setup.without_secrets()));
    Some(PhpBuild { setup, ..build })
}

/// A service that is here, and older than it may be.
fn outdated(need: &ServiceNeed, case: &CaseId, composer: &dyn Composer, programs: &Programs) -> Option<Missing> {
    let found = composer.version(need.kind, programs)?;
    let what = || format!("{} {} or newer (this is {found})", need.kind.id(), need.oldest());
    (!need.is_met_by(found)).then(|| Missing::needs(case, what(), composer.install(need.kind)))
}

/// An audit with the program that asks the service, where the topology has it.
fn ready_to_ask(
    audit: &Audit,
    topology: &Topology,
    composer: &dyn Composer,
    programs: &Programs,
) -> Result<PreparedAudit, PlanError> {
    let query = audit.query.as_ref();
    let query = query.filter(|query| topology.services.iter().any(|used| used.kind == query.service));
    let query = query.map(|query| composer.ask(query.service, &query.sql, programs)).transpose()?;
    Ok(PreparedAudit { audit: audit.clone(), query })
}

/// Looks for what a case needs, in the image of its makers where it has one. What it lacks is added to `missing`, and then there is
/// nothing.
async fn find(
    platform: &dyn Platform,
    case: &CaseId,
    (needs, image): (&[Requirement], Option<&MakersImage>),
    missing: &mut Vec<Missing>,
) -> Option<Programs> {
    let mut programs = Programs::new();
    let mut lacking: Vec<Missing> = Vec::new();
    for need in needs {
        match platform.detect(need, image).await {
            Availability::Found(found) => {
                if let Some(key) = need.key() {
                    programs.insert(key.to_owned(), found);
                }
            }
            Availability::Missing { what, install } => {
                let lack = Missing::needs(case, what, install);
                // Two programs of an image that cannot be had are missing for one reason.
                if !lacking.iter().any(|known| known.why.to_string() == lack.why.to_string()) {
                    lacking.push(lack);
                }
            }
        }
    }
    let has_all = lacking.is_empty();
    missing.append(&mut lacking);
    has_all.then_some(programs)
}

/// Applications as they are copied into runs: each is looked at once, and prepared where it has commands for that.
#[derive(Debug, Default)]
pub struct Copies {
    /// Each with its copy, or why there is none.
    known: Vec<(App, Result<Copy, String>)>,
    remarks: Vec<String>,
}

/// An application as it is copied into runs.
#[derive(Clone, Debug)]
struct Copy {
    app: PreparedApp,
    /// What its databases begin with, where its commands ran beside them.
    init: Option<Inits>,
}

impl Copies {
    async fn of(
        &mut self,
        app: &App,
        platform: &dyn Platform,
        databases: Option<Databases<'_>>,
    ) -> Result<Copy, String> {
        if let Some((_, copy)) = self.known.iter().find(|(known, _)| known == app) {
            return copy.clone();
        }
        if app.source.as_os_str().is_empty() {
            // An image brings its own.
            let app = PreparedApp { folder: app.source.clone(), autoloader: None, remarks: Vec::new() };
            return Ok(Copy { app, init: None });
        }
        let prepared = match databases {
            None => platform.prepare(app).await.map(|copy| (copy, None)).map_err(|error| with_causes(&error)),
            Some(databases) => databases.prepare(app).await.map(|(copy, init)| (copy, Some(init))),
        };
        let copy = prepared.map(|(mut app, init)| {
            // Several forms of an application lie in one folder.
            app.remarks.retain(|remark| !self.remarks.contains(remark));
            self.remarks.append(&mut app.remarks);
            Copy { app, init }
        });
        self.known.push((app.clone(), copy.clone()));
        copy
    }

    /// What a person should know of the copies that was not taken before.
    pub fn take_remarks(&mut self) -> Vec<String> {
        mem::take(&mut self.remarks)
    }
}
