//! `stampede forecast`: a service at any size, simulated from what was measured.

pub(crate) mod args;

use stampede_forecast::{Calibration, CalibrationError, MeasuredStudy};
use stampede_plan::read_forecast;
use stampede_report::forecast::{self as page, ForecastView};
use stampede_report::html;
use stampede_store::Store;

use crate::destination::Outputs;
use crate::exit::{Exit, Failure};
use crate::forecast::args::ForecastArgs;
use crate::{Outcome, screen};
use stampede_catalogue::BuiltIn;

pub(crate) fn run(args: ForecastArgs) -> Outcome {
    let ForecastArgs { study, flags, json, markdown, html, store } = args;
    let outputs = Outputs::new([("--json", json), ("--markdown", markdown), ("--html", html)])?;
    let store = Store::open_existing(&store.file()?).map_err(Failure::missing)?;
    let names = std::iter::once(&study).chain(&flags.also);
    let stored =
        names.map(|name| store.load(name)).collect::<Result<Vec<_>, _>>().map_err(Failure::unknown_or_missing)?;
    let records: Vec<_> =
        stored.iter().map(|stored| MeasuredStudy { study: &stored.study, trials: &stored.trials }).collect();
    let calibration = Calibration::of(&records, flags.case.as_deref()).map_err(|error| match error {
        CalibrationError::Missing { .. } => Failure::missing(error),
        _ => Failure::usage(error),
    })?;
    let study = &stored[0].study;
    let case = study.cases.iter().find(|case| case.id == calibration.case);
    let case =
        case.ok_or_else(|| Failure::missing(format!("study {} has lost its case {}", study.id, calibration.case)))?;
    let (question, warnings) = read_forecast(&flags, &calibration, case, &BuiltIn).map_err(Failure::usage)?;
    warnings.iter().for_each(|warning| screen::warning(warning));
    let points = question.answer(&calibration);
    let view =
        ForecastView { study: study.id.as_str(), calibration: &calibration, question: &question, points: &points };
    let render = |flag: &str| match flag {
        "--json" => page::json(&view),
        "--markdown" => page::markdown(&view),
        _ => html::forecast(&view),
    };
    outputs.put(&render, &|width, colour| page::terminal(&view, width, colour))?;
    Ok(Exit::Done)
}
