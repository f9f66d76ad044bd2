//! hey, ab and wrk: their command lines, and their layouts of a result.
//!
//! [`CommandLine::read`] reads what people type for such a tool into the [`ToolRun`] that it asks for, and a [`Layout`]
//! writes the result of that load as the tool would, with a note of what the tool does not report. A tool is one file that
//! does both.
//!
//! Nothing here measures, finds an address, opens a file or prints: the bytes of files and the size of the machine are
//! [`Surroundings`], and whoever drives the load decides how that ends.

mod ab;
mod ab_files;
mod exit_code;
mod figures;
mod flags;
mod getopt;
mod go_flags;
mod headers;
mod hey;
mod note;
mod rates;
#[cfg(test)]
mod sample;
mod spells;
mod stampede_line;
mod syntax;
mod tls_flags;
mod tool_run;
mod wrk;
mod wrk2;
mod wrk_script;

use std::io;

use stampede_core::Load;
use stampede_plan::MachineSize;
use stampede_seam::{LoadResult, RequestSample};

pub use crate::exit_code::Misuse;
use crate::flags::HELP;
pub use crate::rates::Rates;
pub use crate::tool_run::{Extras, ToolRun};
pub use crate::wrk_script::{WrkScript, WrkTotals};

/// A tool that people know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// hey 0.1.4.
    Hey,
    /// ApacheBench 2.3.
    Ab,
    /// wrk 4.1, and wrk2 where a rate is given.
    Wrk,
}

/// What a command line is read with.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// How many connections may be opened, and how many processors are there.
    pub machine: MachineSize,
    /// The bytes of the file that an option names.
    pub read_file: &'a dyn Fn(&str) -> io::Result<Vec<u8>>,
}

/// What a tool's command line asks for.
#[derive(Debug)]
pub enum CommandLine {
    /// To list the tool's options, or its version: the text that does, with a line break at its end, and what the tool ends with.
    Help(String, u8),
    /// To drive a load, and to write its result in this layout.
    Run(Box<ToolRun>, Layout),
}

impl CommandLine {
    /// Reads a command line without the tool's name.
    ///
    /// # Errors
    ///
    /// All its mistakes, among them options of the tool that are not done here.
    pub fn read(tool: Tool, args: &[String], surroundings: Surroundings<'_>) -> Result<Self, Misuse> {
        let syntax = match tool {
            Tool::Hey => &hey::SYNTAX,
            Tool::Ab => &ab::SYNTAX,
            Tool::Wrk => &wrk::SYNTAX,
        };
        let typed = syntax.read(args);
        if typed.has(HELP) {
            return Ok(Self::Help(syntax.help(), 0));
        }
        if tool == Tool::Ab && typed.has("V") {
            let version = env!("CARGO_PKG_VERSION");
            return Ok(Self::Help(format!("This is Stampede {version}, in the place of ApacheBench 2.3\n"), 0));
        }
        if tool == Tool::Wrk && typed.has("v") && typed.operands.is_empty() {
            return Ok(Self::Help(wrk::version() + &syntax.help(), tool.failure()));
        }
        let (run, own) = match tool {
            Tool::Hey => {
                let is_unreadable = hey::is_unreadable(&typed);
                let read = hey::read(typed, surroundings).map(|(run, hey)| (run, Own::Hey(hey)));
                read.map_err(|mistakes| exit_code::of_hey(mistakes, is_unreadable))?
            }
            Tool::Ab => ab::read(typed, surroundings).map(|(run, ab)| (run, Own::Ab(ab))).map_err(exit_code::of_ab)?,
            Tool::Wrk => {
                let read = wrk::read(typed, surroundings).map(|(run, wrk)| (run, Own::Wrk(wrk)));
                read.map_err(|mistakes| Misuse { mistakes, exit_code: tool.failure() })?
            }
        };
        let layout = Layout { tool: syntax.tool, load: run.load.clone(), own: Box::new(own) };
        Ok(Self::Run(Box::new(run), layout))
    }
}

/// A tool's layout of the result of one load.
#[derive(Debug)]
pub struct Layout {
    tool: &'static str,
    load: Load,
    own: Box<Own>,
}

/// What each tool's layout says beside the result.
#[derive(Debug)]
enum Own {
    Hey(hey::Hey),
    Ab(ab::Ab),
    Wrk(wrk::Wrk),
}

/// A load that is over.
#[derive(Clone, Copy)]
pub struct ToolOutcome<'a> {
    /// What was measured.
    pub result: &'a LoadResult,
    /// Its requests, where they were kept.
    pub samples: &'a [RequestSample],
    /// When it began, in seconds from 1970.
    pub began: i64,
    /// Writes such a time for people.
    pub time: &'a dyn Fn(i64) -> String,
}

/// A file that the tool writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFile {
    /// Where, as it was typed.
    pub path: String,
    /// What.
    pub text: String,
}

impl Layout {
    /// The script of a wrk that writes its requests, where it has one.
    pub fn take_script(&mut self) -> Option<WrkScript> {
        match &mut *self.own {
            Own::Wrk(wrk) => wrk.take_script(),
            Own::Hey(_) | Own::Ab(_) => None,
        }
    }

    /// Adds the rates that threads had in the meantime, which wrk's layout has.
    pub fn set_rates(&mut self, rates: Rates) {
        if let Own::Wrk(wrk) = &mut *self.own {
            wrk.rates = rates;
        }
    }

    /// The figures of a wrk's result as its scripts are told them.
    pub fn wrk_totals(&self, result: &LoadResult) -> Option<WrkTotals> {
        match &*self.own {
            Own::Wrk(wrk) => Some(wrk.totals(result)),
            Own::Hey(_) | Own::Ab(_) => None,
        }
    }

    /// The result as the tool would print it, and below it what the tool does not report; with a line break at its end.
    pub fn render(&self, result: &LoadResult) -> String {
        let outcome = ToolOutcome { result, samples: &[], began: 0, time: &|seconds| seconds.to_string() };
        format!("{}\n{}", self.text(&outcome), self.note(result))
    }

    /// The result as the tool would print it, with a line break at its end.
    pub fn text(&self, outcome: &ToolOutcome<'_>) -> String {
        let result = outcome.result;
        match &*self.own {
            Own::Hey(hey) if hey.is_csv() => hey.requests(outcome.samples),
            Own::Hey(hey) => hey.render(result),
            Own::Ab(ab) => ab.render(result),
            Own::Wrk(wrk) => wrk.render(result),
        }
    }

    /// What the tool does not report.
    pub fn note(&self, result: &LoadResult) -> String {
        let Self { tool, load, own } = self;
        let (percentiles, remarks) = match &**own {
            Own::Hey(hey) => (hey::PERCENTILES, hey.remarks(result)),
            Own::Ab(ab) => (ab.percentiles(), Vec::new()),
            Own::Wrk(wrk) => (wrk.percentiles(), wrk.remarks(result)),
        };
        note::render(tool, percentiles, load, remarks, result)
    }

    /// What the tool ends with after a load, which a signal may have interrupted. What it does not report stands in the note.
    pub fn exit_code(&self, result: &LoadResult, interrupted: bool) -> u8 {
        match &*self.own {
            Own::Hey(_) => 0,
            Own::Ab(ab) => exit_code::after_ab(result, ab.goes_on(), interrupted),
            Own::Wrk(_) if interrupted => 0,
            Own::Wrk(_) => exit_code::after_wrk(result),
        }
    }

    /// Whether a program reads what is printed, so that the note must stand elsewhere.
    pub fn is_for_programs(&self) -> bool {
        match &*self.own {
            Own::Hey(hey) => hey.is_csv(),
            Own::Ab(ab) => ab.is_table(),
            Own::Wrk(_) => false,
        }
    }

    /// Where the tool would write files, with the options that say so.
    pub fn paths(&self) -> Vec<(&'static str, &str)> {
        match &*self.own {
            Own::Ab(ab) => ab.paths(),
            Own::Hey(_) | Own::Wrk(_) => Vec::new(),
        }
    }

    /// The files that the tool would write.
    pub fn files(&self, outcome: &ToolOutcome<'_>) -> Vec<ToolFile> {
        match &*self.own {
            Own::Ab(ab) => ab.files(outcome),
            Own::Hey(_) | Own::Wrk(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::sample::{SURROUNDINGS, good};

    use super::*;

    const TOOLS: [(Tool, &str); 3] = [(Tool::Hey, "hey"), (Tool::Ab, "ab"), (Tool::Wrk, "wrk")];

    fn read(tool: Tool, line: &str) -> Result<CommandLine, Misuse> {
        let args: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        CommandLine::read(tool, &args, SURROUNDINGS)
    }

    #[test]
    fn help_is_listed_whatever_else_is_typed() {
        for (tool, name) in TOOLS {
            let Ok(CommandLine::Help(text, 0)) = read(tool, "-c 0 --help") else { panic!("{name}: no help") };
            assert!(text.contains(&format!("Usage: stampede {name} [OPTIONS] URL")), "{text}");
            assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        }
    }

    #[test]
    fn a_layout_is_that_of_the_tool_with_a_note_below() {
        for (tool, name) in TOOLS {
            let Ok(CommandLine::Run(run, layout)) = read(tool, "http://127.0.0.1:8080/") else { panic!("{name}") };
            assert_eq!(run.url.port, 8080, "{name}");
            let text = layout.render(&good());
            let (_, note) = text.split_once("\n\nWhat ").unwrap();
            assert!(note.starts_with(&format!("{name} does not tell: ")) && note.ends_with('\n'), "{text}");
        }
    }

    #[test]
    fn the_bytes_of_a_file_are_the_body() {
        for (tool, option) in [(Tool::Hey, "-D"), (Tool::Ab, "-p"), (Tool::Ab, "-u")] {
            let Ok(CommandLine::Run(run, _)) = read(tool, &format!("{option} body http://h/")) else {
                panic!("{option}")
            };
            assert_eq!(run.request.body, b"abc", "{option}");
            let mistakes = read(tool, &format!("{option} none http://h/")).unwrap_err().to_string();
            assert!(mistakes.starts_with(&format!("{option} none cannot be read: ")), "{mistakes}");
        }
    }
}
