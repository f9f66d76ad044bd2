//! `stampede completions`: a script that completes command lines in a shell.

use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};

use crate::args::Args;
use crate::exit::Exit;
use crate::{Outcome, screen};

const NAME: &str = "stampede";

pub(crate) fn run(shell: Shell) -> Outcome {
    screen::print_bytes(&script(shell))?;
    Ok(Exit::Done)
}

/// Without commands that Stampede starts itself with: generators of scripts take hidden ones too.
fn script(shell: Shell) -> Vec<u8> {
    let all = Args::command();
    let mut shown = Command::new(NAME)
        .disable_help_subcommand(true)
        .args(all.get_arguments())
        .subcommands(all.get_subcommands().filter(|command| !command.is_hide_set()));
    let mut script = Vec::new();
    generate(shell, &mut shown, NAME, &mut script);
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_know_commands_and_flags_and_nothing_hidden() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = String::from_utf8(script(shell)).unwrap();
            for part in ["compare", "export-study", "runtimes", "max-time"] {
                assert!(script.contains(part), "{shell}: {part}");
            }
            assert!(!script.contains("__warden"), "{shell}");
        }
    }
}
