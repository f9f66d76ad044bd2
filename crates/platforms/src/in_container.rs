//! A look around in a container that this program was brought into: by whom, and where the container runs, is not known here.
//!
//! It is the only way to what the kernel holds a container to, where the machine's own files are not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs, process};

use stampede_cgroup::Group;
use stampede_core::{CgroupSupport, ImageTraits, Machine, with_causes};
use stampede_seam::{ContainerLook, Vantage};
use tokio::time::sleep;

use crate::docker::port::{Spoken, ask, best, why_none};
use crate::docker::sockets::{Listening, listening};
use crate::machine::{available_cpus, machine};
use crate::runs::group::{enforced, source};

const PAUSE: Duration = Duration::from_millis(20);

/// How long other ports are waited for, where what answers is no page.
const SETTLE_TIME: Duration = Duration::from_secs(1);

/// How long a port may take to its first answer until others are asked.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// The fields of a process's line after its name, up to the time of its start (proc_pid_stat(5), field 22).
const START_FIELD: usize = 19;

/// Looks around, once a server listens at this address of the container: on this port, or on the one that is found by asking; or once
/// it has had so long for that.
///
/// # Errors
///
/// When the kernel's files cannot be read.
pub async fn look_around(
    vantage: &dyn Vantage,
    address: IpAddr,
    port: Option<u16>,
    patience: Duration,
) -> Result<ContainerLook, String> {
    let port = match port {
        Some(port) => await_port(port, patience).await,
        None => find_port(vantage, address, patience).await,
    };
    let group = own_group()?;
    let enforced = enforced(Some(&group)).map_err(|error| error.to_string())?;
    let processors = u32::try_from(available_cpus().len()).unwrap_or(u32::MAX);
    let traits = ImageTraits { labels: BTreeMap::new(), variables: variables(), words: words_of_first() };
    Ok(ContainerLook { enforced, processors, meter: source(&group), age: age_of_first()?, traits, port })
}

/// The machine that a container is on.
#[must_use]
pub fn node() -> Machine {
    // Whether this program could make groups there says nothing of who does.
    let cgroup = match own_group() {
        Ok(Group::V1(_)) => CgroupSupport::V1,
        Ok(Group::V2 { .. }) => CgroupSupport::V2,
        Err(_) => CgroupSupport::None,
    };
    Machine { cgroup, ..machine() }
}

fn own_group() -> Result<Group, String> {
    Group::of_process(Path::new("/"), process::id()).map_err(|error| with_causes(&error))
}

async fn await_port(port: u16, patience: Duration) -> Result<u16, String> {
    let begun = Instant::now();
    loop {
        match listening(process::id()).iter().find(|found| found.port == port) {
            Some(Listening { is_private: false, .. }) => return Ok(port),
            found if begun.elapsed() >= patience => {
                let problem = if found.is_some() { "listens on 127.0.0.1 alone" } else { "is not listened on" };
                return Err(format!("its port {port} {problem} after {} s", patience.as_secs()));
            }
            _ => sleep(PAUSE).await,
        }
    }
}

/// The port that takes the load, as soon as one answers.
async fn find_port(vantage: &dyn Vantage, address: IpAddr, patience: Duration) -> Result<u16, String> {
    let begun = Instant::now();
    let mut known: BTreeMap<u16, Spoken> = BTreeMap::new();
    let (mut first_socket, mut first_answer) = (None, None);
    loop {
        let sockets = listening(process::id());
        if !sockets.is_empty() {
            first_socket.get_or_insert_with(Instant::now);
        }
        ask(&mut known, &sockets, address, vantage, ANSWER_TIME.min(patience)).await;
        if let Some(port) = best(&known, &[]) {
            let since = first_answer.get_or_insert_with(Instant::now).elapsed();
            let is_page = matches!(known.get(&port), Some(Spoken::Http(200..=399)));
            if is_page || since >= SETTLE_TIME {
                return Ok(port);
            }
        }
        // What listens on another address, or speaks FastCGI, stays so. A web server beside it may take a while.
        let is_settled = known.values().any(|spoken| matches!(spoken, Spoken::FastCgi | Spoken::Private));
        let since = first_socket.map_or(Duration::ZERO, |first: Instant| first.elapsed());
        if begun.elapsed() >= patience || (is_settled && first_answer.is_none() && since >= ANSWER_TIME) {
            return Err(why_none(&known));
        }
        sleep(PAUSE).await;
    }
}

/// What is in the environment of every process of the container.
fn variables() -> BTreeSet<String> {
    env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect()
}

/// The words of the container's first process, or none where they are not shown.
fn words_of_first() -> Vec<String> {
    let line = fs::read("/proc/1/cmdline").unwrap_or_default();
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// How long ago the first process of the container began, to a hundredth of a second.
fn age_of_first() -> Result<Duration, String> {
    let read = |path: &str| fs::read_to_string(path).map_err(|error| format!("read {path}: {error}"));
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    age(&read("/proc/1/stat")?, &read("/proc/uptime")?, ticks)
        .ok_or_else(|| "read /proc/1/stat: it has no start".into())
}

fn age(stat: &str, uptime: &str, ticks: u64) -> Option<Duration> {
    // A name may hold blanks and brackets.
    let start: u64 = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(START_FIELD)?.parse().ok()?;
    let up: f64 = uptime.split_ascii_whitespace().next()?.parse().ok()?;
    Duration::try_from_secs_f64((up - start as f64 / ticks as f64).max(0.0)).ok()
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    #[test]
    fn an_age_is_read_whatever_a_program_is_called() {
        let stat = "1 (a) b (c) S 0 1 1 0 -1 4194560 9 0 0 0 1 2 0 0 20 0 4 0 12345 1 2 3";
        assert_eq!(age(stat, "130.45 99.00\n", 100), Some(Duration::from_millis(7_000)));
        assert_eq!(age(stat, "1.00 99.00\n", 100), Some(Duration::ZERO));
        assert_eq!(age("1 (a) S 0", "1.00 99.00\n", 100), None);
        assert!(age_of_first().unwrap() > Duration::ZERO);
    }

    #[test]
    fn the_group_of_this_process_is_found() {
        assert!(node().cpus > 0);
        if let Ok(group) = own_group() {
            assert!(enforced(Some(&group)).is_ok(), "{group:?}");
        }
    }

    #[test]
    fn the_first_process_and_the_environment_show_whose_image_it_is() {
        // Who may not see the line of another user's process sees an empty one.
        assert_eq!(words_of_first().is_empty(), fs::read("/proc/1/cmdline").is_ok_and(|line| line.is_empty()));
        assert!(variables().contains("PATH"));
    }

    #[tokio::test]
    async fn a_port_is_waited_for() {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(await_port(port, Duration::from_secs(5)).await, Ok(port));
        drop(listener);
        let private = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = private.local_addr().unwrap().port();
        let problem = await_port(port, Duration::ZERO).await.unwrap_err();
        assert_eq!(problem, format!("its port {port} listens on 127.0.0.1 alone after 0 s"));
    }
}
