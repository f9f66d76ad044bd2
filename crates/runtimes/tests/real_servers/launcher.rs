//! As much of a platform as these tests need: it puts a deployment into a temporary folder and starts it there as an
//! unprivileged user.

use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getuid, kill_process, kill_process_group};
use stampede_core::{
    AddressId, AddressKind, BuildStep, Deployment, Endpoint, Limit, Places, Preparation, Program, Ready, Replacement,
    RunFile, StatusSource, StopSignal, Unit,
};
use stampede_seam::SampleTargets;
use stampede_testkit::ReservedPort;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(10);

/// A deployment that runs. Dropping it ends what is left of the processes that it started.
pub(crate) struct Server {
    run: TempDir,
    pub(crate) front: SocketAddr,
    places: Places,
    endpoints: Vec<(AddressId, Endpoint)>,
    units: Vec<(Unit, Child)>,
    _ports: Vec<ReservedPort>,
}

/// How a unit ended.
pub(crate) struct Stopped {
    pub(crate) unit: String,
    pub(crate) took: Duration,
    pub(crate) status: ExitStatus,
}

impl Server {
    /// Starts a deployment, with a `vendor` folder put into its application.
    pub(crate) fn start(deployment: &Deployment, vendor: Option<&Path>) -> Self {
        let run = TempDir::new().expect("make a folder");
        fs::set_permissions(run.path(), Permissions::from_mode(0o755)).expect("open the folder");
        let app = run.path().join("app");
        copy(&deployment.app, &app);
        if let Some(vendor) = vendor {
            copy(vendor, &app.join("vendor"));
        }

        let mut places = Places::new();
        places.insert("run", run.path().display().to_string());
        places.insert("app", app.display().to_string());
        places.insert("secret", "0123456789abcdef");
        let mut front = None;
        let (mut endpoints, mut ports) = (Vec::new(), Vec::new());
        for address in &deployment.addresses {
            let id = address.id.as_str();
            match address.kind {
                AddressKind::Tcp => {
                    let port = ReservedPort::new().expect("find a port");
                    let free = port.address();
                    ports.push(port);
                    endpoints.push((address.id.clone(), Endpoint::Tcp(free)));
                    places.insert(id, free.to_string());
                    places.insert(format!("{id}.host"), free.ip().to_string());
                    places.insert(format!("{id}.port"), free.port().to_string());
                    if address.id == deployment.front {
                        front = Some(free);
                    }
                }
                AddressKind::UnixSocket => {
                    let sockets = run.path().join("sockets");
                    writable_folder(&sockets);
                    endpoints.push((address.id.clone(), Endpoint::Unix(sockets.join(id))));
                    places.insert(id, sockets.join(id).display().to_string());
                }
            }
        }
        let front = front.expect("a deployment has a front");
        let mut server = Self { run, front, places, endpoints, units: Vec::new(), _ports: ports };
        server.prepare(deployment);
        for unit in &deployment.units {
            server.start_unit(unit, &app);
        }
        server
    }

    /// Writes all files and does what is done before the first unit is started.
    fn prepare(&self, deployment: &Deployment) {
        for unit in &deployment.units {
            for folder in &unit.folders {
                writable_folder(&self.run.path().join(folder));
            }
            self.write(&unit.files);
        }
        if let Some(probe) = &deployment.probe {
            self.write(&probe.files);
        }
        if let Some(Preparation { replacements, files, folders, programs }) = &deployment.preparation {
            for Replacement { file, text, with } in replacements {
                let path = self.run.path().join("app").join(file);
                let old = fs::read_to_string(&path).expect("read a file of the application");
                assert!(old.contains(text), "{text} is not in {}", file.display());
                let with = self.places.resolve(with).expect("known places");
                fs::write(path, old.replace(text, &with)).expect("write a file of the application");
            }
            self.write(files);
            for folder in folders {
                writable_folder(&self.run.path().join(folder));
            }
            for program in programs {
                run_to_end("the preparation", program, &self.places);
            }
        }
    }

    fn write(&self, files: &[RunFile]) {
        for file in files {
            let text = self.places.resolve(&file.text).expect("known places");
            let path = self.places.resolve(&file.path.display().to_string()).expect("known places");
            let path = self.run.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("make a folder");
            fs::write(path, text).expect("write a file");
        }
    }

    /// The place of an address.
    pub(crate) fn place(&self, name: &str) -> String {
        self.places.resolve(&format!("@{{{name}}}")).expect("a known place")
    }

    /// What can be sampled: all that units say, and the queues of all addresses.
    pub(crate) fn targets(&self) -> SampleTargets {
        let endpoint =
            |id: &AddressId| self.endpoints.iter().find(|(known, _)| known == id).expect("a known address").1.clone();
        let statuses = self.units.iter().flat_map(|(unit, _)| {
            unit.statuses.iter().map(|StatusSource { address, transport, format }| {
                let (transport, format) = (transport.clone(), format.clone());
                (unit.id.clone(), StatusSource { address: endpoint(address), transport, format })
            })
        });
        SampleTargets {
            inside: None,
            cpus: Limit::Unlimited,
            meters: Vec::new(),
            listeners: self.endpoints.clone(),
            statuses: statuses.collect(),
        }
    }

    /// The main process of a unit.
    pub(crate) fn process(&self, unit: &str) -> u32 {
        let (_, child) = self.units.iter().find(|(known, _)| known.id.as_str() == unit).expect("a known unit");
        child.id()
    }

    /// A unit's program with other arguments, run to its end; what it prints.
    pub(crate) fn ask(&self, unit: &str, change: impl FnOnce(&mut Program)) -> String {
        let (known, _) = self.units.iter().find(|(known, _)| known.id.as_str() == unit).expect("a known unit");
        let mut program = known.program.clone();
        change(&mut program);
        let output = command(&program, &self.places).output().expect("run a unit's program");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    fn start_unit(&mut self, unit: &Unit, app: &Path) {
        let places = &self.places.clone();
        if let Some(build) = &unit.build {
            run_build(build, app, &self.run.path().join(&build.output), places);
        }
        if let Some(check) = &unit.check {
            run_to_end(&format!("check of {}", unit.id), check, places);
        }
        let printed = File::create(self.printed(unit)).expect("make a log");
        let child = command(&unit.program, places)
            .stdout(printed.try_clone().expect("share the log"))
            .stderr(printed)
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("start {}: {error}", unit.id));
        self.units.push((unit.clone(), child));
        let listens = || match &unit.ready {
            Ready::Port(id) => {
                let place = self.place(id.as_str());
                if place.starts_with('/') {
                    UnixStream::connect(place).is_ok()
                } else {
                    TcpStream::connect(place).is_ok()
                }
            }
            Ready::Request => answers(self.front),
            Ready::Program(program) => command(program, &self.places).output().is_ok_and(|said| said.status.success()),
        };
        let deadline = Instant::now() + PATIENCE;
        while !listens() {
            assert!(Instant::now() < deadline, "{} is not ready; it wrote: {}", unit.id, self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn printed(&self, unit: &Unit) -> std::path::PathBuf {
        self.run.path().join(format!("{}.printed", unit.id))
    }

    /// All that was printed and logged.
    pub(crate) fn log(&self) -> String {
        let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        self.units
            .iter()
            .flat_map(|(unit, _)| {
                let logs = unit.logs.iter().map(|log| read(&self.run.path().join(log)));
                logs.chain([read(&self.printed(unit))]).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Stops the units, last started first. Fails when one does not end within its grace.
    pub(crate) fn stop(mut self) -> Vec<Stopped> {
        let mut stopped = Vec::new();
        while let Some((unit, mut child)) = self.units.pop() {
            let signal = match unit.stop.signal {
                StopSignal::Term => Signal::TERM,
                StopSignal::Quit => Signal::QUIT,
                StopSignal::Int => Signal::INT,
                StopSignal::Winch => Signal::WINCH,
                StopSignal::Usr1 => Signal::USR1,
            };
            let asked = Instant::now();
            kill_process(Pid::from_child(&child), signal).expect("send the stop signal");
            let status = loop {
                if let Some(status) = child.try_wait().expect("wait") {
                    break status;
                }
                if asked.elapsed() > unit.stop.grace {
                    end_group(&mut child);
                    panic!("{} did not end within {:?}; it wrote: {}", unit.id, unit.stop.grace, self.log());
                }
                std::thread::sleep(Duration::from_millis(1));
            };
            let took = asked.elapsed();
            end_group(&mut child);
            let unit = unit.id.to_string();
            stopped.push(Stopped { unit, took, status });
        }
        stopped
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for (_, child) in &mut self.units {
            end_group(child);
        }
    }
}

/// Whether the application answers. A request that comes too early may never be answered: FrankenPHP's web server may start
/// before its workers, and before PHP it says 503.
fn answers(front: SocketAddr) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut connection = TcpStream::connect(front)?;
        connection.set_read_timeout(Some(Duration::from_secs(1)))?;
        connection.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut status = [0; "HTTP/1.1 200".len()];
        connection.read_exact(&mut status)?;
        Ok(!status.ends_with(b"503"))
    };
    ask().unwrap_or(false)
}

/// Kills what is left of a unit's own process group.
fn end_group(child: &mut Child) {
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.wait();
}

fn run_to_end(what: &str, program: &Program, places: &Places) {
    let output = command(program, places).output().expect("run a program");
    assert!(
        output.status.success(),
        "{what}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn run_build(build: &BuildStep, app: &Path, output: &Path, places: &Places) {
    fs::create_dir_all(output.parent().expect("a folder")).expect("make a folder");
    let mut places = places.clone();
    places.insert("output", output.display().to_string());
    let files = TempDir::new().expect("make a folder");
    for file in &build.files {
        let text = places.resolve(&file.text).expect("known places");
        fs::write(files.path().join(&file.path), text).expect("write a file");
    }
    let Program { path, args, env } = &build.program;
    let built = Command::new(path)
        .args(args.iter().map(|arg| places.resolve(arg).expect("known places")))
        .envs(env)
        .current_dir(if build.files.is_empty() { app } else { files.path() })
        .output()
        .expect("run the builder");
    assert!(built.status.success(), "build: {}", String::from_utf8_lossy(&built.stderr));
}

fn command(program: &Program, places: &Places) -> Command {
    let resolve = |text: &str| places.resolve(text).expect("known places");
    let mut command = Command::new(resolve(&program.path));
    command
        .args(program.args.iter().map(|arg| resolve(arg)))
        .env_clear()
        .envs(program.env.iter().map(|(name, value)| (name, resolve(value))))
        .current_dir("/");
    if let Some((user, group)) = unprivileged() {
        command.uid(user).gid(group);
    }
    command
}

/// The user and group `www-data`, when run by root; servers keep the tester's own otherwise.
fn unprivileged() -> Option<(u32, u32)> {
    if !getuid().is_root() {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("read the users");
    let fields: Vec<&str> =
        users.lines().find(|line| line.starts_with("www-data:")).expect("a user www-data").split(':').collect();
    Some((fields[2].parse().ok()?, fields[3].parse().ok()?))
}

fn writable_folder(folder: &Path) {
    fs::create_dir_all(folder).expect("make a folder");
    if let Some((user, group)) = unprivileged() {
        chown(folder, Some(user), Some(group)).expect("give the folder to the user");
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("make a folder");
    for entry in fs::read_dir(from).expect("list a folder") {
        let entry = entry.expect("list a folder");
        let target = to.join(entry.file_name());
        if let Ok(link) = fs::read_link(entry.path())
            && link.is_relative()
        {
            std::os::unix::fs::symlink(link, target).expect("make a link");
        } else if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copy a file");
        }
    }
}
