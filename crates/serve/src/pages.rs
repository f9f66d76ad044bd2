//! From a request's path and query to a page: the store is read again for each.

use std::collections::BTreeSet;
use std::path::PathBuf;

use hyper::StatusCode;
use stampede_analysis::{Better, Metric, OpenPartAnalysis, analyse, analyse_parts, metric};
use stampede_core::{StudyId, with_causes};
use stampede_report::StudyView;
use stampede_report::html::dashboard::{DashboardPage, Filter, HistoryPoint, HistoryView, ListView, ListedStudy};
use stampede_report::html::{self, dashboard};
use stampede_store::{Store, StoreError, StoredStudy, StudyRow, StudyState};

use crate::answer::Answer;
use crate::glances::Glances;
use crate::past::Past;
use crate::search;

/// Studies on a page of the list.
const PER_PAGE: usize = 25;
/// The newest studies that a metric is followed over.
const MOST_POINTS: usize = 200;

/// What pages are made from.
#[derive(Debug)]
pub(crate) struct Pages {
    store: PathBuf,
    past: Past,
    glances: Glances,
}

/// The query of a request; of several values of a name the first counts.
pub(crate) struct Query<'a>(&'a str);

impl<'a> Query<'a> {
    pub(crate) fn new(query: Option<&'a str>) -> Self {
        Self(query.unwrap_or_default())
    }

    pub(crate) fn get(&self, name: &str) -> Option<String> {
        let found = form_urlencoded::parse(self.0.as_bytes()).find(|(key, _)| key == name);
        found.map(|(_, value)| value.into_owned()).filter(|value| !value.is_empty())
    }
}

impl Pages {
    pub(crate) fn new(store: PathBuf) -> Self {
        Self { store, past: Past::default(), glances: Glances::default() }
    }

    pub(crate) fn answer(&self, path: &str, query: &Query<'_>) -> Answer {
        let Some(page) = DashboardPage::ALL.into_iter().find(|page| page.path() == path) else {
            return Answer::problem(StatusCode::NOT_FOUND, "There is no such page.");
        };
        let answered = Store::open_existing(&self.store).and_then(|store| match page {
            DashboardPage::Studies => self.list(&store, query),
            DashboardPage::Study => study(&store, query),
            DashboardPage::Compare => compare(&store, query),
            DashboardPage::History => self.history(&store, query),
        });
        answered.unwrap_or_else(|error| {
            let status = match error {
                StoreError::Unknown { .. } | StoreError::Ambiguous { .. } => StatusCode::NOT_FOUND,
                _ => StatusCode::INTERNAL_SERVER_ERROR,
            };
            Answer::problem(status, &with_causes(&error))
        })
    }

    /// How far a study is, by its whole name; none where there is no such study.
    pub(crate) fn standing(&self, id: &StudyId) -> Result<Option<StudyState>, StoreError> {
        Store::open_existing(&self.store)?.standing(id)
    }

    /// The part of a study's page that follows what is stored.
    pub(crate) fn live(&self, id: &StudyId) -> Result<String, StoreError> {
        let stored = Store::open_existing(&self.store)?.load(id.as_str())?;
        Ok(viewed(&stored, dashboard::live))
    }

    fn list(&self, store: &Store, query: &Query<'_>) -> Result<Answer, StoreError> {
        let rows = store.studies()?;
        let all: Vec<ListedStudy> = rows.iter().map(listed).collect();
        let asked = |name| query.get(name).unwrap_or_default();
        let filter = Filter {
            words: asked("q"),
            question: asked("question"),
            workload: asked("workload"),
            state: asked("state"),
        };
        let different = |of: fn(&ListedStudy) -> &String| -> Vec<String> {
            all.iter().map(of).collect::<BTreeSet<_>>().into_iter().cloned().collect()
        };
        let (questions, workloads) = (different(|study| &study.question), different(|study| &study.workload));
        let stored = all.len();
        let chosen = query.get("a").filter(|id| all.iter().any(|study| study.id == *id));
        let of_row = all.into_iter().zip(&rows);
        let found: Vec<(ListedStudy, &StudyRow)> =
            of_row.filter(|(study, _)| search::is_found(study, &filter)).collect();
        let (count, pages) = (found.len(), found.len().div_ceil(PER_PAGE).max(1));
        let page = query.get("page").and_then(|page| page.parse().ok()).unwrap_or(1).clamp(1, pages);
        // One that cannot be read is listed all the same: its page says why.
        let shown = found.into_iter().skip((page - 1) * PER_PAGE).take(PER_PAGE);
        let shown: Vec<ListedStudy> =
            shown.map(|(study, row)| ListedStudy { glance: self.glances.of(store, row).ok(), ..study }).collect();
        Ok(Answer::page(dashboard::list(&ListView {
            filter: &filter,
            chosen: chosen.as_deref(),
            questions: &questions,
            workloads: &workloads,
            studies: &shown,
            found: count,
            stored,
            page: (page, pages),
        })))
    }

    fn history(&self, store: &Store, query: &Query<'_>) -> Result<Answer, StoreError> {
        let asked = query.get("metric");
        let Some(metric) = metric(asked.as_deref().unwrap_or("throughput_rps")).filter(|metric| is_followed(metric))
        else {
            return Ok(Answer::problem(StatusCode::NOT_FOUND, "There is no such metric."));
        };
        let rows: Vec<StudyRow> = store.studies()?.into_iter().filter(Past::has).collect();
        let workloads: BTreeSet<String> = rows.iter().map(|row| row.workload.to_string()).collect();
        let latest = || rows.first().map(|row| row.workload.to_string());
        let workload = query.get("workload").or_else(latest).unwrap_or_default();
        let mut rows: Vec<&StudyRow> = rows.iter().filter(|row| row.workload.as_str() == workload).collect();
        let left_out = rows.len().saturating_sub(MOST_POINTS);
        rows.truncate(MOST_POINTS);
        rows.reverse();
        let mut past = Vec::new();
        for row in rows {
            past.push((row, self.past.of(store, &row.id)?));
        }
        let cases = || past.iter().flat_map(|(row, cases)| cases.iter().map(move |case| (row, case)));
        let runtimes: BTreeSet<String> = cases().map(|(_, case)| case.runtime.clone()).collect();
        let runtime = query
            .get("runtime")
            .filter(|runtime| runtimes.contains(runtime))
            .or_else(|| runtimes.first().cloned())
            .unwrap_or_default();
        let point = |(row, case): (&&StudyRow, &crate::past::PastCase)| {
            Some(HistoryPoint {
                study: row.id.to_string(),
                started_at: row.started_at,
                conditions: case.conditions.clone(),
                version: case.version.clone(),
                revision: case.revision.as_ref().map(ToString::to_string),
                estimate: *case.summary.get(metric.key)?,
            })
        };
        let points: Vec<HistoryPoint> = cases().filter(|(_, case)| case.runtime == runtime).filter_map(point).collect();
        Ok(Answer::page(dashboard::history(&HistoryView {
            workloads: &Vec::from_iter(workloads),
            workload: &workload,
            runtimes: &Vec::from_iter(runtimes),
            runtime: &runtime,
            metric,
            points: &points,
            left_out,
        })))
    }
}

fn is_followed(metric: &Metric) -> bool {
    metric.better != Better::Neither
}

fn listed(row: &StudyRow) -> ListedStudy {
    let StudyRow { id, kind, workload, started_at, finished_at, rounds: _, cases, revisions, trials, imported_at } =
        row;
    ListedStudy {
        id: id.to_string(),
        question: kind.to_string(),
        workload: workload.to_string(),
        cases: cases.iter().map(ToString::to_string).collect(),
        revisions: revisions.clone(),
        trials: *trials,
        started_at: *started_at,
        finished_at: *finished_at,
        imported: imported_at.is_some(),
        glance: None,
    }
}

fn study(store: &Store, query: &Query<'_>) -> Result<Answer, StoreError> {
    let stored = store.load(&query.get("id").unwrap_or_default())?;
    let open_part = store.open_part(&stored.study.id)?;
    let analysis = analyse_parts(&stored.study, &stored.trials, open_part.as_ref());
    let open_part = open_part.and_then(|part| OpenPartAnalysis::of(&stored.study, &stored.trials, part));
    let view = StudyView { open_part: open_part.as_ref(), ..StudyView::of(&stored, &analysis) };
    Ok(Answer::page(html::study_of_dashboard(&view)))
}

fn compare(store: &Store, query: &Query<'_>) -> Result<Answer, StoreError> {
    let (Some(a), Some(b)) = (query.get("a"), query.get("b")) else {
        return Ok(Answer::problem(StatusCode::BAD_REQUEST, "Choose two studies in the list of all."));
    };
    let (a, b) = (store.load(&a)?, store.load(&b)?);
    Ok(Answer::page(viewed(&a, |a| viewed(&b, |b| dashboard::comparison(a, b)))))
}

fn viewed(stored: &StoredStudy, page: impl FnOnce(&StudyView<'_>) -> String) -> String {
    page(&StudyView::of(stored, &analyse(&stored.study, &stored.trials)))
}
