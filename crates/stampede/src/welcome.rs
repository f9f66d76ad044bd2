//! `stampede` without a command: what this folder holds, and what to type next.

use std::path::Path;

use stampede_conduct::{Failure, Host};
use stampede_plan::{ComparePlan, DatabaseFlags, PLAN_FILE, SiteFlags};

use crate::{Outcome, exit::Exit, list, screen};
use stampede_catalogue::BuiltIn;

/// The file that makes a folder a PHP project: what is wrong with one is worth more than the list of commands.
const PROJECT: &str = "composer.json";

pub(crate) fn run(host: &dyn Host) -> Outcome {
    greet(Path::new("."), host)
}

fn greet(folder: &Path, host: &dyn Host) -> Outcome {
    if folder.join(PLAN_FILE).is_file() {
        return next(&format!("This folder has a plan: {PLAN_FILE}"), &OF_A_PLAN);
    }
    let (site, databases) = (SiteFlags::default(), DatabaseFlags::default());
    match ComparePlan::of_application(folder, &site, &databases, host.size(), &BuiltIn) {
        Ok(plan) => {
            let has_revisions = |folder: &Path| folder.ancestors().any(|above| above.join(".git").exists());
            let in_repository = folder.canonicalize().is_ok_and(|folder| has_revisions(&folder));
            let commands = OF_AN_APPLICATION.iter().filter(|command| in_repository || **command != OF_A_REVISION);
            let texts = plan.introduction(&list::installed()?);
            let texts = texts.map(|text| stampede_report::terminal::paragraph(&text, 2, screen::width()));
            next(&texts.join("\n"), &commands.copied().collect::<Vec<_>>())
        }
        Err(mistakes) if folder.join(PROJECT).is_file() => Err(Failure::usage(mistakes)),
        Err(_) => {
            let seen = "No application found in this folder (index.php, public/index.php, web/index.php).";
            screen::note(&format!("{seen}\n\nNext:\n{}", rows(&ELSEWHERE)));
            Ok(Exit::Usage)
        }
    }
}

/// Commands, each with what it is for.
const OF_A_PLAN: [(&str, &str); 3] = [
    ("stampede compare", "run the comparison in stampede.yaml"),
    ("stampede compare --dry-run", "show what it would run"),
    ("stampede --help", "all commands"),
];
const OF_A_REVISION: (&str, &str) = ("stampede gate HEAD .", "do the changes since the last commit slow it down?");
const OF_AN_APPLICATION: [(&str, &str); 4] = [
    ("stampede compare .", "which runtime is fastest for it"),
    ("stampede init .", "write stampede.yaml, with the expected responses"),
    OF_A_REVISION,
    ("stampede --help", "all commands"),
];

const ELSEWHERE: [(&str, &str); 3] = [
    ("stampede compare DIR", "which runtime is fastest for the application in DIR"),
    ("stampede compare hello", "the same for a built-in one (stampede list workloads)"),
    ("stampede --help", "all commands"),
];

fn next(seen: &str, commands: &[(&str, &str)]) -> Outcome {
    screen::print(&format!("{seen}\n\nNext:\n{}", rows(commands)))?;
    Ok(Exit::Done)
}

fn rows(commands: &[(&str, &str)]) -> String {
    commands.iter().map(|(command, purpose)| format!("  {command:<28}{purpose}\n")).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::notices::ONLOOKER;
    use crate::screen::capture::{Captured, install};

    /// Exit code, and both streams.
    fn greeted(files: &[(&str, &str)]) -> (u8, String) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let captured = Captured::default();
        install(Some(captured.clone()));
        let outcome = greet(folder.path(), &stampede_machine::ThisMachine::new(ONLOOKER));
        install(None);
        let (exit, more) = match outcome {
            Ok(exit) => (exit, String::new()),
            Err(Failure { exit, message }) => (exit, message),
        };
        (exit as u8, captured.texts().concat() + &more)
    }

    #[test]
    fn what_a_folder_holds_is_said_with_the_next_command() {
        for (name, files, code, parts) in [
            ("a plan", &[("stampede.yaml", "workload: hello\n")][..], 0, &["has a plan", "stampede compare  "][..]),
            (
                "scripts",
                &[("public/index.php", "<?php echo 1;")],
                0,
                &["This folder is a", "that can serve it", "stampede compare ."],
            ),
            ("nothing", &[], 2, &["No application found", "stampede compare hello"]),
            (
                "a repository",
                &[("index.php", "<?php echo 1;"), (".git/HEAD", "ref: refs/heads/main")],
                0,
                &["stampede gate HEAD ."],
            ),
            ("a project that cannot be served", &[("composer.json", "{")], 2, &["composer.json"]),
        ] {
            let (exit, said) = greeted(files);
            assert_eq!(exit, code, "{name}: {said}");
            for part in parts {
                assert!(said.contains(part), "{name}: {part}\n{said}");
            }
        }
    }
}
