//! Servers that are programs of their own.

use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::DEADLINE;

/// A server's process, which ends with this.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts a program that `arguments` tells to listen on a port; none when the program is missing.
    fn start(program: &str, arguments: impl FnOnce(u16) -> Vec<String>) -> Option<Self> {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let spawned = Command::new(program)
            .args(arguments(address.port()))
            .env("PATH", format!("{}:/usr/sbin:/usr/local/sbin", std::env::var("PATH").unwrap_or_default()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(child) = spawned else {
            let test = thread::current().name().unwrap_or_default().to_owned();
            // What a passing test prints is captured; what it writes to stderr is not.
            let _ = writeln!(std::io::stderr(), "SKIP {test}: needs {program}");
            return None;
        };
        let mut server = Self { child, address };
        let deadline = Instant::now() + DEADLINE;
        while let Err(error) = TcpStream::connect(address) {
            let ended = server.child.try_wait().unwrap();
            assert!(Instant::now() < deadline && ended.is_none(), "{program} on {address}: {error}, {ended:?}");
            thread::sleep(Duration::from_millis(2));
        }
        Some(server)
    }

    pub(crate) fn nghttpd(folder: &Path, options: &[&str]) -> Option<Self> {
        Self::start("nghttpd", |port| {
            let fixed = ["--no-tls", "--address=127.0.0.1", "-d", folder.to_str().unwrap()];
            let port = port.to_string();
            fixed.iter().chain(options).copied().chain([port.as_str()]).map(str::to_owned).collect()
        })
    }

    pub(crate) fn nginx(folder: &Path, protocol: &str) -> Option<Self> {
        Self::start("nginx", |port| {
            let root = folder.to_str().unwrap();
            let user = if rustix::process::getuid().is_root() { "user root;" } else { "" };
            let config = format!(
                "daemon off; master_process off; {user} pid {root}/pid; error_log {root}/error.log;
                 events {{ worker_connections 64; }}
                 http {{
                   access_log off; client_body_temp_path {root}/body; proxy_temp_path {root}/proxy;
                   fastcgi_temp_path {root}/fastcgi; uwsgi_temp_path {root}/uwsgi; scgi_temp_path {root}/scgi;
                   server {{
                     listen 127.0.0.1:{port} {protocol}; root {root}; client_max_body_size 0;
                     keepalive_requests 100000; http2_max_concurrent_streams 32;
                     location /put {{ dav_methods PUT; }}
                     location /empty {{ return 204; }}
                     location /early {{ return 403 no; }}
                     location /closing {{ keepalive_requests 10; }}
                   }}
                 }}"
            );
            let path = folder.join("nginx.conf");
            fs::write(&path, config).unwrap();
            let error_log = format!("{root}/error.log");
            ["-e", error_log.as_str(), "-c", path.to_str().unwrap()].map(str::to_owned).into()
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
