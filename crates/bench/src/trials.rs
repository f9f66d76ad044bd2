//! Trials of identical cases in short, as they are kept in a file: what simulated studies draw their noise from.

use std::path::Path;

use crate::files::{self, FileError};

/// How identical cases are served and loaded. Each is another kind of noise.
#[derive(Debug, PartialEq)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(crate) runtime: &'static str,
    pub(crate) workload: &'static str,
    pub(crate) cpus: &'static str,
    pub(crate) load: &'static str,
    /// Its primary metric.
    pub(crate) figure: Figure,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    Throughput,
    ResponseP99,
}

/// One whose throughput is compared, under a closed load.
const fn closed(name: &'static str, runtime: &'static str, workload: &'static str, cpus: &'static str) -> Setting {
    Setting { name, runtime, workload, cpus, load: "closed:16", figure: Figure::Throughput }
}

pub(crate) const SETTINGS: [Setting; 5] = [
    closed("go-hello", "go", "hello", "1"),
    closed("fpm-markdown-half", "nginx-fpm", "markdown", "0.5"),
    closed("fpm-hello", "nginx-fpm", "hello", "1"),
    closed("apache-markdown", "apache-mod-php", "markdown", "1"),
    Setting { load: "open:2500", figure: Figure::ResponseP99, ..closed("go-hello-open", "go", "hello", "0.5") },
];

/// A measured trial.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TrialRow {
    /// Pieces are recorded without a break, each under one setting.
    pub(crate) piece: u32,
    pub(crate) setting: &'static Setting,
    pub(crate) block: u32,
    pub(crate) position: u32,
    /// Since the piece began.
    pub(crate) start_s: f64,
    pub(crate) throughput_rps: f64,
    pub(crate) cpu_us_per_request: Option<f64>,
    /// Absent where fewer than 50 requests were slower.
    pub(crate) response_p99_us: Option<f64>,
}

pub(crate) const HEADER: &str =
    "piece,setting,block,position,start_s,throughput_rps,cpu_us_per_request,response_p99_us\n";

impl TrialRow {
    pub(crate) fn line(&self) -> String {
        let Self { piece, setting, block, position, start_s, throughput_rps, cpu_us_per_request, response_p99_us } =
            self;
        let cell = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.1}"));
        format!(
            "{piece},{},{block},{position},{start_s:.1},{throughput_rps:.2},{},{}\n",
            setting.name,
            cell(*cpu_us_per_request),
            cell(*response_p99_us)
        )
    }

    /// What is compared under its setting.
    pub(crate) fn value(&self) -> Option<f64> {
        match self.setting.figure {
            Figure::Throughput => Some(self.throughput_rps),
            Figure::ResponseP99 => self.response_p99_us,
        }
    }

    fn read(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.split(',').collect();
        let [piece, setting, block, position, start_s, throughput, cpu, p99] = cells[..] else { return None };
        let optional = |cell: &str| if cell.is_empty() { Some(None) } else { cell.parse().ok().map(Some) };
        Some(Self {
            piece: piece.parse().ok()?,
            setting: SETTINGS.iter().find(|known| known.name == setting)?,
            block: block.parse().ok()?,
            position: position.parse().ok()?,
            start_s: start_s.parse().ok()?,
            throughput_rps: throughput.parse().ok()?,
            cpu_us_per_request: optional(cpu)?,
            response_p99_us: optional(p99)?,
        })
    }
}

/// Reads a file of trials: lines that begin with # are remarks. A file that is not there holds none.
pub(crate) fn read(path: &Path) -> Result<Vec<TrialRow>, FileError> {
    files::lines(path, HEADER, TrialRow::read)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn trials_are_read_as_they_were_written() {
        let row = TrialRow {
            piece: 3,
            setting: &SETTINGS[1],
            block: 2,
            position: 4,
            start_s: 12.5,
            throughput_rps: 801.25,
            cpu_us_per_request: Some(614.2),
            response_p99_us: None,
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trials.csv");
        assert_eq!(read(&path).unwrap(), []);
        fs::write(&path, format!("# remark\n{HEADER}{}", row.line())).unwrap();
        assert_eq!(read(&path).unwrap(), [row]);
        fs::write(&path, format!("{HEADER}1,unknown,1,1,0.0,1.0,,\n")).unwrap();
        assert!(read(&path).unwrap_err().to_string().ends_with("line 2 is not what is kept there"));
    }
}
