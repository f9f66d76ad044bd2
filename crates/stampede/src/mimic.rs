//! `stampede hey`, `stampede ab`, `stampede wrk`: those tools' own options and layouts, on our load engine.
//!
//! Each tool is one file that reads its command line into an [`Errand`] and writes its layout from a result. Nothing
//! here measures.

mod ab;
mod errand;
mod figures;
mod flags;
mod getopt;
mod go_flags;
mod hey;
mod note;
#[cfg(test)]
pub(crate) mod sample;
mod wrk;

use stampede_core::Bytes;
use stampede_load::LoadResult;
use stampede_plan::MachineSize;

use crate::backend::BackendChoice;
use crate::exit::{Exit, Failure};
use crate::load::target;
use crate::mimic::errand::Errand;
use crate::mimic::flags::HELP;
use crate::open_files::{OWN_FILES, raise_open_files};
use crate::{Outcome, load, screen};

/// A tool that people know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Hey,
    Ab,
    Wrk,
}

/// A tool's layout, with what it says beside the result.
enum Layout {
    Hey(hey::Hey),
    Ab(ab::Ab),
    Wrk(wrk::Wrk),
}

pub(crate) fn run(tool: Tool, args: &[String]) -> Outcome {
    let syntax = match tool {
        Tool::Hey => &hey::SYNTAX,
        Tool::Ab => &ab::SYNTAX,
        Tool::Wrk => &wrk::SYNTAX,
    };
    let typed = syntax.read(args);
    if typed.has(HELP) {
        screen::print(&syntax.help())?;
        return Ok(Exit::Done);
    }
    let cpus = stampede_platforms::available_cpus();
    let machine = MachineSize {
        cpus: u32::try_from(cpus.len()).unwrap_or(u32::MAX),
        memory: Bytes::new(stampede_platforms::memory().unwrap_or(u64::MAX)),
        connections: raise_open_files().saturating_sub(OWN_FILES),
    };
    let read = match tool {
        Tool::Hey => hey::read(typed, machine).map(|(errand, hey)| (errand, Layout::Hey(hey))),
        Tool::Ab => ab::read(typed, machine).map(|(errand, ab)| (errand, Layout::Ab(ab))),
        Tool::Wrk => wrk::read(typed, machine).map(|(errand, wrk)| (errand, Layout::Wrk(wrk))),
    };
    let (errand, layout) = read.map_err(Failure::usage)?;
    let Errand { url, load, threads, allow_remote, quiet, .. } = errand.clone();
    let target = target::find(&url, None, &[], allow_remote)?;
    let cpus = load::lay_out(&cpus, threads);
    let backend = BackendChoice::Auto.find(&cpus, quiet);
    let spec = errand.spec(target, cpus.generator, backend);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let (result, interrupted) = runtime.block_on(load::drive(spec, quiet, None))?;
    let note = note::render(syntax.tool, layout.percentiles(), &load, layout.remarks(&result), &result);
    screen::print(&format!("{}\n{note}", layout.render(&result)))?;
    Ok(load::exit_of(&result, interrupted))
}

impl Layout {
    fn render(&self, result: &LoadResult) -> String {
        match self {
            Self::Hey(hey) => hey.render(result),
            Self::Ab(ab) => ab.render(result),
            Self::Wrk(wrk) => wrk.render(result),
        }
    }

    /// The percentiles that it prints.
    fn percentiles(&self) -> &'static [u64] {
        match self {
            Self::Hey(_) => hey::PERCENTILES,
            Self::Ab(ab) => ab.percentiles(),
            Self::Wrk(wrk) => wrk.percentiles(),
        }
    }

    /// What it alone would not have told.
    fn remarks(&self, result: &LoadResult) -> Vec<String> {
        match self {
            Self::Hey(hey) => hey.remarks(result),
            Self::Ab(_) => Vec::new(),
            Self::Wrk(wrk) => wrk.remarks(result),
        }
    }
}
