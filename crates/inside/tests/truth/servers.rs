//! Real servers of PHP, and who sends them requests.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use stampede_testkit::ReservedPort;

/// The program of known shares.
pub(crate) fn work() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/truth/work.php")
}

pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    command
}

pub(crate) fn is_there(program: &str) -> bool {
    path_of(program).is_some()
}

pub(crate) fn path_of(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&folders).chain([PathBuf::from("/usr/sbin")]);
    let mut places = folders.map(|folder| folder.join(program));
    places.find(|path| path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0))
}

/// php-fpm has the version in its name in some distributions.
fn fpm() -> Option<PathBuf> {
    let names = ["php-fpm", "php-fpm8.5", "php-fpm8.4", "php-fpm8.3", "php-fpm8.2", "php-fpm8.1"];
    names.into_iter().find_map(path_of)
}

/// A server of `work.php`.
pub(crate) struct Server {
    pub(crate) name: String,
    child: Child,
    address: SocketAddr,
    is_fast_cgi: bool,
    script: PathBuf,
    _folder: tempfile::TempDir,
    _port: ReservedPort,
}

impl Server {
    /// Starts one and waits until it listens; skips what is not installed.
    pub(crate) fn start(name: &str) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let port = ReservedPort::new().expect("a port");
        let (root, address) = (folder.path(), port.address());
        let script = root.join("public/index.php");
        fs::create_dir(root.join("public")).expect("a folder");
        fs::copy(work(), &script).expect("the program");
        let program = match name {
            "php -S" => path_of("php"),
            "php-fpm" => fpm(),
            _ => path_of("frankenphp"),
        };
        let Some(program) = program else {
            let _ = writeln!(std::io::stderr(), "SKIP {name}: needs {}", name.split(' ').next().unwrap_or_default());
            return None;
        };
        let mut command = Command::new(program);
        match name {
            "php -S" => {
                command.args(["-S", &address.to_string()]).arg(&script);
            }
            "php-fpm" => {
                let configuration = root.join("fpm.conf");
                let text = format!(
                    "[global]\nerror_log = {root}/fpm.log\ndaemonize = no\n[www]\nlisten = {address}\npm = static\n\
                     pm.max_children = 2\nuser = {id}\ngroup = {id}\n",
                    root = root.display(),
                    id = rustix::process::getuid().as_raw(),
                );
                fs::write(&configuration, text).expect("a file");
                command.args(["-n", "-R", "-F", "-y"]).arg(configuration);
            }
            _ => {
                let worker = if name == "frankenphp" {
                    String::new()
                } else {
                    format!("worker {{\n file {}\n num 2\n }}", script.display())
                };
                let text = format!(
                    "{{\nadmin off\nfrankenphp {{\n num_threads 4\n {worker}\n }}\n}}\nhttp://{address} {{\n root * {}\n \
                     rewrite * /index.php\n php\n}}\n",
                    script.parent().unwrap_or(root).display(),
                );
                fs::write(root.join("Caddyfile"), text).expect("a file");
                command.args(["run", "--adapter", "caddyfile", "--config"]).arg(root.join("Caddyfile"));
                command.env("XDG_DATA_HOME", root).env("XDG_CONFIG_HOME", root);
            }
        }
        let log = File::create(root.join("log")).expect("a file");
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a file")).stderr(log);
        let child = command.current_dir(root).spawn().expect("it can be started");
        let is_fast_cgi = name == "php-fpm";
        let server = Self { name: name.to_owned(), child, address, is_fast_cgi, script, _folder: folder, _port: port };
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            let log = || fs::read_to_string(server._folder.path().join("log"));
            assert!(begun.elapsed() < Duration::from_secs(20), "{name} does not listen: {:?}", log());
            thread::yield_now();
        }
        Some(server)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends requests of these paths one after the other, on a thread for each path so that they have an equal part.
    pub(crate) fn load(&self, paths: &[&str]) -> Load {
        let stop = Arc::new(AtomicBool::new(false));
        let rounds = Arc::new(AtomicU32::new(0));
        let paths: Vec<_> = paths.iter().map(|path| (*path).to_owned()).collect();
        let (address, script, is_fast_cgi) = (self.address, self.script.clone(), self.is_fast_cgi);
        let (ends, done) = (Arc::clone(&stop), Arc::clone(&rounds));
        let sender = thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                for path in &paths {
                    let request = if is_fast_cgi { fast_cgi(&script, path) } else { http(address, path) };
                    let Ok(mut connection) = TcpStream::connect(address) else { return };
                    let _ = connection.set_read_timeout(Some(Duration::from_secs(5)));
                    let mut answer = Vec::new();
                    let _ = connection.write_all(&request).and_then(|()| connection.read_to_end(&mut answer));
                }
                done.fetch_add(1, Ordering::Relaxed);
            }
        });
        Load { stop, rounds, sender: Some(sender) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed()) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.child.wait();
    }
}

fn http(address: SocketAddr, path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").into_bytes()
}

/// A request of FastCGI: BEGIN_REQUEST, PARAMS and an empty STDIN (specification of 1996, 3.3).
fn fast_cgi(script: &Path, path: &str) -> Vec<u8> {
    let record = |kind: u8, content: &[u8]| {
        let length = u16::try_from(content.len()).expect("a short record").to_be_bytes();
        [&[1, kind, 0, 1, length[0], length[1], 0, 0], content].concat()
    };
    let script = script.to_str().expect("a path");
    let parameters = [
        ("SCRIPT_FILENAME", script),
        ("SCRIPT_NAME", "/index.php"),
        ("REQUEST_METHOD", "GET"),
        ("REQUEST_URI", path),
        ("QUERY_STRING", ""),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
    ];
    let mut text = Vec::new();
    for (name, value) in parameters {
        text.extend([name, value].map(|part| u8::try_from(part.len()).expect("a short text")));
        text.extend([name, value].concat().into_bytes());
    }
    [record(1, &[0, 1, 0, 0, 0, 0, 0, 0]), record(4, &text), record(4, &[]), record(5, &[])].concat()
}

/// Sends requests until it is stopped.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    /// How often each path was asked for and answered.
    rounds: Arc<AtomicU32>,
    sender: Option<JoinHandle<()>>,
}

impl Load {
    /// Goes on for so long and until each path was asked for so often, but for ten seconds at most.
    pub(crate) fn for_a(&self, span: Duration, rounds: u32) -> impl FnMut() -> bool + use<> {
        let (from, done) = (Instant::now(), Arc::clone(&self.rounds));
        let most = Duration::from_secs(10).max(span);
        move || from.elapsed() < span || done.load(Ordering::Relaxed) < rounds && from.elapsed() < most
    }

    pub(crate) fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(sender) = self.sender.take() {
            sender.join().expect("it sent");
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Holds a lock of a file again and again.
pub(crate) struct LockHolder {
    stop: Arc<AtomicBool>,
}

impl LockHolder {
    pub(crate) fn start(path: &Path, period: Duration) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (ends, file) = (Arc::clone(&stop), File::create(path).expect("a file"));
        thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                let _ = flock(&file, FlockOperation::LockExclusive);
                thread::sleep(period);
                let _ = flock(&file, FlockOperation::Unlock);
                thread::sleep(period);
            }
        });
        Self { stop }
    }
}

impl Drop for LockHolder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
