//! Studies that are measured one after another, each chosen by what the ones before it gave, under one name.

use std::path::{Path, PathBuf};

use stampede_core::{CpuLayout, Failures, LeftOut, StudyId, StudyKind};
use stampede_harness::{Copies, Stop};
use stampede_plan::{ComparePlan, PlannedService};
use stampede_store::{Store, StoreError, StoredStudy};

use crate::exit::Failure;
use crate::host::Bench;
use crate::record::StudyRecord;
use crate::scale;
use crate::site::{Purpose, Site};
use crate::study::{self, Deciding, Ready, StudyRequest};

/// Studies under one name, in one store.
pub(crate) struct Sequence<'a> {
    pub(crate) bench: Bench<'a>,
    /// The name.
    pub(crate) id: String,
    /// The key of the metric that decides.
    pub(crate) metric: String,
    /// What answers under load that are not right mean.
    pub(crate) failures: Failures,
    pub(crate) store: PathBuf,
    pub(crate) copies: Copies,
    /// Whether what each study would tell of the application and its runtimes was told.
    pub(crate) is_told: bool,
}

impl<'a> Sequence<'a> {
    /// The studies of a sequence that was begun are called its name, a dot and this.
    pub(crate) fn name(&self, part: &str) -> String {
        format!("{}.{part}", self.id)
    }

    /// A study of this sequence that was begun before it was interrupted.
    pub(crate) fn earlier(&self, part: &str) -> Result<Option<StoredStudy>, Failure> {
        recorded(&Store::open(&self.store).map_err(Failure::missing)?, &self.name(part))
    }

    /// The name and the seed of the sequence that was begun under this name, or of the newest; or of a new one. Its first study is
    /// called so.
    pub(crate) fn begin(
        path: &Path,
        resume: Option<&Option<String>>,
        (kind, first): (StudyKind, &str),
        seed: Option<u64>,
        bench: Bench<'_>,
    ) -> Result<(String, u64), Failure> {
        let Some(name) = resume else {
            return Ok((study::name(bench.host.now()).to_string(), seed.unwrap_or_else(study::seed)));
        };
        let store = Store::open(path).map_err(Failure::missing)?;
        let rows = store.studies().map_err(Failure::missing)?;
        let ours = rows.iter().filter(|row| row.kind == kind && row.imported_at.is_none());
        let begun = ours.filter_map(|row| row.id.as_str().strip_suffix(&format!(".{first}")).map(str::to_owned));
        let begun = meant(name.as_deref(), begun.collect())?;
        let StoredStudy { study, .. } = store.load(&format!("{begun}.{first}")).map_err(Failure::missing)?;
        Ok((begun, study.seed))
    }

    /// Where they are measured; others who wait for the machine read the command.
    pub(crate) async fn site<'s>(
        &self,
        command: &str,
        plan: &ComparePlan,
        pinning: CpuLayout,
        stop: &'s Stop,
    ) -> Result<Site<'s>, Failure>
    where
        'a: 's,
    {
        Site::take(self.bench, Purpose { command, measures: true }, plan, &[], None, pinning, stop).await
    }

    /// The plan with its answers and without the candidates that cannot run here, and those that were asked for: what is found of
    /// the application is told now and not of each study again.
    ///
    /// # Errors
    ///
    /// When none can run, or the application cannot be compared.
    pub(crate) async fn prepare(
        &mut self,
        site: &Site<'_>,
        plan: &ComparePlan,
    ) -> Result<(ComparePlan, Vec<LeftOut>), Failure> {
        let request = StudyRequest::of(plan, StudyKind::OwnRates);
        let Ready { prepared, left_out, workload, .. } = Ready::of(&request, site, &mut self.copies).await?;
        self.is_told = true;
        let mut candidates = plan.candidates.clone();
        candidates.retain(|candidate| prepared.iter().any(|prepared| prepared.case.id == candidate.id));
        let plan = plan.clone().with_answers(workload);
        Ok((ComparePlan { candidates, unable: Vec::new(), ..plan }, left_out))
    }

    /// A study of these plans: measured now, resumed, or as it was measured before the sequence was interrupted. None where it
    /// was asked to end before it was complete.
    pub(crate) async fn study(
        &mut self,
        site: &Site<'_>,
        id: String,
        kind: StudyKind,
        plans: &[ComparePlan],
    ) -> Result<Option<StoredStudy>, Failure> {
        let [first, beside @ ..] = plans else { return Err(Failure::usage("nothing is to be measured")) };
        let mut copies = std::mem::take(&mut self.copies);
        let request = StudyRequest {
            beside,
            id: Some(StudyId::new(id.as_str())),
            deciding: Deciding::Metric(Some(self.metric.clone())),
            slo: first.slo.clone(),
            failures: self.failures,
            is_told: self.is_told,
            ..StudyRequest::of(first, kind)
        };
        let part =
            self.part(site, &id, async |record| Box::pin(study::conduct(&request, site, &mut copies, record)).await);
        let part = part.await;
        self.copies = copies;
        part
    }

    /// The same of autoscaled services.
    pub(crate) async fn services(
        &mut self,
        site: &Site<'_>,
        id: String,
        services: &[PlannedService],
    ) -> Result<Option<StoredStudy>, Failure> {
        let mut copies = std::mem::take(&mut self.copies);
        let part = self.part(site, &id, async |record| {
            let id = Some(StudyId::new(id.as_str()));
            Box::pin(scale::measure(site, services, id, &mut copies, record)).await
        });
        let part = part.await;
        self.copies = copies;
        part
    }

    /// A study of this name, by what measures it.
    async fn part(
        &self,
        site: &Site<'_>,
        id: &str,
        measure: impl AsyncFnOnce(&mut StudyRecord) -> Result<(), Failure>,
    ) -> Result<Option<StoredStudy>, Failure> {
        if site.stop.obey() {
            return Ok(None);
        }
        let store = Store::open(&self.store).map_err(Failure::missing)?;
        let earlier = recorded(&store, id)?;
        let mut record = StudyRecord::new(store);
        if let Some(earlier) = &earlier {
            record.go_on_with(earlier.clone());
        }
        measure(&mut record).await?;
        if let Some(finished) = earlier.filter(|earlier| earlier.finished_at.is_some()) {
            return Ok(Some(finished));
        }
        if site.stop.is_obeyed() {
            return Ok(None);
        }
        let study = record.study().cloned().ok_or_else(|| Failure::missing("the study was not begun"))?;
        let finished_at = site.now();
        record.store().finish_study(&study.id, finished_at).map_err(Failure::missing)?;
        let (trials, yard_stick) = (record.trials().to_vec(), record.yard_stick().to_vec());
        Ok(Some(StoredStudy { study, finished_at: Some(finished_at), trials, yard_stick }))
    }

    pub(crate) fn note(&self, text: &str) {
        self.bench.paragraph(text, 2);
    }
}

/// The study of this whole name, if there is one.
fn recorded(store: &Store, id: &str) -> Result<Option<StoredStudy>, Failure> {
    match store.load(id) {
        Ok(earlier) => Ok(Some(earlier)),
        Err(StoreError::Unknown { .. }) => Ok(None),
        Err(error) => Err(Failure::missing(error)),
    }
}

/// Which of the sequences that were begun (newest first) is meant: of this name, or of the beginning of its name that no other
/// shares; without one, the newest.
fn meant(name: Option<&str>, begun: Vec<String>) -> Result<String, Failure> {
    let none = || Failure::usage("--resume finds no interrupted search; leave it out to start one");
    let Some(name) = name else { return begun.into_iter().next().ok_or_else(none) };
    if begun.iter().any(|begun| begun == name) {
        return Ok(name.to_owned());
    }
    let mut like: Vec<String> = begun.into_iter().filter(|begun| !name.is_empty() && begun.starts_with(name)).collect();
    match like.len() {
        0 | 1 => like.pop().ok_or_else(none),
        _ => {
            let meant = like.into_iter().map(StudyId::new).collect();
            Err(Failure::usage(StoreError::Ambiguous { name: name.to_owned(), meant }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_resumed_by_its_name_by_its_beginning_or_as_the_newest() {
        let begun = || ["0713-b", "0712-ab", "0712-a", "0711-c"].map(str::to_owned).to_vec();
        for (name, found) in [
            (None, Ok("0713-b")),
            (Some("0712-a"), Ok("0712-a")),
            (Some("0711"), Ok("0711-c")),
            (Some("0712"), Err("find study 0712: it is the beginning of 0712-ab, 0712-a; give more of the name")),
            (Some("0714"), Err("--resume finds no interrupted search; leave it out to start one")),
            (Some(""), Err("--resume finds no interrupted search; leave it out to start one")),
        ] {
            let meant = meant(name, begun()).map_err(|failure| failure.message);
            assert_eq!(meant.as_deref().map_err(String::as_str), found, "{name:?}");
        }
        assert!(meant(None, Vec::new()).is_err());
    }
}
