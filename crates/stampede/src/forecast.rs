//! `stampede forecast`: a service at any size, simulated from what was measured.

pub(crate) mod args;
pub(crate) mod question;

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::thread;

use stampede_forecast::{Calibration, CalibrationError, Record, forecast};
use stampede_report::forecast::{self as page, ForecastPoint, ForecastView};
use stampede_report::html;
use stampede_store::Store;

use crate::destination::Outputs;
use crate::exit::{Exit, Failure};
use crate::forecast::args::ForecastArgs;
use crate::forecast::question::{Point, Question};
use crate::{Outcome, folders, screen};

pub(crate) fn run(args: &ForecastArgs) -> Outcome {
    let ForecastArgs { json, markdown, html, .. } = args.clone();
    let outputs = Outputs::new([("--json", json), ("--markdown", markdown), ("--html", html)])?;
    let store = Store::open_existing(&folders::store(&args.store)?).map_err(Failure::missing)?;
    let names = std::iter::once(&args.study).chain(&args.also);
    let stored =
        names.map(|name| store.load(name)).collect::<Result<Vec<_>, _>>().map_err(Failure::unknown_or_missing)?;
    let records: Vec<_> = stored.iter().map(|stored| Record { study: &stored.study, trials: &stored.trials }).collect();
    let calibration = Calibration::of(&records, args.case.as_deref()).map_err(|error| match error {
        CalibrationError::Missing { .. } => Failure::missing(error),
        _ => Failure::usage(error),
    })?;
    let study = &stored[0].study;
    let case = study.cases.iter().find(|case| case.id == calibration.case);
    let case =
        case.ok_or_else(|| Failure::missing(format!("study {} has lost its case {}", study.id, calibration.case)))?;
    let mut question = Question::read(args, &calibration, case)
        .map_err(|problems| Failure { exit: Exit::Usage, message: problems.join("\n") })?;
    question.warnings.iter().for_each(|warning| screen::warning(warning));
    let points = std::mem::take(&mut question.points);
    let points = simulate(points, &calibration, &question);
    let view = ForecastView {
        study: study.id.as_str(),
        calibration: &calibration,
        load: &question.load,
        policy: &question.policy,
        policy_name: question.policy_name,
        rounds: question.rounds,
        seed: question.seed,
        price: question.price,
        points: &points,
    };
    outputs.put([&|| page::json(&view), &|| page::markdown(&view), &|| html::forecast(&view)], &|width, colour| {
        page::terminal(&view, width, colour)
    })?;
    Ok(Exit::Done)
}

/// Simulates all points, as many at a time as there are processors. What comes out does not depend on their number.
fn simulate(points: Vec<Point>, calibration: &Calibration, question: &Question) -> Vec<ForecastPoint> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(points.len());
    let todo = Mutex::new(points.into_iter().enumerate());
    let next = || todo.lock().ok().and_then(|mut points| points.next());
    let work = || {
        let mut done = Vec::new();
        while let Some((number, point)) = next() {
            let forecast =
                forecast(&point.scenario, &calibration.shape, question.price, question.rounds, question.seed);
            let Point { scenario, concurrency, workers, extrapolated } = point;
            done.push((number, ForecastPoint { scenario, concurrency, workers, extrapolated, forecast }));
        }
        done
    };
    let mut done: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, answered)| answered).collect()
}
