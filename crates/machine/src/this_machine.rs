//! The machine that this program runs on, as studies are conducted on it.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use stampede_conduct::{Failure, Host, Interrupts, Lock, Notices, OwnProgram, reference_server};
use stampede_core::{Bytes, Certificate, CpuLayout, Fut, Machine, Revision};
use stampede_load::Backend;
use stampede_plan::{ComparePlan, MachineSize};
use stampede_platforms::lock::{LockError, MeasuringLock};
use stampede_platforms::scope;
use stampede_seam::Platform;
use tokio::runtime::{Builder, Runtime};

use crate::folders::cache_folder;
use crate::onlooker::Onlooker;
use crate::open_files::{OWN_FILES, raise_open_files};
use crate::signals::Signals;
use crate::{backend, platform};

/// How often a lock that another Stampede holds is tried.
const LOCK_PAUSE: Duration = Duration::from_millis(200);

/// The machine that this program runs on, as it is before this program keeps to a part of it.
pub struct ThisMachine {
    onlooker: Onlooker<'static>,
    machine: Machine,
    cpus: Vec<u32>,
}

impl ThisMachine {
    /// To be made before anything is pinned: what this process may use then is the machine.
    #[must_use]
    pub fn new(onlooker: Onlooker<'static>) -> Self {
        Self { onlooker, machine: stampede_platforms::machine(), cpus: stampede_platforms::available_cpus() }
    }

    /// Who is told, or only warned where it is to be quiet.
    fn onlooker(&self, quiet: bool) -> Onlooker<'static> {
        Onlooker { quiet, ..self.onlooker }
    }
}

impl Host for ThisMachine {
    fn notices(&self) -> &dyn Notices {
        self.onlooker.notices
    }

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
            self.notices().warning(&Failure::missing(error).message);
        }
    }

    fn enter(&self, layout: &CpuLayout) -> Result<Runtime, Failure> {
        stampede_platforms::pin_to(&layout.generator).map_err(Failure::missing)?;
        if !layout.is_shared() && platform::goes_first() {
            // Who may not is as every program: a load that was late for it is found in every trial.
            let _ = stampede_priority::go_first();
        }
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
                            self.notices().note(&format!("waiting for another Stampede that is measuring: {holder}"));
                        }
                        told = true;
                    }
                    Err(error) => return Err(Failure::missing(error)),
                }
                tokio::time::sleep(LOCK_PAUSE).await;
            }
        })
    }

    fn as_root(&self) -> Option<String> {
        platform::again_as_root()
    }

    fn platform<'a>(
        &'a self,
        plan: &'a ComparePlan,
        beside: &'a [&'a ComparePlan],
        server_cpus: Vec<u32>,
        quiet: bool,
    ) -> Fut<'a, Result<Box<dyn Platform>, Failure>> {
        Box::pin(platform::platform(plan, beside, server_cpus, self.onlooker(quiet)))
    }

    fn backend<'a>(&'a self, asked: Option<Backend>, cpus: &'a CpuLayout, quiet: bool) -> Fut<'a, Backend> {
        Box::pin(backend::find(asked, cpus, self.onlooker(quiet)))
    }

    fn revision<'a>(&'a self, folder: &'a Path) -> Fut<'a, Option<Revision>> {
        Box::pin(stampede_platforms::revision(folder))
    }

    fn program(&self) -> Result<OwnProgram, Failure> {
        let path = env::current_exe().map_err(Failure::missing)?;
        let found = fs::metadata(&path).map_err(Failure::missing)?;
        // Whatever the version says, another file is another program.
        let version = format!("{} {}.{}", found.len(), found.mtime(), found.mtime_nsec());
        let folder = cache_folder()?.join(reference_server::ID);
        fs::create_dir_all(&folder).map_err(Failure::missing)?;
        Ok(OwnProgram { path, version, folder })
    }

    fn certificate(&self) -> Result<Certificate, Failure> {
        stampede_platforms::self_made().map_err(Failure::missing)
    }
}
