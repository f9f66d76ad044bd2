//! The options of another tool: which there are, and what was typed of them.

use std::str::FromStr;

use stampede_plan::{HttpUrl, Mistake, Mistakes, UrlError};

use crate::tool_run::ToolRun;
use crate::{Surroundings, stampede_line};

/// How a tool reads its command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Go's package `flag`: `-name value`, `-name=value`, two dashes as good as one, options before the URL.
    Go,
    /// `getopt`: `-n5`, `-n 5`, letters in one word, options before the URL.
    Getopt,
    /// `getopt_long`: also `--name value` and `--name=value`, and options at any place.
    GetoptLong,
}

/// One option.
#[derive(Debug)]
pub(crate) struct Flag {
    /// Its names without their dashes. It is called by the first one here; one letter is a short option to getopt.
    pub(crate) names: &'static [&'static str],
    /// What its value is called; an option without takes no value.
    pub(crate) value: Option<&'static str>,
    pub(crate) support: Support,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Support {
    /// What it does.
    Done(&'static str),
    /// It is not done; this is what to do about that.
    Not(&'static str),
}

/// The option that prints the help.
pub(crate) const HELP: &str = "help";

/// An option that takes a value.
pub(crate) const fn valued(names: &'static [&'static str], value: &'static str, about: &'static str) -> Flag {
    Flag { names, value: Some(value), support: Support::Done(about) }
}

/// An option that takes no value.
pub(crate) const fn switch(names: &'static [&'static str], about: &'static str) -> Flag {
    Flag { names, value: None, support: Support::Done(about) }
}

/// An option of the tool that is not done here.
pub(crate) const fn refused(
    names: &'static [&'static str],
    value: Option<&'static str>,
    instead: &'static str,
) -> Flag {
    Flag { names, value, support: Support::Not(instead) }
}

/// What was typed.
#[derive(Debug, Default)]
pub(crate) struct Typed<'a> {
    /// Options in their order.
    options: Vec<Given<'a>>,
    /// What is no option.
    pub(crate) operands: Vec<&'a str>,
    pub(crate) mistakes: Vec<Mistake>,
    /// How many of them are options that are not done.
    refused: usize,
}

#[derive(Debug)]
struct Given<'a> {
    flag: &'static Flag,
    /// With its value, for mistakes.
    typed: String,
    /// Empty where it takes none.
    value: &'a str,
}

/// An option's name as it is typed.
pub(crate) fn dashed(style: Style, name: &str) -> String {
    if style != Style::Go && name.len() > 1 { format!("--{name}") } else { format!("-{name}") }
}

impl<'a> Typed<'a> {
    /// Notes an option, or what to do in its place.
    pub(crate) fn option(&mut self, flag: &'static Flag, typed: String, value: &'a str) {
        match flag.support {
            Support::Done(_) => self.options.push(Given { flag, typed, value }),
            Support::Not(instead) => self.refuse(typed, instead),
        }
    }

    /// Notes an option that is not done, and what to do in its place.
    pub(crate) fn refuse(&mut self, place: impl Into<String>, instead: impl Into<String>) {
        self.mistake(place, "is not done here", instead);
        self.refused += 1;
    }

    /// What was understood, or all mistakes. Where nothing but options that are not done stands in the way, the last one names the
    /// command of Stampede that does the rest.
    pub(crate) fn finish(mut self, run: ToolRun) -> Result<ToolRun, Mistakes> {
        if self.mistakes.is_empty() {
            return Ok(run);
        }
        let body = self.last("p").or(self.last("u")).or(self.last("D"));
        let line = (self.mistakes.len() == self.refused).then(|| stampede_line::of(&run, body, self.last("E")));
        if let (Some(line), Some(last)) = (line, self.mistakes.last_mut()) {
            last.fix = format!("{}, or without it: {line}", last.fix);
        }
        Err(Mistakes(self.mistakes))
    }

    pub(crate) fn mistake(&mut self, place: impl Into<String>, problem: impl Into<String>, fix: impl Into<String>) {
        self.mistakes.push(Mistake { place: place.into(), problem: problem.into(), fix: fix.into() });
    }

    /// All values of an option, in their order.
    pub(crate) fn all(&self, name: &str) -> impl DoubleEndedIterator<Item = &'a str> {
        self.options.iter().filter(move |given| given.flag.names.first() == Some(&name)).map(|given| given.value)
    }

    /// The value of an option; the last one counts.
    pub(crate) fn last(&self, name: &str) -> Option<&'a str> {
        self.all(name).next_back()
    }

    /// Whether an option is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.last(name).is_some()
    }

    /// Where an option stands among all, the later the larger; `None` when it is not there.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.options.iter().rposition(|given| given.flag.names.first() == Some(&name))
    }

    /// An option's value as `read` understands it. Otherwise `None`, which is a mistake where the option is there.
    pub(crate) fn value<T>(
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
    pub(crate) fn url(&mut self) -> &'a str {
        if self.operands.is_empty() {
            self.mistake("URL", "is missing", "for example http://127.0.0.1:8080/");
        }
        for more in self.operands.clone().into_iter().skip(1) {
            self.mistake(more, "comes after the URL", "give one URL, after all options");
        }
        self.operands.first().copied().unwrap_or_default()
    }

    /// Reads a URL; an unreadable one is a mistake.
    pub(crate) fn http_url(&mut self, text: &str) -> Option<HttpUrl> {
        if self.operands.is_empty() {
            return None;
        }
        let problem = match text.parse() {
            Ok(url) => return Some(url),
            Err(problem) => problem,
        };
        let fix = match problem {
            UrlError::User => "send an Authorization header",
            UrlError::Scheme | UrlError::Host | UrlError::Port | UrlError::Characters => {
                "for example http://127.0.0.1:8080/"
            }
        };
        self.mistake(format!("URL {text}"), problem.to_string(), fix);
        None
    }

    /// The bytes of a file, none when it cannot be read, which is a mistake.
    pub(crate) fn file(&mut self, flag: &str, path: &str, surroundings: Surroundings<'_>) -> Vec<u8> {
        (surroundings.read_file)(path).unwrap_or_else(|error| {
            self.mistake(format!("{flag} {path}"), format!("cannot be read: {error}"), "give a file");
            Vec::new()
        })
    }

    /// As many connections as asked for, where one process may open them.
    pub(crate) fn connections(&mut self, asked: u32, surroundings: Surroundings<'_>) -> u32 {
        let most = surroundings.machine.connections;
        if asked > most {
            let fix = format!("use at most {most}, or raise the limit of open files (ulimit -n)");
            self.mistake(format!("-c {asked}"), "are more connections than one process may open", fix);
        }
        asked
    }
}

/// A whole number from 1.
pub(crate) fn positive<T: FromStr + PartialOrd + From<u8>>(typed: &str) -> Option<T> {
    typed.parse().ok().filter(|number| *number >= T::from(1))
}
