//! The options of another tool: which there are, what was typed of them, and the help that lists them.

use std::fmt::Write as _;
use std::str::FromStr;

use stampede_plan::Mistake;

use super::getopt;
use super::go_flags;

/// What a tool's command line may hold.
#[derive(Debug)]
pub(super) struct Syntax {
    /// The tool.
    pub(super) tool: &'static str,
    pub(super) style: Style,
    pub(super) flags: &'static [Flag],
    /// An example for the help.
    pub(super) example: &'static str,
}

/// How a tool reads its command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Go's package `flag`: `-name value`, `-name=value`, two dashes as good as one, options before the URL.
    Go,
    /// `getopt`: `-n5`, `-n 5`, letters in one word, options before the URL.
    Getopt,
    /// `getopt_long`: also `--name value` and `--name=value`, and options at any place.
    GetoptLong,
}

/// One option.
#[derive(Debug)]
pub(super) struct Flag {
    /// Its names without their dashes. It is called by the first one here; one letter is a short option to getopt.
    pub(super) names: &'static [&'static str],
    /// What its value is called; an option without takes no value.
    pub(super) value: Option<&'static str>,
    pub(super) support: Support,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Support {
    /// What it does.
    Done(&'static str),
    /// It is not done; this is what to do about that.
    Not(&'static str),
}

/// The option that prints the help.
pub(super) const HELP: &str = "help";

/// An option that takes a value.
pub(super) const fn valued(names: &'static [&'static str], value: &'static str, about: &'static str) -> Flag {
    Flag { names, value: Some(value), support: Support::Done(about) }
}

/// An option that takes no value.
pub(super) const fn switch(names: &'static [&'static str], about: &'static str) -> Flag {
    Flag { names, value: None, support: Support::Done(about) }
}

/// An option of the tool that is not done here.
pub(super) const fn refused(
    names: &'static [&'static str],
    value: Option<&'static str>,
    instead: &'static str,
) -> Flag {
    Flag { names, value, support: Support::Not(instead) }
}

/// What was typed.
#[derive(Debug, Default)]
pub(super) struct Typed<'a> {
    /// Options in their order.
    options: Vec<Given<'a>>,
    /// What is no option.
    pub(super) operands: Vec<&'a str>,
    pub(super) mistakes: Vec<Mistake>,
}

#[derive(Debug)]
struct Given<'a> {
    flag: &'static Flag,
    /// With its value, for mistakes.
    typed: String,
    /// Empty where it takes none.
    value: &'a str,
}

impl Syntax {
    /// Reads a command line without the tool's name. Options that are unknown or not done are mistakes.
    pub(super) fn read<'a>(&self, args: &'a [String]) -> Typed<'a> {
        match self.style {
            Style::Go => go_flags::read(self.flags, args),
            Style::Getopt => getopt::read(self.flags, args, false),
            Style::GetoptLong => getopt::read(self.flags, args, true),
        }
    }

    /// The options that are done, in 80 columns.
    pub(super) fn help(&self) -> String {
        let Self { tool, style, flags, example } = self;
        let mut text = format!(
            "The options of {tool} on Stampede's load engine, with a result in {tool}'s layout\n\n\
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
                    let mut lines = wrapped(about, 80 - INDENT).into_iter();
                    let first = if name.len() < INDENT { lines.next().unwrap_or_default() } else { String::new() };
                    let _ = writeln!(text, "{}", format!("{name:<INDENT$}{first}").trim_end());
                    for line in lines {
                        let _ = writeln!(text, "{:INDENT$}{line}", "");
                    }
                }
            }
        }
        let not_done = format!("Not done here, where each says what to do instead: {}", not_done.join(", "));
        let _ = writeln!(text, "\n{}\n\nExample:\n  stampede {tool} {example}\n", wrapped(&not_done, 80).join("\n"));
        text.push_str(
            "Exit codes: 0 done; 2 usage error; 3 something needed is missing here;\n\
             4 the generator was the limit, or answers were wrong; 5 no right answer came;\n\
             130 interrupted.\n",
        );
        text
    }
}

/// Where the help's second column begins.
const INDENT: usize = 26;

/// An option's name as it is typed.
pub(super) fn dashed(style: Style, name: &str) -> String {
    if style != Style::Go && name.len() > 1 { format!("--{name}") } else { format!("-{name}") }
}

/// Breaks a text into lines of at most so many columns, between words.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

impl<'a> Typed<'a> {
    /// Notes an option, or what to do in its place.
    pub(super) fn option(&mut self, flag: &'static Flag, typed: String, value: &'a str) {
        match flag.support {
            Support::Done(_) => self.options.push(Given { flag, typed, value }),
            Support::Not(instead) => self.mistake(typed, "is not done here", instead),
        }
    }

    pub(super) fn mistake(&mut self, place: impl Into<String>, problem: impl Into<String>, fix: impl Into<String>) {
        self.mistakes.push(Mistake { place: place.into(), problem: problem.into(), fix: fix.into() });
    }

    /// All values of an option, in their order.
    pub(super) fn all(&self, name: &str) -> impl DoubleEndedIterator<Item = &'a str> {
        self.options.iter().filter(move |given| given.flag.names.first() == Some(&name)).map(|given| given.value)
    }

    /// The value of an option; the last one counts.
    pub(super) fn last(&self, name: &str) -> Option<&'a str> {
        self.all(name).next_back()
    }

    /// Whether an option is there.
    pub(super) fn has(&self, name: &str) -> bool {
        self.last(name).is_some()
    }

    /// Where an option stands among all, the later the larger; `None` when it is not there.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.options.iter().rposition(|given| given.flag.names.first() == Some(&name))
    }

    /// An option's value as `read` understands it. Otherwise `None`, which is a mistake where the option is there.
    pub(super) fn value<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Option<T>,
        problem: &str,
        fix: &str,
    ) -> Option<T> {
        let Given { typed, value, .. } = &self.options[self.place(name)?];
        let read = read(value);
        if read.is_none() {
            self.mistake(typed.clone(), problem, fix);
        }
        read
    }

    /// The URL, the one operand.
    pub(super) fn url(&mut self) -> &'a str {
        if self.operands.is_empty() {
            self.mistake("URL", "is missing", "for example http://127.0.0.1:8080/");
        }
        for more in self.operands.clone().into_iter().skip(1) {
            self.mistake(more, "comes after the URL", "give one URL, after all options");
        }
        self.operands.first().copied().unwrap_or_default()
    }
}

/// A whole number from 1.
pub(super) fn positive<T: FromStr + PartialOrd + From<u8>>(typed: &str) -> Option<T> {
    typed.parse().ok().filter(|number| *number >= T::from(1))
}
