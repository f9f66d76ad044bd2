//! What a command line that cannot be read is answered with: what is wrong, and what to write in its place.

use std::error::Error as _;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory as _};
use stampede_report::terminal::fitted;

use crate::args::Args;
use crate::screen;

/// Says it and ends this program as clap does: with 2, or with 0 where help was asked for.
pub(crate) fn end(error: &clap::Error) -> ! {
    match (stampede_plan::listed(error), told(error, std::env::args_os().skip(1))) {
        (Some(list), _) => drop(screen::print(&fitted(list, screen::width()))),
        (None, Some(text)) => screen::error(&text),
        (None, None) => error.exit(),
    }
    std::process::exit(error.exit_code())
}

/// The answer; `None` where clap's own says what to do.
fn told(error: &clap::Error, typed: impl Iterator<Item = OsString>) -> Option<String> {
    match error.kind() {
        ErrorKind::MissingRequiredArgument => {
            let ContextValue::Strings(missing) = error.get(ContextKind::InvalidArg)? else { return None };
            Some(lacking(missing, typed))
        }
        ErrorKind::ValueValidation => {
            let ContextValue::String(arg) = error.get(ContextKind::InvalidArg)? else { return None };
            let ContextValue::String(value) = error.get(ContextKind::InvalidValue)? else { return None };
            let fix = stampede_plan::value_fix(error.source()?, arg, value)?;
            Some(format!("{} {value} {fix}", arg.split(' ').next()?))
        }
        _ => None,
    }
}

/// What a command needs, and its first example.
fn lacking(missing: &[String], typed: impl Iterator<Item = OsString>) -> String {
    let mut command = Args::command();
    command.build();
    let mut name = command.get_name().to_owned();
    for word in typed {
        let Some(inner) = word.to_str().and_then(|word| command.find_subcommand(word)).cloned() else { continue };
        name = format!("{name} {}", inner.get_name());
        command = inner;
    }
    let needs = missing.iter().map(|shown| {
        let arg = command.get_arguments().find(|arg| arg.to_string() == *shown);
        let values: Vec<_> = arg.map(Arg::get_possible_values).unwrap_or_default();
        let values: Vec<_> = values.iter().map(|value| value.get_name()).collect();
        if values.is_empty() { shown.clone() } else { format!("{shown} ({})", values.join(", ")) }
    });
    let needs = needs.collect::<Vec<_>>().join(" and ");
    // Another flag asks for a flag: the examples are of something else.
    let example = if needs.contains("--") { None } else { first_example(&command) };
    let next = example.map_or_else(|| format!("see {name} --help"), |line| format!("for example {line}"));
    format!("{name} needs {needs}; {next}")
}

/// The first of a command's examples, without what is said of it.
fn first_example(command: &Command) -> Option<String> {
    let help = command.get_after_help()?.to_string();
    let (_, examples) = help.split_once("Examples:\n")?;
    let examples = examples.replace(" \\\n    ", " ");
    let example = examples.lines().next()?.trim();
    Some(example.split("  ").next()?.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn answer(line: &str) -> Option<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let error = Args::try_parse_from(&words).expect_err("the line is wrong");
        told(&error, words.into_iter().skip(1))
    }

    #[test]
    fn what_is_missing_comes_with_an_example() {
        let cases = [
            (
                "stampede list",
                "stampede list needs <WHAT> (runtimes, workloads, services, studies); for example stampede list runtimes",
            ),
            ("stampede gate", "stampede gate needs <BASE> and <HEAD>; for example stampede gate main ."),
            (
                "stampede load http://127.0.0.1/ --feeder a=b.csv",
                "stampede load needs --scenario <FILE>; see stampede load --help",
            ),
            ("stampede gate main", "stampede gate needs <HEAD>; for example stampede gate main ."),
        ];
        for (line, wanted) in cases {
            assert_eq!(answer(line).as_deref(), Some(wanted), "{line}");
        }
    }

    #[test]
    fn values_are_listed_as_an_answer() {
        for (line, first, others) in [
            ("stampede compare --metric help", "throughput_rps            requests per second; more is better", 15),
            ("stampede tune --metric list", "throughput_rps            requests per second; more is better", 15),
            ("stampede gate --metric help", "throughput_rps            requests per second; more is better", 15),
            ("stampede forecast --price help", "cloud-run-requests", 12),
            ("stampede scale --price list", "cloud-run-requests", 12),
            ("stampede size --prices help", "core-hours", 12),
        ] {
            let error = Args::try_parse_from(line.split(' ')).expect_err("help is asked for");
            assert_eq!(error.exit_code(), 0, "{line}");
            let text = fitted(stampede_plan::listed(&error).expect("it is a list"), 80);
            assert_eq!(text.lines().next(), Some(first), "{line}");
            assert!(text.lines().count() > others && text.lines().all(|line| line.chars().count() <= 80), "{text}");
        }
        let error = Args::try_parse_from(["stampede", "--help"]).expect_err("help is asked for");
        assert_eq!(stampede_plan::listed(&error), None);
    }

    #[test]
    fn a_wrong_value_comes_with_a_right_one() {
        let cases = [
            ("stampede init --crawl x", "--crawl x is not a whole number of 0 or more; write one as 10"),
            ("stampede load http://127.0.0.1/ --source lo", "--source lo is not an IP address; write one as 127.0.0.1"),
            (
                "stampede serve --listen 0.0.0.0",
                "--listen 0.0.0.0 is not an IP address with a port; write 0.0.0.0:8600",
            ),
            ("stampede serve --listen ::1", "--listen ::1 is not an IP address with a port; write [::1]:8600"),
            (
                "stampede serve --listen localhost:80",
                "--listen localhost:80 is not an IP address with a port; write 127.0.0.1:8600",
            ),
            ("stampede inside 1 --duration long", "--duration long is not a time; write one as 30s, 500ms or 2m"),
        ];
        for (line, wanted) in cases {
            assert_eq!(answer(line).as_deref(), Some(wanted), "{line}");
        }
    }

    #[test]
    fn what_clap_says_well_is_left_to_it() {
        for line in [
            "stampede --help",
            "stampede comparr",
            "stampede list runtime",
            "stampede compare --zzz",
            "stampede init --crawl 99999999999999999999",
        ] {
            assert_eq!(answer(line), None, "{line}");
        }
    }
}
