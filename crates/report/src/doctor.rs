//! What was found out about a machine, for a terminal and as JSON.

use std::collections::BTreeMap;
use std::error::Error;

use serde::Serialize;
use stampede_core::{Finding, Load, Machine, NoiseFloor, Severity, Study, with_causes};

use crate::json::{WireFinding, WireMachine, rendered};
use crate::layout::wrap;

const SCHEMA: &str = "stampede/doctor/v1";

/// Whether a machine with these findings can measure.
pub fn is_fit(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.severity < Severity::Error)
}

/// A line for each finding, with advice below those that are not fine, and what it comes to. It ends with a line break.
pub fn terminal(machine: &Machine, findings: &[Finding], width: usize, color: bool) -> String {
    let longest = findings.iter().map(|finding| finding.id.chars().count()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for finding in findings {
        let (word, code) = match finding.severity {
            Severity::Info => ("ok", "32"),
            Severity::Warning => ("warn", "33"),
            Severity::Error => ("FAIL", "1;31"),
        };
        let first = format!("{word:<4}  {:<longest$}  ", finding.id);
        let hang = first.chars().count();
        let mut found = wrap(&first, &finding.text, hang, width);
        if color && let Some(line) = found.first_mut() {
            *line = line.replacen(word, &format!("\x1b[{code}m{word}\x1b[0m"), 1);
        }
        lines.extend(found);
        if !finding.advice.is_empty() {
            lines.extend(wrap(&format!("{}-> ", " ".repeat(hang)), &finding.advice, hang + 3, width));
        }
    }
    let Machine { cpus: _, cpu_model: _, kernel, cgroup: _ } = machine;
    let said = wrap("", &format!("{} (Linux {kernel})", verdict(findings)), 0, width);
    let bold = |line: String| if color { format!("\x1b[1m{line}\x1b[0m") } else { line };
    lines.push(String::new());
    lines.extend(said.into_iter().map(bold));
    lines.join("\n") + "\n"
}

/// What it comes to, in a line without an end: `This machine can measure; 2 things may disturb it: activity, frequency.`
pub fn line(findings: &[Finding]) -> String {
    let warnings: Vec<&str> =
        findings.iter().filter(|one| one.severity == Severity::Warning).map(|one| one.id.as_str()).collect();
    let verdict = verdict(findings);
    if is_fit(findings) && !warnings.is_empty() {
        format!("{}: {}.", verdict.trim_end_matches('.'), warnings.join(", "))
    } else {
        verdict
    }
}

fn verdict(findings: &[Finding]) -> String {
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    match (count(Severity::Error), count(Severity::Warning)) {
        (0, 0) => "This machine is fit to measure.".to_owned(),
        (0, 1) => "This machine can measure; one thing may disturb it.".to_owned(),
        (0, warnings) => format!("This machine can measure; {warnings} things may disturb it."),
        (errors, _) => {
            let failed: Vec<&str> =
                findings.iter().filter(|one| one.severity == Severity::Error).map(|one| one.id.as_str()).collect();
            let verb = if errors == 1 { "stands" } else { "stand" };
            format!("This machine cannot measure: {} {verb} in the way.", failed.join(", "))
        }
    }
}

/// The findings as JSON. It ends with a line break.
pub fn json(machine: &Machine, findings: &[Finding]) -> String {
    let wire = WireDoctor {
        schema: SCHEMA,
        fit: is_fit(findings),
        machine: WireMachine::of(machine),
        checks: findings.iter().map(WireFinding::of).collect(),
    };
    rendered(&wire)
}

#[derive(Serialize)]
struct WireDoctor<'a> {
    schema: &'static str,
    fit: bool,
    machine: WireMachine<'a>,
    checks: Vec<WireFinding<'a>>,
}

/// Which runtimes are here.
#[must_use]
pub fn runtimes(found: &[String]) -> Finding {
    let count = found.len();
    let (severity, text, advice) = if found.is_empty() {
        (Severity::Error, "no runtime is installed".to_owned(), "see what each needs: stampede list runtimes")
    } else {
        let others = "stampede list runtimes shows how to install others";
        (Severity::Info, format!("{count} here: {}", found.join(", ")), others)
    };
    let evidence = BTreeMap::from([("runtimes".to_owned(), count as f64)]);
    Finding { id: "runtimes".to_owned(), severity, text, evidence, advice: advice.to_owned() }
}

/// What calibrations of this machine say.
#[must_use]
pub fn calibrated(known: Result<&[(Study, NoiseFloor)], &dyn Error>) -> Finding {
    let (severity, text, advice) = match known {
        Err(error) => (Severity::Warning, with_causes(error), "choose another store with --store"),
        Ok([]) => (
            Severity::Info,
            "not measured on this machine yet (optional)".to_owned(),
            "stampede compare markdown --calibrate shows by how much two equal cases seem to differ here; use the limits and the load of your comparisons",
        ),
        Ok(known) => (Severity::Info, newest(known), ""),
    };
    Finding { id: "noise-floor".to_owned(), severity, text, evidence: BTreeMap::new(), advice: advice.to_owned() }
}

/// The newest calibration of each platform, limits and model of load: `1.8 % in throughput under 0.5 CPU and 256Mi, closed load,
/// platform local`.
fn newest(known: &[(Study, NoiseFloor)]) -> String {
    let mut told: Vec<(String, String)> = Vec::new();
    for (study, floor) in known {
        let Some(case) = study.cases.first() else { continue };
        let (model, primary) = (
            if matches!(case.load, Load::Open { .. }) { "open" } else { "closed" },
            stampede_analysis::primary(&case.load),
        );
        let (limits, platform) = (&case.limits, &case.platform);
        let conditions = format!("{} CPU and {}, {model} load, platform {platform}", limits.cpus, limits.memory);
        let Some(floor) = floor.metrics.get(primary.key) else { continue };
        if told.iter().all(|(before, _)| *before != conditions) {
            told.push((conditions, format!("{:.1} % in {}", floor.share * 100.0, primary.title)));
        }
    }
    let told = told.iter().map(|(conditions, floor)| format!("{floor} under {conditions}"));
    told.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stampede_core::CgroupSupport;

    use super::*;

    fn finding(id: &str, severity: Severity, text: &str, advice: &str) -> Finding {
        let evidence = BTreeMap::from([("share".to_owned(), 0.123_456_789)]);
        Finding { id: id.to_owned(), severity, text: text.to_owned(), evidence, advice: advice.to_owned() }
    }

    #[test]
    fn findings_line_up_at_80_columns_and_end_in_a_verdict() {
        let machine =
            Machine { cpus: 2, cpu_model: "some".to_owned(), kernel: "6.1".to_owned(), cgroup: CgroupSupport::V2 };
        let findings = [
            finding("limits", Severity::Info, "CPU and memory can be limited", ""),
            finding(
                "background",
                Severity::Warning,
                "other programs used 0.52 of 2 processors; most of it some-long-program-name, process 12345: 0.40",
                "end them, or wait until they are done, which may take a while if there are many of them to end",
            ),
        ];
        let text = terminal(&machine, &findings, 80, false);
        assert_eq!(
            text,
            "ok    limits      CPU and memory can be limited\n\
             warn  background  other programs used 0.52 of 2 processors; most of it\n                  \
             some-long-program-name, process 12345: 0.40\n                  \
             -> end them, or wait until they are done, which may take a\n                     \
             while if there are many of them to end\n\n\
             This machine can measure; one thing may disturb it. (Linux 6.1)\n"
        );
        assert!(terminal(&machine, &findings, 80, true).contains("\x1b[33mwarn\x1b[0m  background"));
        let failed = [finding("limits", Severity::Error, "no", "run it as root")];
        assert!(terminal(&machine, &failed, 80, false).contains("cannot measure: limits stands in the way"));
        assert!(is_fit(&findings) && !is_fit(&failed));
        let json: serde_json::Value = serde_json::from_str(&json(&machine, &failed)).unwrap();
        assert_eq!((&json["fit"], &json["checks"][0]["severity"]), (&false.into(), &"error".into()));
        assert_eq!(json["checks"][0]["evidence"]["share"], 0.123_457);
    }
}
