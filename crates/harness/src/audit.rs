//! What a load has made: numbers that the application and its services tell before and after it, held against what was
//! answered.

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_core::{AddressId, Audit, AuditRecord, AuditTold, Program, Request, Topology};
use stampede_seam::{ASK_TIME, LoadResult, Measures, Running};

use crate::ready::{Front, send};

/// Longest wait for a number; it is asked for right after a load that may have left hundreds of requests behind, which a
/// server with one process answers first.
const TIMEOUT: Duration = Duration::from_secs(90);

/// An audit of a case.
#[derive(Clone, Debug)]
pub struct PreparedAudit {
    /// What is asked for.
    pub audit: Audit,
    /// The program that asks the service, where the case has it.
    pub query: Option<Program>,
}

/// What became of the requests of a step in the whole load, warm-up included.
#[derive(Debug)]
pub(crate) struct StepAnswers {
    step: String,
    status: BTreeMap<u16, u64>,
    /// Requests that were begun and not answered to their end.
    unknown: u64,
}

impl StepAnswers {
    pub(crate) fn of(result: &LoadResult) -> Vec<Self> {
        let of_step = |(name, measures): (&String, &Measures)| {
            let Measures { requests, warm_up, status, warm_up_status, .. } = measures;
            let mut all = status.clone();
            for (status, count) in warm_up_status {
                *all.entry(*status).or_default() += count;
            }
            let unknown = (requests.sent + warm_up.sent).saturating_sub(all.values().sum());
            Self { step: name.clone(), status: all, unknown }
        };
        result.steps.iter().map(|step| of_step((&step.name, &step.measures))).collect()
    }
}

/// Adds what the steps of one more window were answered.
pub(crate) fn add(all: &mut Vec<StepAnswers>, more: &[StepAnswers]) {
    for StepAnswers { step, status, unknown } in more {
        match all.iter_mut().find(|known| known.step == *step) {
            Some(known) => {
                status.iter().for_each(|(status, count)| *known.status.entry(*status).or_default() += count);
                known.unknown += unknown;
            }
            None => all.push(StepAnswers { step: step.clone(), status: status.clone(), unknown: *unknown }),
        }
    }
}

/// Each audit's number, by who told it.
pub(crate) struct Reading(Vec<Numbers>);

/// Numbers by who told them.
type Numbers = Vec<(String, u64)>;

/// Asks everybody for each audit's number: the services, and the application at each replica.
///
/// # Errors
///
/// Who gave none, and what came instead.
pub(crate) async fn read(
    running: &dyn Running,
    front: &Front,
    replicas: &[AddressId],
    audits: &[PreparedAudit],
) -> Result<Reading, String> {
    let mut readings = Vec::new();
    for PreparedAudit { audit, query } in audits {
        let mut told = Vec::new();
        if let Some(path) = &audit.path {
            for (by, front) in fronts(running, front, replicas) {
                let number =
                    ask(running, &front, path).await.map_err(|problem| format!("{by} cannot be asked: {problem}"))?;
                told.push((by, number));
            }
        }
        if let (Some(program), Some(query)) = (query, &audit.query) {
            let by = query.service.id();
            let said =
                running.ask(program, ASK_TIME).await.map_err(|problem| format!("{by} cannot be asked: {problem}"))?;
            let number = said.trim().parse();
            let number =
                number.map_err(|_| format!("{by} answers {:?} to {}, which is no number", said.trim(), query.sql))?;
            told.push((by.to_owned(), number));
        }
        readings.push(told);
    }
    Ok(Reading(readings))
}

/// Where the application is asked: at each replica, or at the front where it is alone.
fn fronts(running: &dyn Running, front: &Front, replicas: &[AddressId]) -> Vec<(String, Front)> {
    let named = (1..)
        .zip(replicas)
        .filter_map(|(number, id)| Some((Topology::replica_name(number), front.at(running.endpoint(id)?))));
    let named: Vec<_> = named.collect();
    if named.is_empty() { vec![("the application".to_owned(), front.clone())] } else { named }
}

async fn ask(running: &dyn Running, front: &Front, path: &str) -> Result<u64, String> {
    let request =
        Request { method: "GET".to_owned(), path: path.to_owned(), headers: BTreeMap::new(), body: Vec::new() };
    let answer = send(running.vantage().as_ref(), front, &request, TIMEOUT).await;
    let answer = answer.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&answer.body);
    match text.trim().parse() {
        Ok(number) if answer.status == 200 => Ok(number),
        _ => Err(format!("{path} answers {} {:?}, which is no number", answer.status, text.trim())),
    }
}

/// What each audit found between two readings.
pub(crate) fn records(
    audits: &[PreparedAudit],
    before: &Reading,
    after: &Reading,
    answers: &[StepAnswers],
    resent: u64,
) -> Vec<AuditRecord> {
    let readings = before.0.iter().zip(&after.0);
    let record = |(PreparedAudit { audit, .. }, (before, after)): (&PreparedAudit, (&Numbers, &Numbers))| {
        let step = answers.iter().find(|answers| answers.step == audit.step);
        let told = before.iter().zip(after);
        AuditRecord {
            name: audit.name.clone(),
            answered: step.and_then(|step| step.status.get(&audit.status).copied()).unwrap_or(0),
            // A request that was sent again may have been taken twice.
            unknown: step.map_or(0, |step| step.unknown) + resent,
            told: told
                .map(|((by, before), (_, after))| AuditTold { by: by.clone(), before: *before, after: *after })
                .collect(),
        }
    };
    audits.iter().zip(readings).map(record).collect()
}
