//! An agent on this machine: sees deployments from where it runs, for whoever is at the other end of standard input and output.

use stampede_agent::{AgentHost, PATIENCE};
use stampede_core::with_causes;
use stampede_load::Backend;
use stampede_platforms::available_cpus;
use stampede_platforms::lock::MeasuringLock;
use stampede_vantage::Here;
use tokio::runtime::Builder;

use crate::open_files::raise_open_files;

/// Serves until its input ends, or nothing comes any more; where `lock` says what for, while nobody else measures on this machine. Its
/// load goes before other programs where so many agents as `first` says have a processor each: those that share one would wait for each
/// other.
///
/// # Errors
///
/// When somebody else measures, or whoever asks is lost.
pub fn serve(lock: Option<&str>, first: Option<usize>) -> Result<(), String> {
    raise_open_files();
    if first.is_some_and(|agents| available_cpus().len() >= agents) {
        // Who may not is as every program: a load that was late for it is found.
        let _ = stampede_priority::go_first();
    }
    let lock = lock.map(MeasuringLock::try_acquire).transpose().map_err(|error| with_causes(&error));
    lock.and_then(|_lock| serve_streams())
}

fn serve_streams() -> Result<(), String> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    let host = AgentHost {
        cpus: available_cpus(),
        boot: stampede_drive::boot(),
        io_uring_refused: stampede_load::try_out(Backend::IoUring).err().map(|error| error.to_string()),
    };
    let served = runtime.block_on(async { stampede_agent::serve(Here::new(), host, input, output, PATIENCE).await });
    // A thread that reads standard input, or waits for an answer, would be waited for otherwise.
    runtime.shutdown_background();
    served.map_err(|error| format!("who started this is lost: {error}"))
}
