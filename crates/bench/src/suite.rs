//! All parts, one after the other, and the document that comes of them.

use std::env;
use std::fs;
use std::io::Write;

use crate::args::{Load, Part};
use crate::failure::Failure;
use crate::stage::Stage;
use crate::tool::{self, Source};
use crate::{closed, document, duel, machine, memory, open};

/// Measures what is asked for, and writes the document.
pub(crate) fn run(load: &Load) -> Result<(), Failure> {
    let Load { rounds: _, duration: _, parts, tools, connections, seed, stampede: _, output, soak } = load;
    let stage = Stage::new(load)?;
    let machine = machine::describe(&stage);
    let versions = versions(&stage)?;
    let mut random = fastrand::Rng::with_seed(*seed);
    let mut sections = Vec::new();
    for part in parts {
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
    match output {
        Some(path) => {
            let failed = |source| Failure::Write { path: path.clone(), source };
            fs::write(path, text).map_err(failed)?;
            stage.tell(&format!("written: {}", path.display()));
            Ok(())
        }
        None => {
            let failed = |source| Failure::Write { path: "the standard output".into(), source };
            std::io::stdout().write_all(text.as_bytes()).map_err(failed)
        }
    }
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
