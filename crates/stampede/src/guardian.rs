//! `stampede __guardian`: what runs in the pods of a load.

pub(crate) mod args;

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use stampede_kubernetes::guardian::{self, GuardianEnd};
use stampede_machine::in_pod;
use tokio::runtime::Builder;

use crate::guardian::args::GuardianTask;

/// Does what it is started for. A guardian that is evicted has not succeeded, so that its Job starts another one.
pub(crate) fn run(task: GuardianTask) -> ExitCode {
    let ended = Builder::new_current_thread().enable_all().build().and_then(|runtime| {
        let ended = runtime.block_on(obey(task));
        // A thread that reads standard input would be waited for otherwise.
        runtime.shutdown_background();
        ended
    });
    match ended {
        Ok(GuardianEnd::LeaseOver) => ExitCode::SUCCESS,
        Ok(GuardianEnd::Evicted) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(io::stderr(), "stampede __guardian: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn obey(task: GuardianTask) -> io::Result<GuardianEnd> {
    match task {
        GuardianTask::Hold { run, lease } => guardian::hold(&run, Duration::from_secs(lease)).await,
        GuardianTask::Renew { run } => {
            guardian::renew(&run, tokio::io::stdin(), tokio::io::stdout()).await.map(|()| GuardianEnd::LeaseOver)
        }
        GuardianTask::Wait => guardian::wait().await.map(|()| GuardianEnd::LeaseOver),
        GuardianTask::Put { folder } => in_pod::put(&folder).map(|()| GuardianEnd::LeaseOver),
        GuardianTask::Look { address, patience_ms, port } => {
            print(in_pod::look_around(address, port, Duration::from_millis(patience_ms)).await)
        }
        GuardianTask::Node => print(in_pod::node()),
    }
}

fn print(said: Result<String, String>) -> io::Result<GuardianEnd> {
    writeln!(io::stdout(), "{}", said.map_err(io::Error::other)?)?;
    Ok(GuardianEnd::LeaseOver)
}
