//! Commands that measure containers which are not seen from here: they are carried out beside the engine.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use stampede_conduct::Failure;
use stampede_platforms::docker::{ELSEWHERE, beside};

use crate::onlooker::Onlooker;

/// The words by which this program is the first process of a container beside the engine.
const KEEPER: [&str; 2] = ["__beside", "--"];

/// Keeps a command in a container beside the engine, and returns its exit code.
///
/// # Errors
///
/// When it cannot be started.
pub fn keep(args: &[String]) -> Result<u8, Failure> {
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    beside::keep(&args).map_err(Failure::missing)
}

/// Whether a command could not be done since containers are not seen from here, but can beside them.
#[must_use]
pub fn is_next(failure: &Failure) -> bool {
    failure.message == ELSEWHERE && !beside::is_beside()
}

/// Carries this process's command out beside the engine, with this store and tables of this width, and returns its exit code. What it
/// prints is given to `out` and `err`.
///
/// # Errors
///
/// When the engine cannot start it, its end is not known, or a file that it wrote cannot be brought here.
pub fn carry_out(
    store: PathBuf,
    columns: usize,
    onlooker: Onlooker<'_>,
    [out, err]: [fn(&[u8]); 2],
) -> Result<u8, Failure> {
    let args: Option<Vec<String>> = env::args_os().skip(1).map(|arg| arg.into_string().ok()).collect();
    let args = args.ok_or_else(|| Failure::usage("the command line is not UTF-8, which the engine takes alone"))?;
    if !args.iter().any(|arg| arg == "--quiet") {
        let told = "the engine's containers are not seen from here: Stampede is started in a container beside them";
        onlooker.notices.note(told);
    }
    let errand = beside::Errand { keeper: KEEPER.map(str::to_owned).to_vec(), args, store, columns, out, err };
    beside::carry_out(&errand).map_err(Failure::missing)
}

#[cfg(test)]
mod tests {
    use stampede_conduct::Exit;
    use stampede_platforms::docker::DockerError;

    use super::*;

    #[test]
    fn a_command_is_carried_out_beside_the_engine_for_one_reason_alone() {
        assert!(is_next(&Failure::missing(DockerError::Elsewhere)));
        assert!(!is_next(&Failure::missing("something else")));
        assert!(!is_next(&Failure { exit: Exit::Missing, message: format!("start it: {ELSEWHERE}") }));
    }
}
