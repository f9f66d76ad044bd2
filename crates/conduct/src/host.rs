//! What a command stands on: a machine with its processors, its lock, its platforms, its signals and a person who is told.
//!
//! The binary has one for this machine. Tests run the same commands on one that is made up.

use std::any::Any;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use jiff::Timestamp;
use stampede_core::{Certificate, CpuLayout, Fut, Machine, Revision, Study};
use stampede_harness::Stop;
use stampede_plan::{ComparePlan, MachineSize};
use stampede_seam::{Backend, Platform};
use tokio::runtime::Runtime;

use crate::exit::Failure;
use crate::interrupts::Interrupts;
use crate::notices::Notices;

/// Longest wait for blocking threads at the end; a request whose server is gone ends at once.
pub const LAST_WAIT: Duration = Duration::from_secs(10);

/// How work that signals can end came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was done.
    Complete,
    /// A signal ended it.
    Interrupted,
}

/// Held for as long as nobody else may measure.
pub type Lock = Box<dyn Any + Send>;

/// This program, as a server of its own is started from it.
#[derive(Clone, Debug)]
pub struct OwnProgram {
    /// Its file.
    pub path: PathBuf,
    /// What another file has not.
    pub version: String,
    /// An empty folder for it.
    pub folder: PathBuf,
}

/// What a command stands on.
pub trait Host: Sync {
    /// Who is told what goes on.
    fn notices(&self) -> &dyn Notices;

    /// The machine, for records.
    fn machine(&self) -> Machine;

    /// How much of it there is.
    fn size(&self) -> MachineSize;

    /// The processors that may be used.
    fn cpus(&self) -> Vec<u32>;

    /// Brings this process to where it can make limited groups, which may start it again; says so where it cannot. To be called
    /// before anything is opened.
    fn settle(&self);

    /// The line that does as root what this command does, where that would let it limit what it starts.
    fn as_root(&self) -> Option<String>;

    /// Keeps this process, and what it starts, to the generator's part of the processors, and makes what its futures run on. Where that part
    /// is its own, it goes before programs beside it, if it may.
    ///
    /// # Errors
    ///
    /// When the system refuses it.
    fn enter(&self, layout: &CpuLayout) -> Result<Runtime, Failure>;

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

    /// How load is driven from these processors: as was asked for, or what costs least here.
    fn backend<'a>(&'a self, asked: Option<Backend>, cpus: &'a CpuLayout, quiet: bool) -> Fut<'a, Backend>;

    /// The program that serves as the reference server.
    ///
    /// # Errors
    ///
    /// When its file or a folder for it cannot be had.
    fn program(&self) -> Result<OwnProgram, Failure>;

    /// A certificate for a balancer that ends TLS.
    ///
    /// # Errors
    ///
    /// When none can be made.
    fn certificate(&self) -> Result<Certificate, Failure>;
}

/// A host, and how a command behaves on it.
#[derive(Clone, Copy)]
pub struct Bench<'a> {
    /// The host.
    pub host: &'a dyn Host,
    /// Whether it fails at once where somebody else measures.
    pub no_wait: bool,
    /// Whether only warnings are told.
    pub quiet: bool,
}

impl Bench<'_> {
    /// Tells lines that are laid out as they are.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            self.host.notices().note(text);
        }
    }

    /// Tells a line that may be long.
    pub(crate) fn paragraph(&self, text: &str, hang: usize) {
        if !self.quiet {
            self.host.notices().paragraph(text, hang);
        }
    }

    /// Tells which settings each case of a study has, and why.
    pub(crate) fn settings(&self, study: &Study) {
        if !self.quiet {
            self.host.notices().settings(study);
        }
    }

    /// Warns, also where all else is quiet.
    pub fn warning(&self, text: &str) {
        self.host.notices().warning(text);
    }
}

/// Does work that measures deployments of so many cores, on cores of its own and until signals end it, whatever it is doing.
///
/// # Errors
///
/// When it could not begin; how it ended otherwise.
pub fn attend<W: Future<Output = Result<(), Failure>>>(
    bench: Bench<'_>,
    cores: usize,
    stop: &Stop,
    work: impl FnOnce(CpuLayout) -> W,
) -> Result<Result<Ended, Failure>, Failure> {
    let pinning = CpuLayout::divide(&bench.host.cpus(), cores);
    // Everything of Stampede's own stays off the server's cores from here on, and goes before programs beside it: threads inherit this.
    let runtime = bench.host.enter(&pinning)?;
    let ended = runtime.block_on(async {
        let interrupts = bench.host.interrupts()?;
        heed(interrupts, stop, bench, work(pinning)).await
    });
    // What still runs on a blocking thread (a run that is being prepared when Ctrl-C comes) cleans up after itself.
    runtime.shutdown_timeout(LAST_WAIT);
    Ok(ended)
}

/// Does work until it is done, a signal ends it, or it ends for the first Ctrl-C: that lets the block that is measured be
/// completed, the second one does not. Whoever drops the work cleans up.
async fn heed(
    mut interrupts: Box<dyn Interrupts>,
    stop: &Stop,
    bench: Bench<'_>,
    work: impl Future<Output = Result<(), Failure>>,
) -> Result<Ended, Failure> {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            is_interrupt = interrupts.next() => {
                if !is_interrupt || !stop.ask() {
                    return Ok(Ended::Interrupted);
                }
                bench.host.notices().stopping(bench.quiet);
            }
            ended = &mut work => {
                let ended_as = if stop.is_obeyed() { Ended::Interrupted } else { Ended::Complete };
                return ended.map(|()| ended_as);
            }
        }
    }
}
