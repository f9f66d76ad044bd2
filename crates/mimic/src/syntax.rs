//! What a tool's command line may hold, and the help that lists it.

use std::fmt::Write as _;

use stampede_report::wrap;

use crate::flags::{Flag, Style, Support, Typed, dashed};
use crate::{getopt, go_flags};

/// What a tool's command line may hold.
#[derive(Debug)]
pub(crate) struct Syntax {
    /// The tool.
    pub(crate) tool: &'static str,
    pub(crate) style: Style,
    pub(crate) flags: &'static [Flag],
    /// An example for the help.
    pub(crate) example: &'static str,
    /// What its exit codes mean, which are the tool's own.
    pub(crate) exit_codes: &'static str,
}

impl Syntax {
    /// Reads a command line without the tool's name. Options that are unknown or not done are mistakes.
    pub(crate) fn read<'a>(&self, args: &'a [String]) -> Typed<'a> {
        match self.style {
            Style::Go => go_flags::read(self.flags, args),
            Style::Getopt => getopt::read(self.flags, args, false),
            Style::GetoptLong => getopt::read(self.flags, args, true),
        }
    }

    /// The options that are done, in 80 columns.
    pub(crate) fn help(&self) -> String {
        let Self { tool, style, flags, example, exit_codes } = self;
        let mut text = format!(
            "Use like {tool}: the same options and output, on Stampede's load engine\n\n\
             Usage: stampede {tool} [OPTIONS] URL\n\nOptions:\n"
        );
        let mut not_done = Vec::new();
        for Flag { names, value, support } in *flags {
            let dashed: Vec<_> = names.iter().map(|name| dashed(*style, name)).collect();
            match support {
                Support::Not(_) => not_done.extend(dashed.into_iter().next()),
                Support::Done(about) => {
                    let value = value.map_or_else(String::new, |value| format!(" {value}"));
                    let name = format!("  {}{value}", dashed.join(", "));
                    let mut lines = wrap("", about, 0, 80 - INDENT).into_iter();
                    let first = if name.len() < INDENT { lines.next().unwrap_or_default() } else { String::new() };
                    let _ = writeln!(text, "{}", format!("{name:<INDENT$}{first}").trim_end());
                    for line in lines {
                        let _ = writeln!(text, "{:INDENT$}{line}", "");
                    }
                }
            }
        }
        if !not_done.is_empty() {
            let not_done = format!("Not supported (each names the alternative): {}", not_done.join(", "));
            let _ = writeln!(text, "\n{}", wrap("", &not_done, 0, 80).join("\n"));
        }
        let _ = writeln!(text, "\nExample:\n  stampede {tool} {example}\n");
        let _ = writeln!(text, "{}", wrap("", &format!("Exit codes: {exit_codes}"), 0, 80).join("\n"));
        text
    }
}

/// Where the help's second column begins.
const INDENT: usize = 26;
