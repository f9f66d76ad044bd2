//! What a command stands on: a machine with its processors, its lock, its platforms and its signals.
//!
//! There is one of them outside of tests, [`ThisMachine`]. Tests run the same commands on one that is made up.

use std::any::Any;
use std::future::Future;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use stampede_core::{Bytes, CpuLayout, Fut, Machine, Revision};
use stampede_harness::Stop;
use stampede_load::Backend;
use stampede_plan::{ComparePlan, MachineSize};
use stampede_platforms::lock::{LockError, MeasuringLock};
use stampede_platforms::scope;
use stampede_seam::Platform;
use tokio::runtime::{Builder, Runtime};

use crate::backend::BackendChoice;
use crate::exit::Failure;
use crate::open_files::{OWN_FILES, raise_open_files};
use crate::signals::{Interrupts, Signals};
use crate::{ground, screen, signals};

/// How often a lock that another Stampede holds is tried.
const LOCK_PAUSE: Duration = Duration::from_millis(200);

/// Longest wait for blocking threads at the end; a request whose server is gone ends at once.
pub(crate) const LAST_WAIT: Duration = Duration::from_secs(10);

/// How work that signals can end came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Complete,
    Interrupted,
}

/// Held for as long as nobody else may measure.
pub(crate) type Lock = Box<dyn Any + Send>;

/// What a command stands on.
pub(crate) trait Host: Sync {
    /// The machine, for records.
    fn machine(&self) -> Machine;

    /// How much of it there is.
    fn size(&self) -> MachineSize;

    /// The processors that may be used.
    fn cpus(&self) -> Vec<u32>;

    /// Brings this process to where it can make limited groups, which may start it again; says so where it cannot. To be called
    /// before anything is opened.
    fn settle(&self);

    /// Keeps this process, and what it starts, to a part of the processors, and makes what its futures run on.
    ///
    /// # Errors
    ///
    /// When the system refuses it.
    fn enter(&self, own: &[u32]) -> Result<Runtime, Failure>;

    /// What asks to stop from here on. To be called on what [`Host::enter`] made.
    ///
    /// # Errors
    ///
    /// When the system refuses it.
    fn interrupts(&self) -> Result<Box<dyn Interrupts>, Failure>;

    /// The date and time.
    fn now(&self) -> Timestamp;

    /// Waits until nobody else measures here; says so where that takes a while.
    fn lock<'a>(&'a self, purpose: &'a str, no_wait: bool) -> Fut<'a, Result<Lock, Failure>>;

    /// The platform of a plan, on these processors, with all that the runtimes of the plan and of those beside it need and that
    /// it can give them. To be made while the lock is held.
    fn platform<'a>(
        &'a self,
        plan: &'a ComparePlan,
        beside: &'a [&'a ComparePlan],
        server_cpus: Vec<u32>,
        quiet: bool,
    ) -> Fut<'a, Result<Box<dyn Platform>, Failure>>;

    /// Which state a folder of sources is in, where it is kept in a repository.
    fn revision<'a>(&'a self, folder: &'a Path) -> Fut<'a, Option<Revision>>;

    /// How load is driven from these processors.
    fn backend<'a>(&'a self, choice: BackendChoice, cpus: &'a CpuLayout, quiet: bool) -> Fut<'a, Backend>;
}

/// Does work that measures deployments of so many cores, on cores of its own and until signals end it, whatever it is doing.
///
/// # Errors
///
/// When it could not begin; how it ended otherwise.
pub(crate) fn attend<W: Future<Output = Result<(), Failure>>>(
    host: &dyn Host,
    cores: usize,
    quiet: bool,
    stop: &Stop,
    work: impl FnOnce(CpuLayout) -> W,
) -> Result<Result<Ended, Failure>, Failure> {
    let pinning = CpuLayout::divide(&host.cpus(), cores);
    // Everything of Stampede's own stays off the server's cores from here on: threads inherit this.
    let runtime = host.enter(&pinning.generator)?;
    let ended = runtime.block_on(async {
        let interrupts = host.interrupts()?;
        signals::heed(interrupts, stop, quiet, work(pinning)).await
    });
    // What still runs on a blocking thread (a run that is being prepared when Ctrl-C comes) cleans up after itself.
    runtime.shutdown_timeout(LAST_WAIT);
    Ok(ended)
}

/// The machine that this program runs on, as it is before this program keeps to a part of it.
pub(crate) struct ThisMachine {
    machine: Machine,
    cpus: Vec<u32>,
}

impl ThisMachine {
    /// To be made before anything is pinned: what this process may use then is the machine.
    pub(crate) fn new() -> Self {
        Self { machine: stampede_platforms::machine(), cpus: stampede_platforms::available_cpus() }
    }
}

impl Host for ThisMachine {
    fn machine(&self) -> Machine {
        self.machine.clone()
    }

    fn size(&self) -> MachineSize {
        MachineSize {
            cpus: self.machine.cpus,
            memory: Bytes::new(stampede_platforms::memory().unwrap_or(u64::MAX)),
            connections: raise_open_files().saturating_sub(OWN_FILES),
        }
    }

    fn cpus(&self) -> Vec<u32> {
        self.cpus.clone()
    }

    fn settle(&self) {
        if let Err(error) = scope::enter(Path::new("/")) {
            screen::warning(&Failure::missing(error).message);
        }
    }

    fn enter(&self, own: &[u32]) -> Result<Runtime, Failure> {
        stampede_platforms::pin_to(own).map_err(Failure::missing)?;
        Builder::new_current_thread().enable_all().build().map_err(Failure::missing)
    }

    fn interrupts(&self) -> Result<Box<dyn Interrupts>, Failure> {
        Ok(Box::new(Signals::new()?))
    }

    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn lock<'a>(&'a self, purpose: &'a str, no_wait: bool) -> Fut<'a, Result<Lock, Failure>> {
        Box::pin(async move {
            let mut told = false;
            loop {
                match MeasuringLock::try_acquire(purpose) {
                    Ok(lock) => return Ok(Box::new(lock) as Lock),
                    Err(LockError::Held { holder }) if no_wait => {
                        return Err(Failure::missing(format!(
                            "another Stampede is measuring on this machine: {holder}\n  wait for it, or leave out --no-wait"
                        )));
                    }
                    Err(LockError::Held { holder }) => {
                        if !told {
                            screen::note(&format!("waiting for another Stampede that is measuring: {holder}"));
                        }
                        told = true;
                    }
                    Err(error) => return Err(Failure::missing(error)),
                }
                tokio::time::sleep(LOCK_PAUSE).await;
            }
        })
    }

    fn platform<'a>(
        &'a self,
        plan: &'a ComparePlan,
        beside: &'a [&'a ComparePlan],
        server_cpus: Vec<u32>,
        quiet: bool,
    ) -> Fut<'a, Result<Box<dyn Platform>, Failure>> {
        Box::pin(ground::platform(plan, beside, server_cpus, quiet))
    }

    fn backend<'a>(&'a self, choice: BackendChoice, cpus: &'a CpuLayout, quiet: bool) -> Fut<'a, Backend> {
        Box::pin(choice.find_aside(cpus, quiet))
    }

    fn revision<'a>(&'a self, folder: &'a Path) -> Fut<'a, Option<Revision>> {
        Box::pin(stampede_platforms::revision(folder))
    }
}
