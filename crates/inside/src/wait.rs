//! What a thread waits for: the system call that it is in, and what the descriptor stands for that it waits on.

use std::fmt;
use std::fs;
use std::net::SocketAddr;
use std::os::fd::{OwnedFd, RawFd};
use std::sync::Arc;

use rustix::net::{SocketAddrAny, getpeername, getsockname, sockopt};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use stampede_core::{InsideTarget, InsideWait};

use crate::memory::{MemoryPart, RemoteMemory, half_at};
use crate::text::shown;

/// What a thread does at an instant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ThreadState {
    /// It runs.
    Running,
    /// It does not wait, and does not run: its quota is used up, or others run where it would.
    Ready,
    /// It waits.
    Waiting(Arc<PhpWait>),
}

impl fmt::Display for ThreadState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Running => f.write_str("running"),
            Self::Ready => f.write_str("ready"),
            Self::Waiting(wait) => write!(f, "waiting: {wait}"),
        }
    }
}

/// What a thread waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PhpWait {
    /// The system call's name, or its number; none where the kernel waits in its own affairs, as for a page from a disk.
    pub call: Option<Arc<str>>,
    /// The kernel's function that it waits in, where it may be read.
    pub kernel: Option<Arc<str>>,
    /// What stands behind the descriptor that it waits on.
    pub target: Option<WaitTarget>,
}

/// What a descriptor stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WaitTarget {
    /// A file or a device.
    File(Arc<str>),
    /// The other end of a connection: an address, or the path of a local socket.
    Peer(Arc<str>),
    /// A socket that takes connections, by its own address.
    Listener(Arc<str>),
    /// Another process, through a pipe or a pair of sockets.
    Pipe,
}

impl fmt::Display for PhpWait {
    /// As its record.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.record(&[]).fmt(f)
    }
}

impl PhpWait {
    /// It as a record. A connection to one of its `own` addresses leads a deployment to itself.
    pub(crate) fn record(&self, own: &[String]) -> InsideWait {
        let Self { call, kernel, target } = self;
        let text = |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned);
        let target = target.as_ref().map(|target| match target {
            WaitTarget::File(path) => InsideTarget::File(path.to_string()),
            WaitTarget::Peer(peer) if own.iter().any(|own| own.as_str() == &**peer) => {
                InsideTarget::Itself(peer.to_string())
            }
            WaitTarget::Peer(peer) => InsideTarget::Peer(peer.to_string()),
            WaitTarget::Listener(address) => InsideTarget::Listener(address.to_string()),
            WaitTarget::Pipe => InsideTarget::Pipe,
        });
        InsideWait { call: text(call), kernel: text(kernel), target }
    }
}

/// What `/proc/PID/task/TID/syscall` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    Runnable,
    /// In a call, by number and first arguments.
    Call(i64, [u64; 2]),
    /// It waits in the kernel and made no call.
    Kernel,
}

impl Activity {
    /// Reads `running`, `-1 SP PC` or `NUMBER ARGUMENTS... SP PC` (proc_pid_syscall(5)).
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let number = match words.next()? {
            "running" => return Some(Self::Runnable),
            number => number.parse().ok()?,
        };
        let mut argument = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
        match number {
            -1 => Some(Self::Kernel),
            _ => Some(Self::Call(number, [argument()?, argument()?])),
        }
    }
}

/// Where a call says which descriptor it waits on.
#[derive(Clone, Copy)]
enum Descriptor {
    /// Its first argument.
    First,
    /// The first of the `pollfd`s that its first argument points to.
    Polled,
    Unknown,
}

/// Calls in which PHP waits. Others are named by their number.
const CALLS: &[(libc::c_long, &str, Descriptor)] = &[
    (libc::SYS_read, "read", Descriptor::First),
    (libc::SYS_readv, "readv", Descriptor::First),
    (libc::SYS_pread64, "pread", Descriptor::First),
    (libc::SYS_write, "write", Descriptor::First),
    (libc::SYS_writev, "writev", Descriptor::First),
    (libc::SYS_pwrite64, "pwrite", Descriptor::First),
    (libc::SYS_recvfrom, "recv", Descriptor::First),
    (libc::SYS_recvmsg, "recvmsg", Descriptor::First),
    (libc::SYS_sendto, "send", Descriptor::First),
    (libc::SYS_sendmsg, "sendmsg", Descriptor::First),
    (libc::SYS_connect, "connect", Descriptor::First),
    (libc::SYS_accept, "accept", Descriptor::First),
    (libc::SYS_accept4, "accept", Descriptor::First),
    (libc::SYS_flock, "flock", Descriptor::First),
    (libc::SYS_fcntl, "fcntl", Descriptor::First),
    (libc::SYS_fsync, "fsync", Descriptor::First),
    (libc::SYS_fdatasync, "fdatasync", Descriptor::First),
    (libc::SYS_ppoll, "poll", Descriptor::Polled),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_poll, "poll", Descriptor::Polled),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_select, "select", Descriptor::Unknown),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_epoll_wait, "epoll_wait", Descriptor::Unknown),
    (libc::SYS_pselect6, "select", Descriptor::Unknown),
    (libc::SYS_epoll_pwait, "epoll_wait", Descriptor::Unknown),
    (libc::SYS_futex, "futex", Descriptor::Unknown),
    (libc::SYS_nanosleep, "sleep", Descriptor::Unknown),
    (libc::SYS_clock_nanosleep, "sleep", Descriptor::Unknown),
    (libc::SYS_wait4, "wait for a process", Descriptor::Unknown),
    (libc::SYS_semop, "semop", Descriptor::Unknown),
    (libc::SYS_semtimedop, "semop", Descriptor::Unknown),
    (libc::SYS_msgrcv, "msgrcv", Descriptor::Unknown),
    (libc::SYS_io_uring_enter, "io_uring", Descriptor::Unknown),
    (libc::SYS_openat, "open", Descriptor::Unknown),
    (libc::SYS_unlinkat, "unlink", Descriptor::Unknown),
    (libc::SYS_sched_yield, "sched_yield", Descriptor::Unknown),
];

/// What a process waits for that does this.
pub(crate) fn explain(
    pid: u32,
    memory: &dyn RemoteMemory,
    number: i64,
    arguments: [u64; 2],
    kernel: Option<Arc<str>>,
) -> PhpWait {
    let known = CALLS.iter().find(|(known, ..)| *known == number);
    let (name, descriptor) =
        known.map_or((format!("call {number}").into(), Descriptor::Unknown), |(_, name, at)| ((*name).into(), *at));
    let descriptor = match descriptor {
        Descriptor::First => RawFd::try_from(arguments[0]).ok(),
        Descriptor::Polled if arguments[1] > 0 => {
            let mut polled = [0; 8];
            let mut parts = [MemoryPart { address: arguments[0], bytes: &mut polled }];
            (memory.read_parts(&mut parts) == 1).then(|| half_at(&polled, 0).cast_signed())
        }
        Descriptor::Polled | Descriptor::Unknown => None,
    };
    PhpWait { call: Some(name), kernel, target: descriptor.and_then(|descriptor| target(pid, descriptor)) }
}

fn target(pid: u32, descriptor: RawFd) -> Option<WaitTarget> {
    let link = fs::read_link(format!("/proc/{pid}/fd/{descriptor}")).ok()?;
    let text = shown(link.as_os_str().as_encoded_bytes());
    if text.starts_with('/') {
        return Some(WaitTarget::File(text.into()));
    }
    if text.starts_with("pipe:") {
        return Some(WaitTarget::Pipe);
    }
    text.starts_with("socket:").then(|| socket(pid, descriptor)).flatten()
}

/// A copy of the descriptor is asked for its addresses and closed at once.
fn socket(pid: u32, descriptor: RawFd) -> Option<WaitTarget> {
    let process = pidfd_open(Pid::from_raw(pid.cast_signed())?, PidfdFlags::empty()).ok()?;
    let socket: OwnedFd = pidfd_getfd(process, descriptor, PidfdGetfdFlags::empty()).ok()?;
    if sockopt::socket_acceptconn(&socket).unwrap_or_default() {
        return Some(WaitTarget::Listener(name(getsockname(&socket).ok()?)?));
    }
    getpeername(&socket).ok()?.map(|address| name(address).map_or(WaitTarget::Pipe, WaitTarget::Peer))
}

/// The first port that Linux gives to who asks for none (`net.ipv4.ip_local_port_range`): those of clients, each of which has
/// another one.
const FIRST_BRIEF_PORT: u16 = 32768;

/// An address as text, without the port of a client; none of one without a name.
fn name(address: SocketAddrAny) -> Option<Arc<str>> {
    if let Ok(internet) = SocketAddr::try_from(address.clone()) {
        let is_brief = internet.port() >= FIRST_BRIEF_PORT;
        return Some(if is_brief { internet.ip().to_string() } else { internet.to_string() }.into());
    }
    let unix = rustix::net::SocketAddrUnix::try_from(address).ok()?;
    // Both ends of a pair have none.
    let path = unix.path_bytes().or_else(|| unix.abstract_name()).filter(|path| !path.is_empty())?;
    Some(shown(path).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_of_a_thread_is_read() {
        for (text, expected) in [
            ("running\n", Some(Activity::Runnable)),
            ("-1 0x7ffe 0x7f00\n", Some(Activity::Kernel)),
            ("73 0x4 0x2 0x0 0x0 0x0 0x0 0x7ffe 0x7f00\n", Some(Activity::Call(73, [4, 2]))),
            ("", None),
            ("73", None),
        ] {
            assert_eq!(Activity::parse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn waits_are_named_in_plain_words() {
        let text = |call: Option<&str>, kernel: Option<&str>, target| {
            let [call, kernel] = [call, kernel].map(|text| text.map(Into::into));
            PhpWait { call, kernel, target }.to_string()
        };
        assert_eq!(text(Some("flock"), None, Some(WaitTarget::File("/s/sess_1".into()))), "flock /s/sess_1");
        assert_eq!(text(Some("poll"), Some("x"), Some(WaitTarget::Peer("[::1]:5432".into()))), "poll from [::1]:5432");
        assert_eq!(
            text(Some("accept"), None, Some(WaitTarget::Listener("/run/fpm.sock".into()))),
            "accept on /run/fpm.sock"
        );
        assert_eq!(text(Some("read"), None, Some(WaitTarget::Pipe)), "read a pipe");
        assert_eq!(text(None, Some("folio_wait_bit"), None), "kernel: folio_wait_bit");
        assert_eq!(text(None, None, None), "kernel");
    }
}
