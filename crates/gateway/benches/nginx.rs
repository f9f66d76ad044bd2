//! nginx beside the gateway: the server behind both, and the other proxy.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long nginx may take until it listens.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// What an nginx does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    /// Gives one answer.
    Server,
    /// Passes requests on.
    Proxy { to: SocketAddr, http2: bool },
}

/// An nginx of one process that runs where this thread may. Dropping it ends it.
pub(crate) struct Nginx {
    process: Child,
    pub(crate) address: SocketAddr,
    _folder: TempDir,
}

impl Nginx {
    /// Starts one; nothing where it is not installed.
    pub(crate) fn start(role: Role) -> io::Result<Option<Self>> {
        let folder = tempfile::tempdir()?;
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        fs::write(folder.path().join("nginx.conf"), configuration(role, address))?;
        let mut command = Command::new("nginx");
        command.arg("-p").arg(folder.path()).args(["-c", "nginx.conf", "-e", "stderr"]);
        let process = match command.stdin(Stdio::null()).stdout(Stdio::null()).spawn() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            process => process?,
        };
        let nginx = Self { process, address, _folder: folder };
        let deadline = Instant::now() + PATIENCE;
        while let Err(error) = TcpStream::connect(address) {
            if Instant::now() >= deadline {
                return Err(error);
            }
            std::thread::sleep(PAUSE);
        }
        Ok(Some(nginx))
    }

    /// CPU time that it has used (the first field of `/proc/PID/schedstat`, in nanoseconds:
    /// docs.kernel.org/scheduler/sched-stats.html).
    pub(crate) fn cpu(&self) -> io::Result<Duration> {
        let text = fs::read_to_string(format!("/proc/{}/schedstat", self.process.id()))?;
        let nanos = text.split_whitespace().next().and_then(|field| field.parse().ok());
        nanos.map(Duration::from_nanos).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // It is a child that nobody else reaps.
        let _ = self.process.kill().and_then(|()| self.process.wait());
    }
}

/// What it says of its version.
pub(crate) fn version() -> String {
    let told = Command::new("nginx").arg("-v").output();
    told.map_or_else(|_| "unknown".to_owned(), |told| String::from_utf8_lossy(&told.stderr).trim().to_owned())
}

/// As the nginx documentation has a proxy with kept connections (nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive).
fn configuration(role: Role, address: SocketAddr) -> String {
    let (upstream, http2, location) = match role {
        Role::Server => (String::new(), "", "return 200 \"Hello, World!\";".to_owned()),
        Role::Proxy { to, http2 } => (
            format!("upstream server {{ server {to}; keepalive 80; keepalive_requests 1000000000; }}\n"),
            if http2 { " http2" } else { "" },
            "proxy_pass http://server; proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_set_header Host $host;"
                .to_owned(),
        ),
    };
    format!(
        "daemon off;\nmaster_process off;\nworker_processes 1;\npid nginx.pid;\nerror_log stderr warn;\n\
         events {{ worker_connections 1024; }}\n\
         http {{\naccess_log off;\ndefault_type text/plain;\nkeepalive_requests 1000000000;\n\n\
         client_body_temp_path t;\nproxy_temp_path t;\nfastcgi_temp_path t;\nuwsgi_temp_path t;\nscgi_temp_path t;\n\
         {upstream}server {{ listen {address}{http2}; location / {{ {location} }} }}\n}}\n"
    )
}
