//! `--generators`: processes, wrapped ones, and ssh to this machine; whole, killed, stopped and throttled.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::mount::{MountFlags, mount};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use stampede_cgroup::{Group, GroupLimits, Hierarchy};
use stampede_testkit::{Behaviour, CountingServer, ReservedPort};

use crate::stage::{Said, Stage, have, wait_until};

fn json(said: &Said) -> Value {
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

fn url(server: &CountingServer) -> String {
    format!("http://{}/", server.endpoint())
}

fn count(requests: &Value) -> u64 {
    ["ok", "failed", "unfinished"].iter().map(|name| requests[name].as_u64().unwrap()).sum()
}

/// What is true of every result: the parts add up, and each names itself.
fn adds_up(told: &Value, names: &[&str]) {
    let members = told["generators"].as_array().unwrap();
    let said: Vec<_> = members.iter().map(|member| member["name"].as_str().unwrap()).collect();
    assert_eq!(said, names, "{told}");
    let measured = || members.iter().filter(|member| member["requests"].is_object());
    let sent: u64 = measured().map(|member| member["requests"]["sent"].as_u64().unwrap()).sum();
    assert_eq!(told["requests"]["sent"].as_u64().unwrap(), sent, "{told}");
    assert_eq!(count(&told["requests"]), sent, "{told}");
    assert_eq!(measured().map(|member| count(&member["requests"])).sum::<u64>(), sent, "{told}");
    for member in measured() {
        for figure in ["sent_rps", "cpu_seconds", "waited_seconds", "throttled_seconds", "paused_seconds", "began_us"] {
            assert!(member[figure].is_number(), "{figure} {member}");
        }
        assert!(member.get("most_rps").is_some(), "{member}");
        assert!(
            member["lateness_us"]["p99"].is_number() && member["began_bound_us"].as_f64().unwrap() > 0.0,
            "{member}"
        );
    }
}

fn faults(told: &Value) -> Vec<&str> {
    let members = told["generators"].as_array().unwrap();
    members
        .iter()
        .flat_map(|member| member["faults"].as_array().unwrap())
        .map(|fault| fault.as_str().unwrap())
        .collect()
}

/// The agents that a process has started, once there are so many of them, in the order of their start.
fn agents(of: &Child, count: usize) -> Vec<Pid> {
    let mut found = Vec::new();
    wait_until("agents", || {
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", of.id())).unwrap_or_default();
        let pids = children.split_whitespace().map(|pid| pid.parse::<i32>().unwrap());
        let is_agent = |pid: &i32| {
            fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains("__agent"))
        };
        found = pids.filter(is_agent).collect();
        if found.len() == count { Ok(()) } else { Err(format!("{found:?}")) }
    });
    found.into_iter().map(|pid| Pid::from_raw(pid).unwrap()).collect()
}

fn receives(server: &CountingServer, count: u64) {
    wait_until("requests", || {
        let received = server.requests();
        if received >= count { Ok(()) } else { Err(format!("{received}")) }
    });
}

const FOUR: [&str; 4] = ["local#1", "local#2", "local#3", "local#4"];

#[test]
fn four_generators_send_what_one_would() {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let args = ["load", &url(&server), "--load", "open:400", "-d", "1s", "--generators", "local:4", "--json", "-"];
    let said = Stage::new().run(&args);
    let told = json(&said);
    adds_up(&told, &FOUR);
    assert_eq!((&told["requests"]["sent"], &told["requests"]["ok"]), (&400.into(), &400.into()), "{said:?}");
    // Each has its quarter of the one schedule.
    for member in told["generators"].as_array().unwrap() {
        assert_eq!(member["requests"]["sent"], 100, "{said:?}");
    }
    assert_eq!(told["response_us"]["count"], 400, "{said:?}");
    for name in FOUR {
        assert!(said.stderr.contains(&format!("generator {name} can send ")), "{said:?}");
    }
    // On a busy machine too few are answered to say; then that is printed.
    let unknown = said.stderr.matches("can send is not known").count();
    let known = told["generators"].as_array().unwrap().iter().filter(|member| member["most_rps"].is_number());
    assert_eq!(known.count() + unknown, 4, "{said:?}");
    assert!(told["start_skew_us"]["skew"].is_number() && told["start_skew_us"]["bound"].is_number(), "{said:?}");
    // A busy machine may hold one up; it then says so.
    let is_fine = faults(&told).is_empty() && told["generator"]["saturated"] == false;
    assert_eq!(said.code, Some(if is_fine { 0 } else { 4 }), "{said:?}");
    assert_eq!(server.stop().requests(), 400);
}

#[test]
fn a_line_for_each_generator_is_printed_and_seconds_are_added_up() {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let stage = Stage::new();
    let seconds = stage.home().join("seconds");
    let said = stage.run(&[
        "load",
        &url(&server),
        "--load",
        "open:100",
        "-d",
        "2s",
        "--generators",
        "local,exec:'nice -n 1'",
        "--timeseries",
        seconds.to_str().unwrap(),
    ]);
    assert!(said.stdout.contains("generators 2, begun within "), "{said:?}");
    for name in ["    local     ", "    exec:'nice -n 1' "] {
        assert!(said.stdout.contains(name), "{name:?} {said:?}");
    }
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 100), "{said:?}");
    let lines = fs::read_to_string(seconds).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let numbers: Vec<u64> = lines.iter().map(|line| line["second"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    assert_eq!(lines.iter().map(|line| line["sent"].as_u64().unwrap()).sum::<u64>(), 200, "{lines:?}");
}

#[test]
fn a_rate_that_generators_cannot_send_is_warned_of_with_the_figure() {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let args = ["load", &url(&server), "--load", "open:1000000", "-d", "100ms", "--generators", "local:2"];
    let said = Stage::new().run(&args);
    let warned = "the load is 1000000 requests a second, and the generators can send ";
    assert!(said.stderr.contains(warned) && said.stderr.contains("add generators, give them more CPUs"), "{said:?}");
}

#[test]
fn a_generator_that_is_killed_is_named_and_the_others_are_counted() {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let stage = Stage::new();
    let args = ["load", &url(&server), "--load", "open:400", "-d", "3s", "--generators", "local:4", "--json", "-"];
    let child = stage.start(&args);
    let agents = agents(&child, 4);
    receives(&server, 400);
    kill_process(agents[1], Signal::KILL).unwrap();
    let said = Said::of(child.wait_with_output().unwrap());
    let told = json(&said);
    adds_up(&told, &FOUR);
    assert_eq!(told["requests"]["sent"], 900, "{said:?}");
    // They are started at once, so that their order says nothing.
    let lost: Vec<_> = faults(&told).into_iter().filter(|fault| fault.contains(" is lost after ")).collect();
    assert_eq!(lost.len(), 1, "{said:?}");
    assert!(lost[0].starts_with("generator local#") && lost[0].contains("its output ended"), "{said:?}");
    assert!(said.stderr.contains(lost[0]), "{said:?}");
    assert_eq!(said.code, Some(4), "{said:?}");
    // What came of the lost one is what is too much: less than its quarter.
    let of_lost = server.stop().requests() - 900;
    assert!((1..300).contains(&of_lost), "{of_lost} {said:?}");
}

#[test]
fn a_generator_that_is_stopped_for_a_second_is_named_and_all_is_counted() {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let stage = Stage::new();
    let args = ["load", &url(&server), "--load", "open:400", "-d", "4s", "--generators", "local:4", "--json", "-"];
    let child = stage.start(&args);
    let agents = agents(&child, 4);
    receives(&server, 400);
    kill_process(agents[2], Signal::STOP).unwrap();
    // As the others send on, until a second is over.
    receives(&server, server.requests() + 300);
    kill_process(agents[2], Signal::CONT).unwrap();
    let said = Said::of(child.wait_with_output().unwrap());
    let told = json(&said);
    adds_up(&told, &FOUR);
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(faults(&told).iter().any(|fault| fault.contains(" stood still for ")), "{said:?}");
    assert_eq!(told["requests"]["sent"], 1600, "{said:?}");
    assert_eq!(server.stop().requests(), 1600);
}

/// A group that may use little, removed when this is dropped.
struct Tight(Group);

impl Tight {
    /// Nothing, said loudly, where none can be made.
    fn make(test: &str) -> Option<Self> {
        let made = Hierarchy::detect(Path::new("/")).map_err(|error| error.to_string()).and_then(|hierarchy| {
            let group = hierarchy.group(&format!("{:x}-test-{test}", std::process::id()));
            hierarchy.create(&group).map_err(|error| error.to_string())?;
            Ok(Self(group))
        });
        let tight = made.and_then(|tight| {
            let limits = GroupLimits { runtime: Duration::from_millis(3), memory: 512 << 20, cpus: Vec::new() };
            tight.0.set_limits(&limits).map_err(|error| error.to_string())?;
            Ok(tight)
        });
        tight.map_err(|error| writeln!(std::io::stderr(), "SKIP {test}: needs control groups: {error}")).ok()
    }

    /// A program that runs its arguments in the group.
    fn wrapper(&self, folder: &Path) -> PathBuf {
        let group = match &self.0 {
            Group::V1(folders) => &folders.cpu,
            Group::V2 { dir } => dir,
        };
        let text = format!("#!/bin/sh\necho $$ > '{}/cgroup.procs'\nexec \"$@\"\n", group.display());
        write_program(&folder.join("throttled"), &text)
    }
}

impl Drop for Tight {
    fn drop(&mut self) {
        let deadline = std::time::Instant::now() + Duration::from_secs(10);
        let _ = self.0.kill_all(deadline);
        let _ = self.0.remove(deadline);
    }
}

fn write_program(path: &Path, text: &str) -> PathBuf {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_owned()
}

#[test]
fn a_generator_that_is_throttled_is_named_and_all_is_counted() {
    let Some(tight) = Tight::make("throttled-generator") else { return };
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let stage = Stage::new();
    let wrapper = tight.wrapper(stage.home());
    let generators = format!("local:3,exec:{}", wrapper.display());
    let said = stage.run(&["load", &url(&server), "-c", "8", "-d", "2s", "--generators", &generators, "--json", "-"]);
    let told = json(&said);
    let name = format!("exec:'{}'", wrapper.display());
    adds_up(&told, &["local#1", "local#2", "local#3", &name]);
    assert_eq!(said.code, Some(4), "{said:?}");
    let named = format!("generator {name} was throttled for ");
    assert!(faults(&told).iter().any(|fault| fault.starts_with(&named)), "{said:?}");
    // What was due in the drain is counted by the server alone, and there is none: a closed load begins nothing then.
    assert_eq!(server.stop().requests(), told["requests"]["sent"].as_u64().unwrap(), "{said:?}");
}

#[test]
fn what_is_no_generator_is_an_error_with_what_it_said() {
    let stage = Stage::new();
    let silent = write_program(&stage.home().join("silent"), "#!/bin/sh\necho 'no such place' >&2\nexit 7\n");
    let other = write_program(
        &stage.home().join("other"),
        "#!/bin/sh\nprintf '\\000stampede-agent\\0001 9.9.9\\n'\ncat > /dev/null\n",
    );
    for (generators, words) in [
        ("exec:/nowhere/program".to_owned(), "did not start: start /nowhere/program: No such file or directory"),
        (format!("exec:{}", silent.display()), "it ended without a word"),
        (format!("exec:{}", silent.display()), "it said: no such place"),
        (format!("exec:{}", other.display()), "it is Stampede 9.9.9 with protocol 1, but this is Stampede"),
    ] {
        let said = stage.run(&["load", "http://127.0.0.1:9/", "--generators", &format!("local,{generators}")]);
        assert_eq!(said.code, Some(3), "{said:?}");
        assert!(said.stderr.contains(words), "{words} {said:?}");
    }
    let said = stage.run(&["load", "http://127.0.0.1:9/", "--generators", "remote"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("--generators remote has \"remote\", which is not local"), "{said:?}");
}

/// A server of ssh on this machine with keys of its own, ended when this is dropped.
struct Sshd {
    child: Child,
    folder: PathBuf,
    port: ReservedPort,
}

impl Sshd {
    /// Nothing, said loudly, where none can run.
    fn start(test: &str, stage: &Stage) -> Option<Self> {
        if !have(test, &["sshd", "ssh", "ssh-keygen"]) {
            return None;
        }
        if !rustix::process::geteuid().is_root() {
            let _ = writeln!(std::io::stderr(), "SKIP {test}: needs root, for a server of ssh");
            return None;
        }
        let folder = stage.home().join("ssh");
        // Without it sshd does not begin, and a package makes it.
        fs::create_dir_all("/run/sshd").unwrap();
        fs::create_dir_all(&folder).unwrap();
        for key in ["host", "user"] {
            let made =
                Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.join(key)).status();
            assert!(made.unwrap().success());
        }
        let reserved = ReservedPort::new().unwrap();
        let port = reserved.address().port();
        let shown = folder.display();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {shown}/host\nAuthorizedKeysFile {shown}/authorized\nStrictModes no\n\
             PidFile none\nUsePAM no\nPermitRootLogin yes\n"
        );
        fs::write(folder.join("sshd_config"), config).unwrap();
        let client = format!(
            "Host *\n  User root\n  Port {port}\n  IdentityFile {shown}/user\n  IdentitiesOnly yes\n  UserKnownHostsFile {shown}/known\n  \
             GlobalKnownHostsFile /dev/null\n"
        );
        fs::write(folder.join("ssh_config"), client).unwrap();
        let child = Command::new("/usr/sbin/sshd")
            .args(["-D", "-e", "-f"])
            .arg(folder.join("sshd_config"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.join("log")).unwrap())
            .spawn()
            .unwrap();
        let sshd = Self { child, folder, port: reserved };
        sshd.permit("");
        wait_until("sshd", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).map(drop).map_err(|error| error.to_string())
        });
        Some(sshd)
    }

    /// Has commands run after this one.
    fn permit(&self, before: &str) {
        let key = fs::read_to_string(self.folder.join("user.pub")).unwrap();
        let cache = self.folder.join("cache");
        let command = format!("export XDG_CACHE_HOME={}; {before} eval \\\"$SSH_ORIGINAL_COMMAND\\\"", cache.display());
        fs::write(self.folder.join("authorized"), format!("command=\"{command}\" {key}")).unwrap();
    }

    /// Makes its key known.
    fn know(&self) {
        let key = fs::read_to_string(self.folder.join("host.pub")).unwrap();
        fs::write(self.folder.join("known"), format!("[127.0.0.1]:{} {key}", self.port.address().port())).unwrap();
    }

    fn load(&self, stage: &Stage, server: &CountingServer, generators: &str, duration: &str) -> Command {
        let mut command = stage.command(&["load", &url(server), "--load", "open:100", "-d", duration, "--json", "-"]);
        let ssh = format!("ssh -F {}", self.folder.join("ssh_config").display());
        command.args(["--generators", generators]).env("STAMPEDE_SSH", ssh);
        command
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_generator_by_ssh_is_sent_its_program_and_drives_its_part() {
    let stage = Stage::new();
    let Some(sshd) = Sshd::start("a_generator_by_ssh_is_sent_its_program_and_drives_its_part", &stage) else { return };
    let server = CountingServer::start(Behaviour::default()).unwrap();
    let run = |generators: &str| Said::of(stage.output(&mut sshd.load(&stage, &server, generators, "1s")));

    let unknown = run("ssh:127.0.0.1");
    assert_eq!(unknown.code, Some(3), "{unknown:?}");
    assert!(unknown.stderr.contains("check its key and accept it once by hand: ssh 127.0.0.1 true"), "{unknown:?}");
    sshd.know();

    let tools = sshd.folder.join("tools");
    fs::create_dir_all(&tools).unwrap();
    write_program(&tools.join("uname"), "#!/bin/sh\necho riscv64\n");
    sshd.permit(&format!("PATH={}:$PATH;", tools.display()));
    let foreign = run("ssh:127.0.0.1");
    assert_eq!(foreign.code, Some(3), "{foreign:?}");
    assert!(foreign.stderr.contains("it is a machine of riscv64, and this program is for "), "{foreign:?}");

    let full = sshd.folder.join("full");
    fs::create_dir_all(&full).unwrap();
    mount("tmpfs", &full, "tmpfs", MountFlags::empty(), Some(c"size=1m")).unwrap();
    sshd.permit(&format!("export XDG_CACHE_HOME={};", full.display()));
    let no_room = run("ssh:127.0.0.1");
    assert_eq!(no_room.code, Some(3), "{no_room:?}");
    assert!(no_room.stderr.contains("make room in ~/.cache there"), "{no_room:?}");
    rustix::mount::unmount(&full, rustix::mount::UnmountFlags::empty()).unwrap();

    // A shell that greets.
    sshd.permit("echo Welcome, you have mail.;");
    for round in 0..2 {
        let before = server.requests();
        let said = run("local,ssh:127.0.0.1:2");
        let told = json(&said);
        adds_up(&told, &["local", "ssh:127.0.0.1#1", "ssh:127.0.0.1#2"]);
        assert_eq!(told["requests"]["sent"], 100, "{said:?}");
        assert_eq!(server.requests() - before, 100, "{said:?}");
        let kept = fs::read_dir(sshd.folder.join("cache/stampede/agents")).unwrap().count();
        assert_eq!(kept, 1, "round {round}");
    }

    // Whoever measures on that machine holds its lock.
    let before = server.requests();
    let mut first = sshd.load(&stage, &server, "ssh:127.0.0.1", "600s");
    let first = stage.spawn(first.stdout(Stdio::piped()).stderr(Stdio::piped()));
    receives(&server, before + 50);
    let second = run("ssh:127.0.0.1");
    assert_eq!(second.code, Some(3), "{second:?}");
    assert!(second.stderr.contains("take the measuring lock: process"), "{second:?}");
    kill_process(Pid::from_child(&first), Signal::INT).unwrap();
    let first = Said::of(first.wait_with_output().unwrap());
    assert_eq!(first.code, Some(130), "{first:?}");
    assert!(json(&first)["requests"]["sent"].as_u64().unwrap() >= 50, "{first:?}");
}
