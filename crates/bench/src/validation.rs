//! How near forecasts come to real services: `make bench-forecast-real`.
//!
//! One instance is measured alone, and ten services are forecast from that. Only then are they measured, each several times, with
//! real instances that start and stop (`stampede scale`). A line is kept of each forecast and of each measurement as it ends, and
//! the document is written anew after each, so that they can be made in pieces.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use stampede_stats::t_quantile_above;

use crate::circumstances::Circumstances;
use crate::compare::{APP, Compare, CompareError, began};
use crate::document::Section;
use crate::failure::Failure;
use crate::files;
use crate::flags::{self, UnderTest};
use crate::forecast::{self, Figures};
use crate::jsonl;
use crate::progress::tell;
use crate::steal::AllProcessors;

/// How it is to be done.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Validation {
    /// How often each service is measured
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// The window; a third of it comes before it
    #[arg(long, value_name = "TIME", default_value = "42s", value_parser = flags::seconds)]
    pub(crate) duration: Duration,
    /// Forecasts and measurements so far
    #[arg(long, value_name = "FILE", default_value = "crates/bench/data/forecasts.jsonl")]
    pub(crate) data: PathBuf,
    /// The document
    #[arg(long, value_name = "FILE", default_value = "docs/bench-forecast-real.md")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) under: UnderTest,
}

const RUNTIME: &str = "nginx-fpm";
const INDEX: &str = include_str!("validation/index.php");
const MEMORY: &str = "256Mi";

/// The instances of a run share a processor: the other one is the generator's and the gateway's.
const HOST_CPUS: &str = "1";

/// One instance alone: one request at a time; so many at once as the larger instance is given; a start on little CPU; and with so
/// little to do that it sleeps between two requests.
const ALONE: [(&str, &str); 7] = [
    ("closed:1", "1"),
    ("closed:2", "1"),
    ("closed:8", "1"),
    ("closed:1", "0.2"),
    ("open:poisson:20", "1"),
    ("open:poisson:70", "1"),
    ("open:poisson:200", "1"),
];

/// How long each is measured, three times over: the mean of so many exponential works is known to less than a hundredth, which is a tenth
/// of the response time where nine tenths of the CPU are used.
const ALONE_FOR: &str = "20s";

/// A size of instances; all of one service are allowed one CPU together at the most.
#[derive(Clone, Copy, Debug)]
struct Size {
    name: &'static str,
    cpus: &'static str,
    concurrency: &'static str,
    most: &'static str,
}

const SIZES: [Size; 2] = [
    Size { name: "four of 0.2 CPU, 1 at once", cpus: "0.2", concurrency: "1", most: "4" },
    Size { name: "one of 1 CPU, 8 at once", cpus: "1", concurrency: "8", most: "1" },
];

/// A load by what the instances can do at the most.
#[derive(Clone, Copy, Debug)]
enum Use {
    /// Random arrivals of this share of it.
    Share(f64),
    /// Thirds of 0.2, 0.9 and 0.2 of it.
    Burst,
}

const USES: [(&str, Use); 5] = [
    ("0.3", Use::Share(0.3)),
    ("0.6", Use::Share(0.6)),
    ("0.8", Use::Share(0.8)),
    ("overload", Use::Share(1.3)),
    ("burst", Use::Burst),
];

/// Above this share, throughput and rejections are told and no response times: small errors of the work make large ones of a queue.
const JUDGED_UP_TO: f64 = 0.8;

/// In which 1.3 times of what can be answered fills a queue of 10 s, and some more.
const FULL_QUEUE: Duration = Duration::from_secs(45);
/// No request waits before the platform's own queue.
const CONNECTIONS: u32 = 8192;

/// One of the ten.
#[derive(Clone, Copy, Debug)]
struct Held {
    size: Size,
    name: &'static str,
    load: Use,
}

impl Held {
    fn all() -> impl Iterator<Item = Self> {
        SIZES.into_iter().flat_map(|size| USES.into_iter().map(move |(name, load)| Self { size, name, load }))
    }

    fn id(&self) -> String {
        format!("{}, {}", self.size.name, self.name)
    }

    /// As a command line has it, where the instances can answer so many requests a second.
    fn load(&self, capacity: f64, window: Duration) -> String {
        let rate = |share: f64| format!("{:.1}", capacity * share);
        match self.load {
            Use::Share(share) => format!("open:poisson:{}", rate(share)),
            Use::Burst => {
                let third = (window.as_secs() / 3).max(1);
                let stage = |share| format!("{}/{third}s", rate(share));
                format!("open:poisson:{},{},{}", stage(0.2), stage(0.9), stage(0.2))
            }
        }
    }

    /// What is not counted before the window: an overload is to have filled the queue by then, which is left after 10 s.
    fn warm_up(&self, window: Duration) -> Duration {
        if self.judges_times() { window / 3 } else { FULL_QUEUE }
    }

    fn judges_times(&self) -> bool {
        !matches!(self.load, Use::Share(share) if share > JUDGED_UP_TO)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Line {
    Forecast {
        service: String,
        load: String,
        /// The window in seconds; what is measured later is measured as long.
        window_s: u64,
        figures: Figures,
    },
    Measured {
        service: String,
        round: u32,
        started_at: String,
        outcome: String,
        figures: Option<Figures>,
        /// What other guests of the host took of the processors.
        stolen_share: f64,
        under: Circumstances,
    },
}

/// A measurement during which other guests of the host took more than this share of the processors does not count: of one of two, at
/// 0.8 of what it can answer, they take a tenth of what is left.
const QUIET: f64 = 0.01;

impl Line {
    /// Whether other guests of the host left a measurement alone.
    fn is_quiet(&self) -> bool {
        matches!(self, Self::Measured { stolen_share, .. } if *stolen_share <= QUIET)
    }
}

/// Measures what is missing.
pub(crate) fn run(validation: &Validation) -> Result<(), Failure> {
    let Validation { rounds, duration, data, output, under: UnderTest { stampede, remark } } = validation;
    let stampede = Compare::new(stampede.clone())?;
    let under = Circumstances::now(&stampede.version()?, remark);
    let bench = Bench::new(stampede, *duration)?;
    let mut lines = jsonl::read(data)?;
    for line in &lines {
        match line {
            Line::Forecast { window_s, .. } if *window_s != duration.as_secs() => {
                return Err(Failure::Unusable(format!(
                    "read {}: its forecasts are for {window_s} s; say --duration {window_s}s, or name another --data",
                    data.display()
                )));
            }
            Line::Forecast { .. } | Line::Measured { .. } => {}
        }
    }
    let write = |lines: &[Line]| files::write(output, &document(lines, validation));
    if !lines.iter().any(|line| matches!(line, Line::Forecast { .. })) {
        tell("one instance alone, and ten forecasts");
        let forecasts = bench.forecasts()?;
        jsonl::append(data, &forecasts)?;
        lines.extend(forecasts);
    }
    write(&lines)?;
    for round in 1..=*rounds {
        for held in Held::all() {
            let (id, mut load, mut done) = (held.id(), None, false);
            for line in &lines {
                match line {
                    Line::Forecast { service, load: asked, .. } if *service == id => load = Some(asked.clone()),
                    Line::Measured { service, round: of, .. } => {
                        done |= *service == id && *of == round && line.is_quiet()
                    }
                    Line::Forecast { .. } => {}
                }
            }
            let Some(load) = load.filter(|_| !done) else { continue };
            tell(&format!("round {round} of {rounds}: {id}"));
            let mut tries = 0;
            loop {
                let line = bench.measure(&held, &load, round, &under)?;
                jsonl::append(data, std::slice::from_ref(&line))?;
                let is_quiet = line.is_quiet();
                lines.push(line);
                write(&lines)?;
                tries += 1;
                if is_quiet {
                    break;
                }
                if tries == TRIES {
                    return Err(never_quiet());
                }
                AllProcessors::wait_for_quiet(QUIET);
            }
        }
    }
    Ok(())
}

fn never_quiet() -> Failure {
    Failure::Unusable(format!(
        "other guests of the host took more than {:.0} % of the processors in each of {TRIES} tries; start again when they are \
         quiet, and it goes on here",
        QUIET * 100.0
    ))
}

/// How often something is measured at most until others leave the processors alone.
const TRIES: u32 = 20;

/// The program under test, and how long it measures.
struct Bench {
    stampede: Compare,
    /// The path of the application's plan.
    plan: String,
    window: Duration,
}

/// As a flag takes it.
fn seconds(time: Duration) -> String {
    format!("{}s", time.as_secs().max(1))
}

impl Bench {
    fn new(stampede: Compare, window: Duration) -> Result<Self, CompareError> {
        stampede.put("index.php", INDEX)?;
        let plan = stampede.plan(&format!(
            "app:\n  dir: {APP}\n  kind: front-controller\n  index: index.php\n  extensions: minimal\n  ini: minimal\n  \
             requests: [{{path: /, expect: {{status: 200, body: \"done\\n\"}}}}]\n"
        ))?;
        Ok(Self { stampede, plan, window })
    }

    /// Measures one instance alone, and forecasts all ten from that.
    fn forecasts(&self) -> Result<Vec<Line>, Failure> {
        let mut studies = Vec::new();
        for (load, cpus) in ALONE {
            let mut arguments = vec!["compare", &self.plan, "--runtimes", RUNTIME, "--load", load, "--cpus", cpus];
            arguments.extend(["--memory", MEMORY, "--rounds", "3", "--duration", ALONE_FOR, "--warm-up", "2s"]);
            arguments.extend(["--no-yard-stick", "--quiet"]);
            studies.push(forecast::name(&self.while_quiet(&arguments)?)?);
        }
        let mut lines = Vec::new();
        for size in SIZES {
            let capacity = self.forecast(&studies, size, "closed:64", Duration::from_secs(20))?.throughput;
            for held in Held::all().filter(|held| held.size.name == size.name) {
                let load = held.load(capacity, self.window);
                let figures = self.forecast(&studies, size, &load, held.warm_up(self.window))?;
                lines.push(Line::Forecast { service: held.id(), load, window_s: self.window.as_secs(), figures });
            }
        }
        Ok(lines)
    }

    /// Calls the program until others leave the processors alone meanwhile.
    fn while_quiet(&self, arguments: &[&str]) -> Result<Value, Failure> {
        for _ in 0..TRIES {
            AllProcessors::wait_for_quiet(QUIET);
            let processors = AllProcessors::now();
            let told = self.stampede.call(arguments, Value::is_object)?;
            if processors.share_since() <= QUIET {
                return Ok(told);
            }
        }
        Err(never_quiet())
    }

    fn forecast(&self, studies: &[String], size: Size, load: &str, warm_up: Duration) -> Result<Figures, Failure> {
        let Size { name: _, cpus, concurrency, most } = size;
        let (window, before) = (seconds(self.window), before(load, warm_up));
        let mut flags = vec!["--load", load, "--cpus", cpus, "--memory", MEMORY, "--concurrency", concurrency];
        flags.extend(["--max-instances", most, "--duration", &window, "--warm-up", &before]);
        flags.extend(["--host-cpus", HOST_CPUS, "--rounds", "400"]);
        forecast::forecast(&self.stampede, studies, &flags)
    }

    fn measure(&self, held: &Held, load: &str, round: u32, under: &Circumstances) -> Result<Line, Failure> {
        let Size { name: _, cpus, concurrency, most } = held.size;
        let (window, before) = (seconds(self.window), before(load, held.warm_up(self.window)));
        let seed = round.to_string();
        let processors = AllProcessors::now();
        let load = format!("{load}@{CONNECTIONS}");
        let mut arguments = vec!["scale", RUNTIME, &self.plan, "--load", &load, "--cpus", cpus, "--memory", MEMORY];
        arguments.extend(["--concurrency", concurrency, "--max-instances", most, "--duration", &window]);
        arguments.extend(["--warm-up", &before, "--seed", &seed, "--quiet"]);
        let study = self.stampede.call(&arguments, Value::is_object)?;
        let stolen_share = processors.share_since();
        let trial = &study["cases"][0]["trials"][0];
        Ok(Line::Measured {
            service: held.id(),
            round,
            started_at: began(trial).unwrap_or_default(),
            outcome: trial["outcome"].as_str().unwrap_or("nothing").to_owned(),
            figures: figures(trial),
            stolen_share,
            under: under.clone(),
        })
    }
}

/// The warm-up as a flag takes it: a load with stages is counted from its beginning.
fn before(load: &str, warm_up: Duration) -> String {
    if load.contains('/') { "0s".to_owned() } else { seconds(warm_up) }
}

/// What a trial says; nothing where it has no figures.
fn figures(trial: &Value) -> Option<Figures> {
    let figure = |path: &str| trial.pointer(path).and_then(Value::as_f64);
    Some(Figures {
        throughput: figure("/throughput_rps")?,
        // What a forecast simulates has no gateway.
        p50_ms: figure("/gateway/without_it_ms/p50")?,
        p99_ms: figure("/gateway/without_it_ms/p99")?,
        rejected_share: figure("/rejected")? / figure("/requests/sent")?.max(1.0),
        instances: figure("/instances/mean")?,
    })
}

/// What several measurements of one figure say.
struct Seen {
    mean: f64,
    /// Where another measurement would lie in 95 of 100 cases (Hahn and Meeker 1991, 4.7); nothing with fewer than two.
    next: Option<(f64, f64)>,
}

impl Seen {
    fn of(values: &[f64]) -> Option<Self> {
        let n = values.len();
        let mean = stampede_stats::mean(values)?;
        let next = (n > 1).then(|| {
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
            let t = t_quantile_above(0.025, (n - 1) as f64)?;
            let half = t * (variance * (1.0 + 1.0 / n as f64)).sqrt();
            Some((mean - half, mean + half))
        });
        Some(Self { mean, next: next.flatten() })
    }

    fn holds(&self, value: f64) -> bool {
        self.next.is_some_and(|(low, high)| (low..=high).contains(&value))
    }

    fn within(&self, value: f64, share: f64) -> bool {
        (value - self.mean).abs() <= share * self.mean.abs()
    }
}

/// What a figure is held to.
struct Judged {
    title: &'static str,
    of: fn(&Figures) -> f64,
    digits: usize,
    /// Whether it is of response times.
    is_time: bool,
    right: fn(&Seen, f64) -> bool,
    wanted: &'static str,
}

const JUDGED: [Judged; 5] = [
    Judged {
        title: "answers/s",
        of: |figures| figures.throughput,
        digits: 1,
        is_time: false,
        right: |seen, forecast| seen.within(forecast, 0.05),
        wanted: "throughput within 5 %",
    },
    Judged {
        title: "p50 ms",
        of: |figures| figures.p50_ms,
        digits: 2,
        is_time: true,
        right: |seen, forecast| seen.within(forecast, 0.10),
        wanted: "p50 within 10 %",
    },
    Judged {
        title: "p99 ms",
        of: |figures| figures.p99_ms,
        digits: 1,
        is_time: true,
        right: |seen, forecast| seen.within(forecast, 0.25) || seen.holds(forecast),
        wanted: "p99 within 25 %, or where another measurement may lie",
    },
    Judged {
        title: "instances",
        of: |figures| figures.instances,
        digits: 2,
        is_time: false,
        right: |seen, forecast| (seen.mean - forecast).abs() <= 1.0,
        wanted: "instances within 1",
    },
    Judged {
        title: "rejected %",
        of: |figures| figures.rejected_share * 100.0,
        digits: 1,
        is_time: false,
        right: |seen, forecast| (seen.mean - forecast).abs() <= 5.0 || seen.holds(forecast),
        wanted: "rejections within 5 percentage points, or where another measurement may lie",
    },
];

fn document(lines: &[Line], validation: &Validation) -> String {
    let mut section = Section::new("Forecasts of real services");
    section.paragraph(&format!(
        "`stampede forecast` against `stampede scale`: {RUNTIME} with {MEMORY} an instance, by the rules of Cloud Run. A request works for \
         a time by the CPU clock of its process, exponential with a mean of 2 ms, so that it is the same on a machine whose speed \
         changes. One instance was measured alone, ten services were forecast from that, and only then were they measured with real \
         instances, for {} s after a third of that; an overload after {} s, a burst from its beginning. Loads are shares of what the forecast says that all \
         instances can answer. Measured times are those without the gateway.",
        validation.duration.as_secs(),
        FULL_QUEUE.as_secs(),
    ));
    section.paragraph(&format!(
        "Made by `make bench-forecast-real`, which goes on where it was left. Wanted are {} rounds of each. {}",
        validation.rounds,
        Circumstances::sentences(lines.iter().filter_map(|line| match line {
            Line::Measured { under, .. } => Some(under),
            Line::Forecast { .. } => None,
        })),
    ));
    let wanted: Vec<&str> = JUDGED.iter().map(|judged| judged.wanted).collect();
    section.paragraph(&format!(
        "A cell is forecast / mean of what was measured. `!` is not as wanted: {}. Above {JUDGED_UP_TO} times are in brackets and not \
         judged.",
        wanted.join("; ")
    ));
    let head = ["service", "rounds"].into_iter().chain(JUDGED.iter().map(|judged| judged.title));
    let mut rows = vec![head.map(str::to_owned).collect::<Vec<_>>()];
    let mut tally = [(0, 0); JUDGED.len()];
    for held in Held::all() {
        rows.extend(row(&held, lines, &mut tally));
    }
    section.table(&rows);
    let tally: Vec<String> =
        JUDGED.iter().zip(tally).map(|(judged, (right, of))| format!("{}: {right} of {of}", judged.title)).collect();
    section.paragraph(&format!("As wanted: {}.", tally.join(", ")));
    let measured = lines.iter().filter(|line| matches!(line, Line::Measured { .. }));
    let (quiet, disturbed): (Vec<&Line>, Vec<&Line>) = measured.partition(|line| line.is_quiet());
    section.paragraph(&format!(
        "Measurements while other guests of the host took more than {:.0} % of the processors are made again and left out: {} of {}.",
        QUIET * 100.0,
        disturbed.len(),
        quiet.len() + disturbed.len(),
    ));
    let lost = quiet.iter().filter(|line| matches!(line, Line::Measured { figures: None, .. })).count();
    if lost > 0 {
        section.paragraph(&format!("{lost} measurements have no figures and are left out."));
    }
    format!("# {}\n\n{}\n", section.title, section.text.trim_end())
}

/// A line of the table; nothing where there is no forecast yet.
fn row(held: &Held, lines: &[Line], tally: &mut [(u32, u32)]) -> Option<Vec<String>> {
    let id = held.id();
    let forecast = lines.iter().find_map(|line| match line {
        Line::Forecast { service, figures, .. } if *service == id => Some(*figures),
        _ => None,
    })?;
    let measured: Vec<Figures> = lines
        .iter()
        .filter(|line| line.is_quiet())
        .filter_map(|line| match line {
            Line::Measured { service, figures, .. } if *service == id => *figures,
            _ => None,
        })
        .collect();
    let mut row = vec![id, measured.len().to_string()];
    for (Judged { of, digits, is_time, right, .. }, tally) in JUDGED.iter().zip(tally) {
        let value = of(&forecast);
        let seen = Seen::of(&measured.iter().map(of).collect::<Vec<_>>());
        row.push(match seen {
            None => format!("{value:.digits$} /"),
            Some(seen) => {
                let cell = format!("{value:.digits$} / {:.digits$}", seen.mean);
                if *is_time && !held.judges_times() {
                    format!("({cell})")
                } else {
                    let is_right = right(&seen, value);
                    tally.0 += u32::from(is_right);
                    tally.1 += 1;
                    if is_right { cell } else { format!("{cell} !") }
                }
            }
        });
    }
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;

    const FIGURES: Figures =
        Figures { throughput: 100.0, p50_ms: 10.0, p99_ms: 40.0, rejected_share: 0.0, instances: 2.0 };

    fn lines(measured: &[Figures]) -> Vec<Line> {
        let id = |number: usize| Held::all().nth(number).unwrap().id();
        let forecast = |number| Line::Forecast {
            service: id(number),
            load: "open:poisson:1".to_owned(),
            window_s: 30,
            figures: FIGURES,
        };
        let of = |number, (round, figures): (u32, &Figures)| Line::Measured {
            service: id(number),
            round,
            started_at: String::new(),
            outcome: "measured".to_owned(),
            figures: Some(*figures),
            stolen_share: 0.0,
            under: Circumstances::default(),
        };
        // The first is at 0.3 and the fourth in overload.
        let measured = [0, 3].into_iter().flat_map(|number| (1..).zip(measured).map(move |each| of(number, each)));
        [forecast(0), forecast(3)].into_iter().chain(measured).collect()
    }

    #[test]
    fn ten_services_are_held_to_what_was_promised() {
        assert_eq!(Held::all().map(|held| held.id()).collect::<std::collections::BTreeSet<_>>().len(), 10);
        let near = Figures { throughput: 96.0, p50_ms: 10.9, p99_ms: 45.0, instances: 2.9, ..FIGURES };
        let far = Figures { throughput: 80.0, p50_ms: 20.0, p99_ms: 200.0, rejected_share: 0.3, instances: 4.0 };
        let again = Figures { p99_ms: 45.5, ..near };
        for (name, measured, told) in [
            (
                "near",
                [near, again],
                "answers/s: 2 of 2, p50 ms: 1 of 1, p99 ms: 1 of 1, instances: 2 of 2, rejected %: 2 of 2",
            ),
            (
                "far",
                [far, far],
                "answers/s: 0 of 2, p50 ms: 0 of 1, p99 ms: 0 of 1, instances: 0 of 2, rejected %: 0 of 2",
            ),
        ] {
            let text = document(&lines(&measured), &args::defaults());
            assert!(text.replace('\n', " ").contains(told), "{name}: {text}");
            // What is in overload has times that are told and not judged.
            assert!(text.contains("(10.00 / "), "{name}: {text}");
        }
        // What other guests disturbed changes nothing but their number.
        let mut disturbed = lines(&[near, again]);
        disturbed.extend(lines(&[far]).into_iter().filter_map(|line| match line {
            Line::Measured { service, round, started_at, outcome, figures, under, .. } => {
                Some(Line::Measured { service, round, started_at, outcome, figures, stolen_share: 0.02, under })
            }
            Line::Forecast { .. } => None,
        }));
        let of_all = document(&disturbed, &args::defaults());
        assert_eq!(of_all.replace("2 of 6.", "0 of 4."), document(&lines(&[near, again]), &args::defaults()));
        let nothing = document(&lines(&[]), &args::defaults());
        let first = Held::all().next().unwrap().id();
        let row = nothing.lines().find(|line| line.starts_with(&first)).unwrap_or_default();
        assert!(row.split_whitespace().any(|cell| cell == "0") && row.contains("100.0 /"), "{nothing}");
    }

    #[test]
    fn where_another_measurement_may_lie() {
        // R: x <- c(10, 12, 11, 13, 9); predict(lm(x ~ 1), interval = "prediction")[1, ] is 11 6.19105601 15.80894399.
        let seen = Seen::of(&[10.0, 12.0, 11.0, 13.0, 9.0]).unwrap();
        let (low, high) = seen.next.unwrap();
        assert!((low - 6.191_056).abs() < 1e-6 && (high - 15.808_944).abs() < 1e-6, "{low} {high}");
        assert!(seen.holds(11.0) && !seen.holds(30.0) && seen.within(12.0, 0.10));
        assert!(Seen::of(&[1.0]).unwrap().next.is_none() && Seen::of(&[]).is_none());
    }
}
