//! `stampede __agent`: sees deployments from where it runs, for whoever is at the other end of standard input and output.

use std::io::{self, Write as _};
use std::process::ExitCode;

use stampede_agent::PATIENCE;
use stampede_vantage::Here;
use tokio::runtime::Builder;

use crate::open_files::raise_open_files;

/// Serves until its input ends, or nothing comes any more.
pub(crate) fn serve() -> ExitCode {
    raise_open_files();
    match serve_streams() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            let _ = writeln!(io::stderr(), "stampede __agent: who started this is lost: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn serve_streams() -> Result<(), String> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    let served = runtime.block_on(async { stampede_agent::serve(Here::new(), input, output, PATIENCE).await });
    // A thread that reads standard input, or waits for an answer, would be waited for otherwise.
    runtime.shutdown_background();
    served.map_err(|error| error.to_string())
}
