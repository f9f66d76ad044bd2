//! Any command that listens on the port in its environment variable `PORT`. What it is, how it is set and how it is
//! stopped says the workload.

use std::collections::BTreeMap;
use std::path::PathBuf;

use stampede_core::{
    About, App, AppKind, BuildStep, Command, CommandReady, DefaultsContext, Deployment, Makes, PlanError, Preparation,
    ProcessModel, Program, Programs, Ready, RenderContext, Requirement, Runtime, Tuning, Unit,
};

use crate::front;
use crate::lookup::Lookup;
use crate::recipe;

const ID: &str = "custom";
const RUN: &str = "the command";
const BUILD: &str = "the command's builder";
const BUILT: &str = "custom/program";

/// A command.
pub(crate) struct Custom;

impl Runtime for Custom {
    fn about(&self) -> About {
        About {
            id: ID,
            title: "any command that listens on $PORT, as the workload says",
            // What is least likely to flatter it: nothing is known of the command.
            process_model: ProcessModel::LongLivedWorkers,
            recipe: Some(&recipe::DISTRIBUTION),
            status: &[],
            // They are the command's own; see `Command::tunables`.
            tunables: &[],
        }
    }

    fn serves(&self, kind: &AppKind) -> bool {
        matches!(kind, AppKind::Command(_))
    }

    fn requires(&self, app: &App) -> Vec<Requirement> {
        let AppKind::Command(command) = &app.kind else {
            return Vec::new();
        };
        let named = |key, words: &[String]| {
            words
                .first()
                .filter(|program| !program.contains('/') && !program.contains("@{"))
                .map(|program| Requirement::Command { key, name: program.clone() })
        };
        [named(RUN, &command.run), command.build.as_deref().and_then(|build| named(BUILD, build))]
            .into_iter()
            .flatten()
            .collect()
    }

    fn version(&self, programs: &Programs) -> String {
        programs
            .get(RUN)
            .map_or_else(|| "the workload's own program".to_owned(), |found| found.path.display().to_string())
    }

    fn defaults(&self, cx: &DefaultsContext<'_>) -> Tuning {
        let mut tuning = Tuning::new();
        if let AppKind::Command(command) = &cx.app.kind {
            for tunable in &command.tunables {
                tuning = tuning.with_default(&tunable.name, &tunable.default, "the workload's own default");
            }
        }
        tuning.overlaid_with(cx.given)
    }

    fn deployment(&self, cx: &RenderContext<'_>) -> Result<Deployment, PlanError> {
        let AppKind::Command(command) = &cx.app.kind else {
            return Err(PlanError::AppKind(self.id()));
        };
        let lookup = Lookup::new(ID, cx);
        Ok(Deployment {
            preparation: (!command.replacements.is_empty())
                .then(|| Preparation { replacements: command.replacements.clone(), ..Preparation::default() }),
            ..front::deployment(&cx.app.source, vec![unit(cx, command, &lookup)?])
        })
    }
}

fn unit(cx: &RenderContext<'_>, command: &Command, lookup: &Lookup<'_>) -> Result<Unit, PlanError> {
    let Command { run, build, replacements: _, ready, stop, tunables: _ } = command;
    let mut env = cx.app.env.clone();
    env.extend(cx.tuning.iter().map(|(name, setting)| (name.to_owned(), setting.value.clone())));
    env.insert("HOST".to_owned(), "@{front.host}".to_owned());
    env.insert("PORT".to_owned(), "@{front.port}".to_owned());
    let words = found(RUN, run, lookup)?.into_iter().map(|word| word.replace("@{built}", &format!("@{{run}}/{BUILT}")));
    // A shell changes the folder and is replaced by the command, which so gets the stop signal itself.
    let args = ["-c", "cd \"$0\" && exec \"$@\"", "@{app}"].map(str::to_owned).into_iter().chain(words).collect();
    Ok(Unit {
        build: build.as_ref().map(|build| build_step(build, lookup)).transpose()?,
        ready: match ready {
            CommandReady::Port => Ready::Port(front::id()),
            CommandReady::Request => Ready::Request,
        },
        ..Unit::new(ID, Program { path: "/bin/sh".to_owned(), args, env }, *stop)
    })
}

fn build_step(build: &[String], lookup: &Lookup<'_>) -> Result<BuildStep, PlanError> {
    let mut words = found(BUILD, build, lookup)?.into_iter();
    let path = words.next().unwrap_or_default();
    Ok(BuildStep {
        program: Program { path, args: words.collect(), env: BTreeMap::new() },
        files: Vec::new(),
        output: PathBuf::from(BUILT),
        makes: Makes::Program,
        // The command says no version; its words and the application's content tell builds apart.
        toolchain: String::new(),
    })
}

/// The words of a command, with the program as it was found where it was looked for.
fn found(key: &'static str, words: &[String], lookup: &Lookup<'_>) -> Result<Vec<String>, PlanError> {
    let mut words = words.to_vec();
    if let Some(program) = words.first_mut()
        && !program.contains('/')
        && !program.contains("@{")
    {
        *program = lookup.path(key)?;
    }
    Ok(words)
}
