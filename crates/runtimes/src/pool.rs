//! How many PHP workers fit into limits.

use stampede_core::{Bytes, Limits, Load, Tuning, TuningProblem};

/// What is set aside for one worker. The workload `markdown` takes 1.2 to 2.2 MiB of anonymous memory a worker beside the
/// pages that workers share; an application on a framework takes several times as much.
const WORKER: Bytes = Bytes::from_mib(8);

/// What is set aside for the rest: the main process, the web server in front, the kernel's buffers, and the part of the
/// opcode cache that is in use.
const BASE: Bytes = Bytes::from_mib(32);

/// Workers for each core where requests compute more than they wait.
const WORKERS_A_CORE: u64 = 4;

/// A number of workers and why it is that.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pool {
    /// How many requests can be worked on at once; at least 1.
    pub(crate) workers: u64,
    /// One sentence without its end.
    pub(crate) reason: String,
}

/// That a setting is `more than` another one, or, as it has to be less, `not less than` it.
pub(crate) fn out_of_order(tuning: &Tuning, smaller: &str, how: &str, larger: &str) -> Option<TuningProblem> {
    let (low, high) = (tuning.count(smaller)?, tuning.count(larger)?);
    let problem = || format!("{smaller} = {low} is {how} {larger} = {high}");
    let is_wrong = low > high || (low == high && how == "not less than");
    is_wrong.then(|| TuningProblem::new(smaller, problem(), format!("lower {smaller} or raise {larger}")))
}

/// A worker for every connection: for servers whose workers wait for the next request of the connection that they hold.
pub(crate) fn for_connections(limits: &Limits, load: &Load) -> Pool {
    let connections = u64::from(load.connections());
    let fit = fitting(limits);
    if connections < fit {
        Pool {
            workers: connections + 1,
            reason: format!(
                "a child is bound to each of the {connections} keep-alive connections, and one more answers checks"
            ),
        }
    } else {
        Pool {
            workers: fit,
            reason: format!(
                "{} holds {fit} children of about {WORKER}; keep-alive connections beyond them wait until one closes",
                limits.memory
            ),
        }
    }
}

/// Some workers for every core: for servers that give a worker to a request, not to a connection.
pub(crate) fn for_cores(limits: &Limits, load: &Load) -> Pool {
    let cores = limits.cpus.whole_cores() as u64;
    let wanted = cores * WORKERS_A_CORE;
    let connections = u64::from(load.connections());
    let fit = fitting(limits);
    if fit < wanted.min(connections) {
        Pool { workers: fit, reason: format!("{} holds {fit} workers of about {WORKER}", limits.memory) }
    } else if connections < wanted {
        Pool { workers: connections, reason: format!("no more than {connections} requests come at once") }
    } else {
        Pool {
            workers: wanted,
            reason: format!(
                "{WORKERS_A_CORE} per CPU of the limit ({}, rounded up): some compute while others wait",
                limits.cpus
            ),
        }
    }
}

/// How many workers memory holds; at least 1.
fn fitting(limits: &Limits) -> u64 {
    (limits.memory.get().saturating_sub(BASE.get()) / WORKER.get()).max(1)
}

#[cfg(test)]
mod tests {
    use stampede_core::Cpus;

    use super::*;

    #[test]
    fn pools_follow_the_load_until_memory_or_cores_end() {
        for (millis, mib, connections, by_connection, by_core) in [
            (500, 256, 16, 17, 4),
            (500, 256, 2, 3, 2),
            (2000, 1024, 64, 65, 8),
            (2000, 1024, 500, 124, 8),
            (1000, 48, 16, 2, 2),
            (100, 16, 16, 1, 1),
        ] {
            let limits = Limits { cpus: Cpus::from_millis(millis), memory: Bytes::from_mib(mib) };
            let load = Load::Closed { connections };
            assert_eq!(
                (for_connections(&limits, &load).workers, for_cores(&limits, &load).workers),
                (by_connection, by_core),
                "{millis}m {mib}Mi {connections}"
            );
        }
    }
}
