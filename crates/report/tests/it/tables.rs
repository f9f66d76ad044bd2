//! The terminal's and Markdown's tables.

use stampede_report::{markdown, terminal};

use crate::samples::{Sample, four_runtimes, with_failures, without_limits};

fn in_terminal(sample: &Sample, width: usize) -> String {
    sample.render(|view| terminal::render(view, width, false))
}

#[test]
fn four_runtimes_at_80_columns() {
    insta::assert_snapshot!(in_terminal(&four_runtimes(), 80));
}

#[test]
fn four_runtimes_at_120_columns() {
    insta::assert_snapshot!(in_terminal(&four_runtimes(), 120));
}

#[test]
fn failures_at_80_columns() {
    insta::assert_snapshot!(in_terminal(&with_failures(), 80));
}

#[test]
fn without_limits_at_80_columns() {
    let text = in_terminal(&without_limits(), 80);
    assert!(text.starts_with("LIMITS WERE NOT ENFORCED"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn four_runtimes_as_markdown() {
    insta::assert_snapshot!(four_runtimes().render(markdown::render));
}

#[test]
fn failures_as_markdown() {
    insta::assert_snapshot!(with_failures().render(markdown::render));
}

#[test]
fn a_study_without_trials_is_told() {
    let mut sample = four_runtimes();
    sample.trials.clear();
    insta::assert_snapshot!(in_terminal(&sample, 80));
}

#[test]
fn no_line_is_longer_than_the_terminal() {
    for sample in [four_runtimes(), with_failures(), without_limits()] {
        for width in [60, 80, 100, 120, 200] {
            for line in in_terminal(&sample, width).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn colour_adds_nothing_but_colour() {
    for sample in [four_runtimes(), with_failures(), without_limits()] {
        let plain = in_terminal(&sample, 80);
        let mut colored = sample.render(|view| terminal::render(view, 80, true));
        assert_ne!(plain, colored);
        for code in ["\x1b[1m", "\x1b[1;31m", "\x1b[33m", "\x1b[0m"] {
            colored = colored.replace(code, "");
        }
        assert_eq!(plain, colored);
    }
}
