//! `stampede help`: what a command does, as text or as a manual page.

pub(crate) mod args;
#[cfg(test)]
mod documents;

use std::fs;
use std::io;
use std::path::Path;

use clap::{Command, CommandFactory, Parser};
use clap_mangen::Man;
use stampede_conduct::Host;

use self::args::{HelpArgs, ManArgs, Topic};
use crate::args::Args;
use crate::exit::{Exit, Failure};
use crate::{Outcome, outcome, screen, version};

pub(crate) fn run(args: HelpArgs, host: &dyn Host) -> Outcome {
    match args.topic {
        None => of_command(&[], host),
        Some(Topic::Command(words)) => of_command(&words, host),
        Some(Topic::Man(ManArgs { command, dir: None })) => {
            screen::print_bytes(&page(&named(&command)?).map_err(Failure::missing)?)?;
            Ok(Exit::Done)
        }
        Some(Topic::Man(ManArgs { dir: Some(dir), .. })) => {
            let problem = |error: io::Error| Failure::missing(format!("cannot write into {}: {error}", dir.display()));
            fs::create_dir_all(&dir).and_then(|()| write_pages(&built(), &dir)).map_err(problem)?;
            Ok(Exit::Done)
        }
    }
}

/// The same as `--help` behind the command.
fn of_command(words: &[String], host: &dyn Host) -> Outcome {
    let line = ["stampede"].into_iter().chain(words.iter().map(String::as_str)).chain(["--help"]);
    match Args::try_parse_from(line) {
        // What has a help of its own, as `hey` has, is asked for it.
        Ok(Args { command: Some(command), .. }) => outcome(command, host),
        Ok(_) => Ok(Exit::Done),
        Err(said) if said.use_stderr() => {
            screen::write(said.render().to_string().as_bytes());
            Ok(Exit::Usage)
        }
        Err(said) => {
            let coloured = screen::colour_on(&io::stdout());
            let text = said.render();
            screen::print(&if coloured { text.ansi().to_string() } else { text.to_string() })?;
            Ok(Exit::Done)
        }
    }
}

/// All commands, with the names that manual pages have.
fn built() -> Command {
    let mut command = Args::command();
    command.build();
    command
}

/// The command of these words.
fn named(words: &[String]) -> Result<Command, Failure> {
    let mut command = built();
    for word in words {
        command = command.find_subcommand(word).filter(|found| !found.is_hide_set()).cloned().ok_or_else(|| {
            Failure::usage(format!("there is no command {}\n  stampede help lists all", words.join(" ")))
        })?;
    }
    Ok(command)
}

/// A file for a command and for each one below it.
fn write_pages(command: &Command, dir: &Path) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    fs::write(dir.join(format!("{name}.1")), page(command)?)?;
    command.get_subcommands().filter(|below| !below.is_hide_set()).try_for_each(|below| write_pages(below, dir))
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    let source = format!("Stampede {}", env!("CARGO_PKG_VERSION"));
    let date = if version::DATE.is_empty() { "undated" } else { version::DATE };
    Man::new(command.clone()).date(date).source(source).manual("Stampede").render(&mut page)?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let dir = tempfile::tempdir().unwrap();
        write_pages(&built(), dir.path()).unwrap();
        for (name, heading) in [
            ("stampede.1", "stampede \\- Which PHP runtime is fastest"),
            ("stampede-compare.1", "stampede\\-compare \\- Compare runtimes"),
            ("stampede-show-runtime.1", "stampede\\-show\\-runtime \\- Show the settings of a runtime"),
            ("stampede-help-man.1", "stampede\\-help\\-man \\- Print a manual page"),
        ] {
            let text = fs::read_to_string(dir.path().join(name)).unwrap();
            assert!(text.contains(heading) && text.contains("Stampede 0."), "{name}: {text}");
        }
        let pages = fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().file_name());
        let hidden: Vec<_> = pages.filter(|name| name.to_string_lossy().contains("__")).collect();
        assert!(hidden.is_empty(), "{hidden:?}");
    }

    #[test]
    fn a_page_of_no_command_is_a_mistake() {
        for words in [&["compere"][..], &["show", "nothing"], &["__warden"]] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(named(&words).map(|_| ()).unwrap_err().exit, Exit::Usage, "{words:?}");
        }
    }
}
