//! nginx with one fixed answer, over HTTP/2 or TLS; its own status page counts the requests.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::exchange::BODY;
use crate::failure::Failure;
use crate::process::Process;
use crate::race::{Counts, Witness};
use crate::stage::Stage;
use crate::tool;

/// How long nginx may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

const FOLDER: &str = "prepare a folder for nginx";

/// What clients speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speech {
    /// HTTP/2 on clear text, with prior knowledge (RFC 9113, 3.3).
    Http2,
    /// HTTP/1.1 over TLS, with a certificate that nobody signed.
    Tls,
}

/// An nginx that runs. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Nginx {
    process: Process,
    url: String,
    status: SocketAddr,
    /// How often the status page was asked for: each time is a request too.
    asked: u64,
}

impl Nginx {
    /// Starts one, with one worker, on the stage's processor for servers; the outer `None` means that it, or openssl, is not
    /// installed.
    pub(crate) fn start(stage: &Stage, speech: Speech) -> Result<Result<Self, String>, Failure> {
        let Some(program) = tool::find("nginx") else { return Ok(Err("nginx is not installed".to_owned())) };
        let folder = stage.folder.path().join(match speech {
            Speech::Http2 => "http2",
            Speech::Tls => "tls",
        });
        fs::create_dir(&folder).map_err(Failure::step(FOLDER))?;
        if speech == Speech::Tls {
            let Some(openssl) = tool::find("openssl") else { return Ok(Err("openssl is not installed".to_owned())) };
            certify(stage, openssl, &folder)?;
        }
        let [port, status] = free_ports().map_err(Failure::step(FOLDER))?;
        fs::write(folder.join("nginx.conf"), configuration(speech, port, status)).map_err(Failure::step(FOLDER))?;
        let log = fs::File::create(folder.join("log")).map_err(Failure::step(FOLDER))?;
        let mut command = Command::new(program);
        command.arg("-p").arg(&folder).args(["-c", "nginx.conf", "-e", "stderr"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let process = Process::spawn("nginx", command, stage.server_cpu)?;
        let scheme = if speech == Speech::Tls { "https" } else { "http" };
        let mut nginx = Self {
            process,
            url: format!("{scheme}://127.0.0.1:{port}/"),
            status: SocketAddr::from((Ipv4Addr::LOCALHOST, status)),
            asked: 0,
        };
        let deadline = Instant::now() + PATIENCE;
        while let Err(error) = nginx.look() {
            if !nginx.process.is_running() || Instant::now() >= deadline {
                let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
                return Err(Failure::Step(format!("wait for nginx, which says: {}", log.trim()), error));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(Ok(nginx))
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    fn look(&mut self) -> io::Result<Counts> {
        let mut page = String::new();
        let mut connection = TcpStream::connect_timeout(&self.status, PATIENCE)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        self.asked += 1;
        connection.write_all(b"GET /status HTTP/1.0\r\n\r\n")?;
        connection.read_to_string(&mut page)?;
        let (requests, active) = counters(&page).ok_or(io::ErrorKind::InvalidData)?;
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.pid().as_raw_pid()))?;
        let cpu = processor_time(&stat).ok_or(io::ErrorKind::InvalidData)?;
        // The page counts the request and the connection that asked for it.
        Ok(Counts { requests: requests.saturating_sub(self.asked), open: active.saturating_sub(1), cpu })
    }
}

impl Witness for Nginx {
    fn counts(&mut self) -> Result<Counts, Failure> {
        self.look().map_err(Failure::step("read the status page of nginx"))
    }
}

fn certify(stage: &Stage, openssl: PathBuf, folder: &std::path::Path) -> Result<(), Failure> {
    let mut command = Command::new(openssl);
    command.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]);
    command.args(["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]);
    command.arg("-keyout").arg(folder.join("key.pem")).arg("-out").arg(folder.join("certificate.pem"));
    let finished = stage.try_out("openssl", command)?;
    let failed = || Failure::Unusable(format!("make a certificate: {}", finished.reason()));
    finished.ended.status.success().then_some(()).ok_or_else(failed)
}

/// Ports that were free a moment ago.
fn free_ports() -> io::Result<[u16; 2]> {
    let listeners = [TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?, TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?];
    Ok([listeners[0].local_addr()?.port(), listeners[1].local_addr()?.port()])
}

fn configuration(speech: Speech, port: u16, status: u16) -> String {
    let listen = match speech {
        Speech::Http2 => format!("listen 127.0.0.1:{port} http2;"),
        Speech::Tls => {
            format!("listen 127.0.0.1:{port} ssl; ssl_certificate certificate.pem; ssl_certificate_key key.pem;")
        }
    };
    // Connections are kept for as long as clients want them; the default ends them after 1,000 requests.
    format!(
        "daemon off;\nmaster_process off;\nworker_processes 1;\npid nginx.pid;\nerror_log stderr warn;\n\
         events {{ worker_connections 1024; }}\n\
         http {{\n  access_log off;\n  default_type text/plain;\n  keepalive_requests 1000000000;\n\
         client_body_temp_path t;\n  proxy_temp_path t;\n  fastcgi_temp_path t;\n  uwsgi_temp_path t;\n  \
         scgi_temp_path t;\n\
         server {{ {listen} location / {{ return 200 \"{BODY}\"; }} }}\n\
         server {{ listen 127.0.0.1:{status}; location /status {{ stub_status; }} }}\n}}\n"
    )
}

/// Requests and active connections of a status page (ngx_http_stub_status_module).
fn counters(page: &str) -> Option<(u64, u64)> {
    let active = page.lines().find_map(|line| line.strip_prefix("Active connections:"))?.trim().parse().ok()?;
    let mut lines = page.lines().skip_while(|line| !line.starts_with("server accepts"));
    let requests = lines.nth(1)?.split_whitespace().nth(2)?.parse().ok()?;
    Some((requests, active))
}

/// User and system time in a `/proc/PID/stat` (proc_pid_stat(5), fields 14 and 15).
fn processor_time(stat: &str) -> Option<Duration> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11).map(|field| field.parse::<u64>().ok());
    let ticks = fields.next()?? + fields.next()??;
    Some(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_page_is_read() {
        let page = "HTTP/1.1 200 OK\r\n\r\nActive connections: 3 \nserver accepts handled requests\n \
                    399 399 172773 \nReading: 0 Writing: 1 Waiting: 0 \n";
        assert_eq!(counters(page), Some((172_773, 3)));
        assert_eq!(counters("HTTP/1.1 404 Not Found\r\n\r\n"), None);
    }

    #[test]
    fn processor_time_is_read_behind_any_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 1 0 1 1 1";
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        assert_eq!(processor_time(stat), Some(Duration::from_secs_f64(200.0 / ticks)));
    }
}
