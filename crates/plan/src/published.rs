//! The plan of a published experiment: each row of its tables is a comparison of one case, under the table's load.
//!
//! What an experiment is stands in a file of its own that is part of the program. A row that this machine, or this version,
//! cannot serve keeps its place with the mistakes that its flags would have had.

mod builds;
mod case;
mod file;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use stampede_core::{CaseId, ClaimTest, Load, Publication, PublishedTable, short_time};
use stampede_scale::{CloudRunParameters, Policy, Scaling, ServiceSettings};

use self::builds::Builds;
use self::case::{CaseKeys, ScaledRow};
use self::file::{PublishedFile, RowEntry, TableEntry};
use crate::catalogue::Catalogue;
use crate::compare::{CompareFlags, ComparePlan};
use crate::document::Text;
use crate::flags::{
    ClientRttFlag, DurationFlag, ExchangesFlag, FeederFlag, ReadyTimeoutFlag, RoundsFlag, SeedFlag, SubjectFlag,
    WarmUpFlag,
};
use crate::machine_size::MachineSize;
use crate::mistake::{Gathered, Mistake, Mistakes};
use crate::quantity::read_seed;
use crate::rounds::MOST_ROUNDS;
use crate::scale::{PlannedService, ServiceAsked, read_service};
use crate::service::by_request;
use crate::subject::BUILT_IN;
use crate::suggestion::suggest;
use crate::topology::read_rtt;

/// How long a row may take to its first answer: a framework that warms its cache up on a sixth of a CPU takes a while.
const PATIENCE: &str = "2m";

/// The flags of `stampede reproduce` that say what is measured, unread.
#[derive(Args, Clone, Debug, Default)]
#[expect(missing_docs, reason = "each group says what it is")]
pub struct ReproduceFlags {
    /// Multiply published durations by this; rates are unchanged [default: the experiment's own]
    #[arg(long, value_name = "FACTOR", allow_hyphen_values = true, help_heading = "How much")]
    pub scale: Option<String>,
    /// Multiply the published rates of open loads by this; the report states it [default: 1]
    #[arg(long, value_name = "FACTOR", allow_hyphen_values = true, help_heading = "How much")]
    pub rate_scale: Option<String>,
    /// Measure as long, and with the same rates, as published
    #[arg(long, help_heading = "How much")]
    pub full: bool,
    /// Only these tables of the experiment [default: all]
    #[arg(long, value_name = "A,B", help_heading = "How much")]
    pub tables: Option<String>,
    #[command(flatten)]
    pub rounds: RoundsFlag,
    #[command(flatten)]
    pub seed: SeedFlag,
    #[command(flatten)]
    pub client_rtt: ClientRttFlag,
    /// A folder whose workloads take the place of built-in ones of the same name, for example with a vendor folder that
    /// holds the packages of RoadRunner, webman or the functions framework
    #[arg(long, value_name = "DIR", help_heading = "Study")]
    pub workloads: Option<PathBuf>,
    /// Path of a PHP build that rows of the experiment ask for: zts=/opt/zts/bin/php (may be repeated)
    #[arg(long = "build", value_name = "NAME=PHP", help_heading = "Study")]
    pub builds: Vec<String>,
    #[command(flatten)]
    pub feeders: FeederFlag,
}

/// A published experiment as it will be repeated.
#[derive(Clone, Debug)]
pub struct ReproducePlan {
    /// What was published.
    pub publication: Publication,
    /// The published times are multiplied with this.
    pub scale: f64,
    /// The published rates are multiplied with this.
    pub rate_scale: f64,
    /// How the tables that are measured are measured: all, or those that were asked for.
    pub tables: Vec<PlannedTable>,
    /// How many blocks each table's study has.
    pub rounds: u32,
    /// Seed of the order; `None` lets the caller choose one.
    pub seed: Option<u64>,
}

/// A table that is measured as a study.
#[derive(Clone, Debug)]
pub struct PlannedTable {
    /// What was published.
    pub table: PublishedTable,
    /// Its rows, in the same order.
    pub rows: Vec<PlannedRow>,
}

/// A row that is measured as a case.
#[derive(Clone, Debug)]
pub struct PlannedRow {
    /// Its case.
    pub case: CaseId,
    /// Its plan, with one candidate of that name; or why it cannot be measured on this machine.
    pub plan: Result<ComparePlan, Mistakes>,
    /// How its instances are started and stopped, where that is done as requests come.
    pub scaling: Option<Scaling>,
}

/// A published experiment that the program knows.
#[derive(Clone, Debug)]
pub struct KnownPublication {
    /// Its name.
    pub name: String,
    /// Where its file is, as mistakes in it are told.
    pub place: String,
    /// Its file.
    pub text: String,
}

impl KnownPublication {
    /// What it is about, in a line.
    ///
    /// # Errors
    ///
    /// All mistakes in its file.
    pub fn title(&self) -> Result<String, Mistakes> {
        PublishedFile::read(self).map(|(_, publication)| publication.title)
    }
}

impl ReproducePlan {
    /// Reads the flags and the experiment that they name.
    ///
    /// # Errors
    ///
    /// All mistakes of the command line, or those of the experiment's file.
    pub fn read(
        name: &str,
        flags: &ReproduceFlags,
        known: &[KnownPublication],
        machine: MachineSize,
        catalogue: &dyn Catalogue,
    ) -> Result<Self, Mistakes> {
        let ReproduceFlags { scale, rate_scale, full, tables, rounds, seed, client_rtt, workloads, builds, feeders } =
            flags;
        let ClientRttFlag { client_rtt } = client_rtt;
        let mut mistakes = Gathered::default();
        let file = named(name, known).and_then(PublishedFile::read);
        let defaults = file.as_ref().ok().map(|(file, _)| (file.scale, file.rounds));
        let (default_scale, default_rounds) = defaults.unwrap_or((1.0, 5));
        if *full {
            for (flag, typed) in [("--scale", scale), ("--rate-scale", rate_scale)] {
                if let Some(typed) = typed {
                    mistakes.add(format!("{flag} {typed}"), "leaves --full nothing to say", "use one of the two");
                }
            }
        }
        let scale = read_factor("--scale", scale.as_deref(), if *full { 1.0 } else { default_scale }, &mut mistakes);
        let rate_scale = read_factor("--rate-scale", rate_scale.as_deref(), 1.0, &mut mistakes);
        let seed = read_seed(seed.seed.as_deref(), &mut mistakes);
        let rounds = read_number_of_rounds(rounds.rounds.as_deref(), default_rounds, &mut mistakes);
        // Each row reads it again, with its other flags; a mistake in it is one of the command line, not of a row.
        read_rtt(client_rtt.as_deref(), &mut mistakes);
        if let Some(folder) = workloads.as_ref().filter(|folder| !folder.is_dir()) {
            mistakes.add(format!("--workloads {}", folder.display()), "is no folder", "name one with workloads");
        }
        let (asked, builds) = match &file {
            Ok((file, publication)) => (
                read_tables(tables.as_deref(), publication, &mut mistakes),
                Builds::read(builds, &file.builds, &mut mistakes),
            ),
            Err(_) => Default::default(),
        };
        let (file, mut publication) = mistakes.finish(file)?;
        if (scale, rate_scale) != (1.0, 1.0) {
            for (claim, _) in publication.claims.iter_mut().zip(&file.claims).filter(|(_, entry)| entry.full) {
                claim.test = ClaimTest::Untested { because: "its number is that of the whole load: --full".to_owned() };
            }
        }
        let client_rtt = client_rtt.as_deref();
        let reader = Reader { scale, rate_scale, client_rtt, workloads, builds, feeders, machine, catalogue };
        let tables = file.tables.iter().zip(&publication.tables).filter(|(_, table)| asked.contains(&table.id));
        let tables: Vec<PlannedTable> = tables.map(|(entry, table)| reader.table(entry, table)).collect();
        let shared = mistakes_of_feeders(&tables);
        if !shared.is_empty() {
            return Err(Mistakes(shared));
        }
        Ok(Self { publication, scale, rate_scale, tables, rounds, seed })
    }
}

/// The deployment of one row of an experiment, with the load that was published for it.
///
/// # Errors
///
/// That the experiment or the row is not known, is a service of instances that come and go, or cannot be measured here, and why.
pub fn read_row(
    experiment: &str,
    row: &str,
    known: &[KnownPublication],
    machine: MachineSize,
    catalogue: &dyn Catalogue,
) -> Result<ComparePlan, Mistakes> {
    let flags = ReproduceFlags { full: true, ..ReproduceFlags::default() };
    let plan = ReproducePlan::read(experiment, &flags, known, machine, catalogue)?;
    let rows: Vec<PlannedRow> = plan.tables.into_iter().flat_map(|table| table.rows).collect();
    let names: Vec<String> = rows.iter().map(|row| row.case.to_string()).collect();
    let place = format!("row {row}");
    match rows.into_iter().find(|planned| planned.case.as_str() == row) {
        Some(PlannedRow { scaling: Some(_), .. }) => Err(Mistakes::one(
            place,
            "is a service whose instances come and go",
            "name a row with a fixed number of them",
        )),
        Some(PlannedRow { plan, scaling: None, .. }) => plan,
        None => {
            let fix = suggest(row, names.iter().map(String::as_str));
            Err(Mistakes::one(place, format!("is not in {experiment}"), fix))
        }
    }
}

fn named<'a>(name: &str, known: &'a [KnownPublication]) -> Result<&'a KnownPublication, Mistakes> {
    if let Some(known) = known.iter().find(|known| known.name == name) {
        return Ok(known);
    }
    let names: Vec<&str> = known.iter().map(|known| known.name.as_str()).collect();
    Err(Mistakes::one(format!("experiment {name}"), "is not known", suggest(name, names)))
}

/// `--rounds`: a number, so that the time that all takes is known beforehand.
fn read_number_of_rounds(typed: Option<&str>, default: u32, mistakes: &mut Gathered) -> u32 {
    let read = |typed: &str| typed.parse().ok().filter(|rounds| (1..=MOST_ROUNDS).contains(rounds));
    let problem = format!("is not a number of rounds from 1 to {MOST_ROUNDS}");
    let fix = "for example --rounds 5 (fewer than 3 give no verdict)";
    mistakes.value(("--rounds", typed), default, read, problem, fix)
}

/// A factor above 0, at most 10: longer than published is seldom meant.
fn read_factor(flag: &str, typed: Option<&str>, default: f64, mistakes: &mut Gathered) -> f64 {
    let read = |typed: &str| typed.parse::<f64>().ok().filter(|factor| *factor > 0.0 && *factor <= 10.0);
    let fix = format!("for example {flag} 0.1");
    mistakes.value((flag, typed), default, read, "is not a factor above 0 and up to 10", fix)
}

/// `--tables a,b`: which tables are measured.
fn read_tables(typed: Option<&str>, publication: &Publication, mistakes: &mut Gathered) -> Vec<String> {
    let known: Vec<&str> = publication.tables.iter().map(|table| table.id.as_str()).collect();
    let Some(typed) = typed else { return known.into_iter().map(str::to_owned).collect() };
    let asked: Vec<String> = typed.split(',').map(|name| name.trim().to_owned()).collect();
    for name in asked.iter().filter(|name| !known.contains(&name.as_str())) {
        let fix = suggest(name, known.iter().copied());
        mistakes.add(format!("--tables {name}"), format!("is no table of {}", publication.name), fix);
    }
    asked
}

/// Mistakes of feeders that every row has: they are those of the command line.
fn mistakes_of_feeders(tables: &[PlannedTable]) -> Vec<Mistake> {
    let rows = tables.iter().flat_map(|table| &table.rows);
    let rows: Vec<&[Mistake]> = rows.map(|row| row.plan.as_ref().err().map_or(&[][..], |Mistakes(all)| all)).collect();
    let of_all =
        |mistake: &&Mistake| mistake.place.starts_with("--feeder") && rows.iter().all(|row| row.contains(mistake));
    rows.first().map_or(&[][..], |first| first).iter().filter(of_all).cloned().collect()
}

/// What all rows have in common.
struct Reader<'a> {
    scale: f64,
    rate_scale: f64,
    client_rtt: Option<&'a str>,
    workloads: &'a Option<PathBuf>,
    builds: Builds,
    feeders: &'a FeederFlag,
    machine: MachineSize,
    catalogue: &'a dyn Catalogue,
}

impl Reader<'_> {
    fn table(&self, entry: &TableEntry, table: &PublishedTable) -> PlannedTable {
        let rows = entry.rows.iter().zip(&table.rows).map(|(row, published)| {
            let keys = row.case.clone().over(&entry.case);
            let (plan, scaling) = match self.row(entry, row, keys, &published.case) {
                Ok((plan, scaling)) => (Ok(plan), scaling),
                Err(mistakes) => (Err(mistakes), None),
            };
            PlannedRow { case: published.case.clone(), plan, scaling }
        });
        PlannedTable { rows: rows.collect(), table: table.clone() }
    }

    /// The plan of a row, and how its instances come and go, where they do.
    fn row(
        &self,
        entry: &TableEntry,
        row: &RowEntry,
        keys: CaseKeys,
        case: &CaseId,
    ) -> Result<(ComparePlan, Option<Scaling>), Mistakes> {
        let keys = keys.at(&self.builds)?;
        let (env, ini, extensions, scaled) = (keys.env(), keys.ini(), keys.extensions().to_vec(), keys.scaled());
        let mut flags = CompareFlags {
            subject: SubjectFlag { subject: Some(self.workload(&entry.workload.0)), ..SubjectFlag::default() },
            duration: DurationFlag {
                duration: entry.duration.as_ref().map(|typed| self.duration(&typed.0)).transpose()?,
            },
            warm_up: WarmUpFlag { warm_up: Some(entry.warm_up.0.clone()) },
            exchanges: ExchangesFlag {
                exchanges: row.exchanges.as_ref().or(entry.exchanges.as_ref()).map(|Text(names)| names.clone()),
                cookies: false,
            },
            feeders: self.feeders.clone(),
            ready_timeout: ReadyTimeoutFlag { ready_timeout: Some(PATIENCE.to_owned()) },
            ..keys.flags()
        };
        let load = &mut flags.load.load;
        *load = load.take().map(|load| self.load(&load)).transpose()?;
        let given = (flags.duration.duration.is_some(), load.is_some());
        if let Some(rtt) = self.client_rtt {
            flags.topology.client_rtt.client_rtt.get_or_insert_with(|| rtt.to_owned());
        }
        let (mut plan, scaling) = match scaled {
            None => (ComparePlan::read(&flags, self.machine, self.catalogue)?, None),
            Some(ScaledRow { concurrency, instances }) => {
                let runtime = flags.runtimes.runtimes.take().unwrap_or_default();
                let (policy, price) = (Policy::CloudRun(CloudRunParameters::default()), by_request());
                let request_timeout = ServiceSettings::REQUEST_TIMEOUT;
                let asked = ServiceAsked { concurrency, instances, policy, queue_wait: None, request_timeout, price };
                let PlannedService { plan, scaling } =
                    read_service(&runtime, flags, asked, self.machine, self.catalogue)?;
                (plan, Some(scaling))
            }
        };
        let [candidate] = plan.candidates.as_mut_slice() else {
            return Err(Mistakes::one(
                format!("row {case}"),
                "is not one case",
                "give it one app and one build of PHP",
            ));
        };
        candidate.id = case.clone();
        candidate.app.env.extend(env);
        candidate.app.ini.extend(ini);
        let is_new = |extension: &String| !candidate.app.extensions.contains(extension);
        let extensions: Vec<String> = extensions.into_iter().filter(is_new).collect();
        candidate.app.extensions.extend(extensions);
        self.scale_scenario(&mut plan, given)?;
        Ok((plan, scaling))
    }

    /// Scales the loads that a workload's scenario brings along, and their length; what the row gave in their place is scaled
    /// already.
    fn scale_scenario(&self, plan: &mut ComparePlan, given: (bool, bool)) -> Result<(), Mistakes> {
        let Some(scenario) = &mut plan.scenario else { return Ok(()) };
        // Without a duration, a load that was given says it as well.
        let (duration_is_given, load_is_given) = given;
        if load_is_given {
            return Ok(());
        }
        if !duration_is_given {
            plan.duration = plan.duration.mul_f64(self.scale);
        }
        for crowd in &mut Arc::make_mut(scenario).crowds {
            crowd.load = self.scaled(&crowd.load)?;
        }
        plan.load = self.scaled(&plan.load)?;
        plan.beside = plan.beside.iter().map(|load| self.scaled(load)).collect::<Result<_, _>>()?;
        Ok(())
    }

    fn workload(&self, name: &str) -> String {
        let beside = self.workloads.as_ref().map(|folder| folder.join(name)).filter(|folder| folder.is_dir());
        beside.map_or_else(|| format!("{BUILT_IN}{name}"), |folder| folder.display().to_string())
    }

    fn load(&self, text: &str) -> Result<String, Mistakes> {
        let load = text.parse().map_err(|problem| Mistakes::one(format!("load {text}"), problem, "correct it"))?;
        Ok(self.scaled(&load)?.to_string())
    }

    fn scaled(&self, load: &Load) -> Result<Load, Mistakes> {
        load.scaled(self.scale, self.rate_scale)
            .map_err(|problem| Mistakes::one(format!("load {load}"), problem, "use a greater --scale or --rate-scale"))
    }

    /// A window of less than a second would hold a few quota periods.
    fn duration(&self, text: &str) -> Result<String, Mistakes> {
        let told = |problem| Mistakes::one(format!("duration {text}"), problem, "correct it");
        let published = humantime::parse_duration(text).map_err(told)?;
        let millis = (published.as_secs_f64() * self.scale * 1e3).round() as u64;
        Ok(short_time(Duration::from_millis(millis.max(1_000))))
    }
}

#[cfg(test)]
mod tests;
