//! All parts, one after the other, and the document that comes of them.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::PossibleValuesParser;

use crate::failure::Failure;
use crate::files;
use crate::flags::seconds;
use crate::stage::Stage;
use crate::tool::{self, Source};
use crate::{closed, document, duel, machine, memory, open};

/// How it is to be done.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Load {
    /// Rounds, in each of which every client runs once
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Length of each run, in whole seconds
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = seconds)]
    pub(crate) duration: Duration,
    /// These parts
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "closed,http2,tls,open,memory")]
    pub(crate) only: Vec<Part>,
    /// Tools of the closed loop [default: all that are installed]
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = PossibleValuesParser::new(tool::ALL.map(|tool| tool.name)))]
    pub(crate) tools: Vec<String>,
    /// Connections of the closed loop
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "1,64,256")]
    pub(crate) connections: Vec<u32>,
    /// Seed of the order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// The program under test [default: stampede, beside this program]
    #[arg(long, value_name = "FILE")]
    pub(crate) stampede: Option<PathBuf>,
    /// The document [default: stdout]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// One round of one second: does everything work?
    #[arg(long)]
    pub(crate) quick: bool,
    /// Also hold the memory of ten minutes against that of one
    #[arg(long)]
    pub(crate) soak: bool,
}

/// A part of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    Closed,
    Http2,
    Tls,
    Open,
    Memory,
}

/// Measures what is asked for, and writes the document.
pub(crate) fn run(load: &Load) -> Result<(), Failure> {
    let Load { rounds, duration, only, tools, connections, seed, stampede, output, quick, soak } = load;
    let (rounds, duration) = if *quick { (1, Duration::from_secs(1)) } else { (*rounds, *duration) };
    let stage = Stage::new(stampede.clone(), rounds, duration)?;
    let machine = machine::describe(&stage);
    let versions = versions(&stage)?;
    let mut random = fastrand::Rng::with_seed(*seed);
    let mut sections = Vec::new();
    for part in only {
        sections.push(match part {
            Part::Closed => closed::measure(&stage, connections, tools, &mut random)?,
            Part::Http2 => duel::http2(&stage, &mut random)?,
            Part::Tls => duel::tls(&stage, &mut random)?,
            Part::Open => open::measure(&stage)?,
            Part::Memory => memory::measure(&stage, *soak)?,
        });
    }
    let arguments: Vec<String> = env::args().skip(1).collect();
    let command = format!("stampede-bench {}", arguments.join(" "));
    let text = document::render(&command, &machine, &versions, &sections);
    files::write_or_print(output.as_deref(), &text)?;
    output.iter().for_each(|path| stage.tell(&format!("written: {}", path.display())));
    Ok(())
}

/// Servers and what they need.
const SERVERS: [(&str, &[&str]); 2] = [("nginx", &["nginx", "-v"]), ("openssl", &["openssl", "version"])];

/// Every program with the first line that it says of its version.
fn versions(stage: &Stage) -> Result<Vec<Vec<String>>, Failure> {
    let mut rows = Vec::new();
    let clients = tool::ALL.iter().filter_map(|tool| match tool.source {
        Source::Path { program, version } => Some((program, version)),
        Source::Bench | Source::Stampede => None,
    });
    let stampede = version(stage, "stampede", &["stampede", "--version"])?;
    rows.push(vec!["stampede".to_owned(), stampede]);
    for (name, command) in clients.chain(SERVERS) {
        let told = match command {
            _ if tool::find(name).is_none() => "not installed".to_owned(),
            [] => "does not tell its version".to_owned(),
            command => version(stage, name, command)?,
        };
        rows.push(vec![name.to_owned(), told]);
    }
    Ok(rows)
}

fn version(stage: &Stage, name: &'static str, line: &[&str]) -> Result<String, Failure> {
    let line: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
    Ok(stage.try_out(name, stage.command(&line))?.first_line().to_owned())
}
