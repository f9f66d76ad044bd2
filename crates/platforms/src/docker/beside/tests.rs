use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use bollard::models::MountPoint;

use super::*;

const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// What was printed in these tests: whoever takes it has no place of its own.
static PRINTED: Mutex<String> = Mutex::new(String::new());

fn printed() -> MutexGuard<'static, String> {
    PRINTED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn errand(args: &[&str]) -> Errand {
    Errand {
        keeper: vec!["__beside".to_owned(), "--".to_owned()],
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        store: PathBuf::from("/nowhere/studies.db"),
        columns: 100,
        out: |bytes| printed().push_str(&format!("out {}", String::from_utf8_lossy(bytes))),
        err: |bytes| printed().push_str(&format!("err {}", String::from_utf8_lossy(bytes))),
    }
}

/// Requests, in the order in which they came, with their bodies.
type Received = Mutex<Vec<(String, Vec<u8>)>>;

/// An engine that has one container, which this process is in, and makes another one.
struct FakeEngine {
    socket: PathBuf,
    requests: Arc<Received>,
    _folder: tempfile::TempDir,
}

/// What the fake container does when it is started.
#[derive(Clone, Copy)]
enum Behaviour {
    /// It prints, and ends with 4 when it was asked to stop, or at once.
    Ends { when_asked: bool },
    /// Somebody removes it.
    Removed,
}

impl FakeEngine {
    fn start(behaviour: Behaviour) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("docker.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&requests);
        thread::spawn(move || {
            for connection in listener.incoming() {
                let (connection, all) = (connection.unwrap(), Arc::clone(&all));
                thread::spawn(move || serve(connection, &all, behaviour));
            }
        });
        Self { socket, requests, _folder: folder }
    }

    fn requests(&self) -> Vec<(String, Vec<u8>)> {
        self.requests.lock().unwrap().clone()
    }

    fn lines(&self) -> Vec<String> {
        self.requests().into_iter().map(|(line, _)| line).collect()
    }
}

/// The request line without its version and query, and the body.
fn request(connection: &mut UnixStream) -> Option<(String, Vec<u8>)> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        connection.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let of = |name: &str| {
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).next()
    };
    let mut body = Vec::new();
    if of("transfer-encoding").is_some() {
        loop {
            let mut size = Vec::new();
            while !size.ends_with(b"\r\n") {
                connection.read_exact(&mut byte).ok()?;
                size.push(byte[0]);
            }
            let size = usize::from_str_radix(String::from_utf8(size).unwrap().trim(), 16).unwrap();
            let mut part = vec![0; size + 2];
            connection.read_exact(&mut part).ok()?;
            body.extend_from_slice(&part[..size]);
            if size == 0 {
                break;
            }
        }
    } else if let Some(length) = of("content-length") {
        body = vec![0; length.parse().unwrap()];
        connection.read_exact(&mut body).ok()?;
    }
    let words: Vec<&str> = head.lines().next()?.split(' ').collect();
    let path = words[1].split_once('?').map_or(words[1], |(path, _)| path);
    // The version that was agreed upon.
    let path = path.strip_prefix("/v1.41").unwrap_or(path);
    Some((format!("{} {path}", words[0]), body))
}

fn serve(mut connection: UnixStream, all: &Received, behaviour: Behaviour) {
    let Some((line, body)) = request(&mut connection) else { return };
    let attaches = line.starts_with("POST") && line.ends_with("/attach");
    all.lock().unwrap().push((line.clone(), body));
    if attaches {
        return attached(connection, all, behaviour);
    }
    let arch = env::consts::ARCH;
    let mounts = r#"[{"Type":"bind","Source":"/home/me/app","Destination":"/app"},{"Type":"volume","Source":"/v/_data","Destination":"/var/tmp/stampede"}]"#;
    let (status, answer) = match line.as_str() {
        "GET /version" => (200, r#"{"ApiVersion":"1.41"}"#.to_owned()),
        "GET /info" => (200, format!(r#"{{"Architecture":"{arch}"}}"#)),
        "GET /containers/json" | "GET /networks" => (200, "[]".to_owned()),
        "GET /volumes" => (200, r#"{"Volumes":[]}"#.to_owned()),
        "POST /containers/create" => (201, r#"{"Id":"made","Warnings":[]}"#.to_owned()),
        "GET /containers/made/changes" => (200, "null".to_owned()),
        line if line.ends_with(&format!("/{ID}/json")) => {
            (200, format!(r#"{{"Id":"{ID}","Image":"sha256:i","Mounts":{mounts}}}"#))
        }
        "GET /containers/made/json" => (200, format!(r#"{{"Id":"made","Mounts":{mounts}}}"#)),
        "PUT /containers/made/archive" => (200, String::new()),
        "POST /containers/made/start" => (204, String::new()),
        _ => (404, r#"{"message":"no such thing"}"#.to_owned()),
    };
    let head = format!("HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nConnection: close\r\n");
    let length = if status == 204 { String::new() } else { format!("Content-Length: {}\r\n", answer.len()) };
    let _ = connection.write_all(format!("{head}{length}\r\n{answer}").as_bytes());
}

/// The container's side of the line, once it was started.
fn attached(mut connection: UnixStream, all: &Received, behaviour: Behaviour) {
    connection.write_all(b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n").unwrap();
    heard(&connection, all, Word::Begin);
    let print = |mut connection: &UnixStream, stream: u8, text: &[u8]| {
        let length = u32::try_from(text.len()).unwrap().to_be_bytes();
        connection.write_all(&[&[stream, 0, 0, 0][..], &length, text].concat()).unwrap();
    };
    print(&connection, 1, b"a table\n");
    let when_asked = match behaviour {
        Behaviour::Removed => return,
        Behaviour::Ends { when_asked } => when_asked,
    };
    if when_asked {
        print(&connection, 2, b"measuring\n");
        heard(&connection, all, Word::Interrupt);
    }
    print(&connection, 2, b"done\n\x004");
    print(&connection, 2, b"\n");
    heard(&connection, all, Word::End);
    print(&connection, 1, b"late\n");
}

/// Reads the line until this word comes.
fn heard(mut connection: &UnixStream, all: &Received, word: Word) {
    let mut byte = [0];
    while connection.read_exact(&mut byte).is_ok() {
        if byte[0] == word as u8 {
            all.lock().unwrap().push((format!("heard {word:?}"), Vec::new()));
            return;
        }
    }
}

fn surroundings(folder: &Path, containers: &[&str]) -> Surroundings {
    let program = folder.join("stampede");
    fs::write(&program, "a program").unwrap();
    Surroundings {
        program,
        dir: folder.to_owned(),
        variables: vec![("LANG".to_owned(), "C".to_owned()), ("HOSTNAME".to_owned(), "h".to_owned())],
        containers: containers.iter().map(|id| (*id).to_owned()).collect(),
    }
}

/// The names in an archive, as tar lists them.
fn listed(archive: &[u8]) -> String {
    use std::process::{Command, Stdio};
    let mut tar = Command::new("tar").args(["-t"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    tar.stdin.take().unwrap().write_all(archive).unwrap();
    String::from_utf8(tar.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn a_command_is_carried_out_in_a_container_that_gets_what_it_needs() {
    // The tests of this file print to one place, and one of them signals this process.
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("shop")).unwrap();
    fs::write(folder.path().join("shop/index.php"), "<?php").unwrap();

    printed().clear();
    let engine = FakeEngine::start(Behaviour::Ends { when_asked: false });
    let errand = errand(&["compare", "shop", "--json", "/app/out.json"]);
    let here = || Ok(surroundings(folder.path(), &["gone", ID]));
    assert_eq!(carry_out_at(&engine.socket, &errand, here()).unwrap(), 4);
    assert_eq!(*printed(), "out a table\nerr done\nout late\n");
    let requests = engine.requests();
    let of = |line: &str| requests.iter().filter(|(known, _)| known == line).map(|(_, body)| body).collect::<Vec<_>>();
    let made: serde_json::Value = serde_json::from_slice(of("POST /containers/create")[0]).unwrap();
    assert_eq!((&made["Image"], &made["HostConfig"]["VolumesFrom"][0]), (&"sha256:i".into(), &ID.into()));
    let program = folder.path().join("stampede").display().to_string();
    assert_eq!(made["Entrypoint"], serde_json::json!([format!("{PLACE}{program}"), "__beside", "--"]));
    assert_eq!(made["Cmd"], serde_json::json!(["compare", "shop", "--json", "/app/out.json"]));
    let archives = of("PUT /containers/made/archive");
    let names: Vec<String> = archives.iter().map(|archive| listed(archive)).collect();
    assert_eq!(names[0], "view.json\n");
    let view = String::from_utf8_lossy(archives[0]);
    assert!(view.contains(r#""at":"/app","source":"/home/me/app""#), "{view}");
    let below = |name: &str| folder.path().join(name).strip_prefix("/").unwrap().display().to_string();
    assert_eq!(names[1..], [format!("{}\n", below("stampede")), format!("{0}/\n{0}/index.php\n", below("shop"))]);
    let lines = engine.lines();
    let at = |line: &str| lines.iter().position(|known| known == line).unwrap_or_else(|| panic!("{line}: {lines:?}"));
    assert!(at("POST /containers/made/attach") < at("POST /containers/made/start"), "{lines:?}");
    assert!(at("POST /containers/made/start") < at("heard Begin"), "{lines:?}");
    assert!(at("GET /containers/made/changes") < at("heard End"), "{lines:?}");

    // A signal goes on to the command, whose exit code it is then.
    printed().clear();
    let engine = FakeEngine::start(Behaviour::Ends { when_asked: true });
    let interrupted = thread::scope(|scope| {
        let carried = scope.spawn(|| carry_out_at(&engine.socket, &errand, here()));
        while !printed().contains("measuring") {
            thread::yield_now();
        }
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, rustix::process::Signal::INT).unwrap();
        carried.join().unwrap()
    });
    assert_eq!(interrupted.unwrap(), 4);
    assert!(engine.lines().contains(&"heard Interrupt".to_owned()), "{:?}", engine.lines());

    printed().clear();
    let engine = FakeEngine::start(Behaviour::Removed);
    let removed = carry_out_at(&engine.socket, &errand, here()).unwrap_err().to_string();
    assert!(removed.contains("ended by somebody else"), "{removed}");

    // Of no container of this engine, and with libraries of this machine: the program is a text here.
    let engine = FakeEngine::start(Behaviour::Removed);
    let refused = carry_out_at(&engine.socket, &errand, Ok(surroundings(folder.path(), &["gone"])));
    assert!(matches!(refused, Err(DockerError::Libraries { .. })), "{refused:?}");
    assert!(!engine.lines().iter().any(|line| line.contains("create")), "{:?}", engine.lines());
}

#[test]
fn a_container_beside_the_engine_sees_the_machine_and_goes_with_its_volume() {
    let errand = errand(&["compare", "--help"]);
    let (program, dir) = (Path::new("/usr/local/bin/stampede"), Path::new("/work"));
    let order = |own: Option<&str>| Order {
        image: "i".to_owned(),
        own_container: own.map(str::to_owned),
        program,
        dir,
        errand: &errand,
        label: "7-ab",
        env: vec!["A=b".to_owned()],
    };
    let made = body(&order(Some("own")), None);
    let host = made.host_config.unwrap();
    assert_eq!(made.entrypoint.unwrap()[..2], ["/var/tmp/stampede/usr/local/bin/stampede", "__beside"]);
    assert_eq!((made.cmd.unwrap().len(), made.working_dir.as_deref()), (2, Some("/work")));
    assert_eq!((made.volumes.unwrap(), made.labels.unwrap()[BESIDE].as_str()), (vec![PLACE.to_owned()], "7-ab"));
    assert_eq!((host.pid_mode.as_deref(), host.network_mode.as_deref()), (Some("host"), Some("host")));
    assert_eq!(host.cgroupns_mode, Some(HostConfigCgroupnsModeEnum::HOST));
    assert_eq!((host.auto_remove, made.stdin_once, host.privileged), (Some(true), Some(true), None));
    assert_eq!((host.volumes_from, host.mounts), (Some(vec!["own".to_owned()]), None));
    assert_eq!(host.binds.unwrap(), ["/sys/fs/cgroup:/sys/fs/cgroup", "/run/lock:/run/lock"]);
    let host = body(&order(None), Some(PathBuf::from("/e/docker.sock"))).host_config.unwrap();
    let mount = &host.mounts.unwrap()[0];
    assert_eq!((mount.source.as_deref(), mount.target.as_deref()), (Some("/e/docker.sock"), Some(SOCKET)));
    assert_eq!(host.volumes_from, None);
}

#[test]
fn secrets_of_this_machine_stay_here() {
    let all = [
        ("AWS_SECRET_ACCESS_KEY", "s"),
        ("HOME", "/home/me"),
        ("PATH", "/bin"),
        ("STAMPEDE_POLITE", "1"),
        ("STAMPEDE_STATE", "/x"),
        ("https_proxy", "p"),
    ];
    let all = || all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let set = [
        "COLUMNS=100",
        "HOME=/home/me",
        "STAMPEDE_BESIDE=/var/tmp/stampede/view.json",
        "STAMPEDE_POLITE=1",
        "STAMPEDE_STATE=/var/tmp/stampede/s",
        "XDG_CACHE_HOME=/var/tmp/stampede/cache",
        "https_proxy=p",
    ];
    let far = environment(all(), false, 100);
    let only_far = ["DOCKER_HOST=unix:///var/run/docker.sock", "TMPDIR=/var/tmp/stampede"];
    let mut expected: Vec<&str> = set.into_iter().chain(only_far).collect();
    expected.sort_unstable();
    assert_eq!(far, expected);
    let near = environment(all(), true, 100);
    let mut expected: Vec<&str> = set.into_iter().chain(["AWS_SECRET_ACCESS_KEY=s"]).collect();
    expected.sort_unstable();
    assert_eq!(near, expected);
}

#[test]
fn a_process_finds_the_container_that_it_is_in() {
    let layer = "f".repeat(64);
    let mountinfo = format!(
        "700 600 0:50 / / rw - overlay overlay rw,upperdir=/var/lib/docker/overlay2/{layer}/diff\n\
         701 700 8:1 /var/lib/docker/containers/{ID}/hostname /etc/hostname rw - ext4 /dev/sda1 rw\n\
         702 700 8:1 /var/lib/docker/containers/{ID}/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n"
    );
    assert_eq!(container_ids(&mountinfo, "0::/\n"), [ID]);
    // Control groups of version 1, or those of the machine.
    assert_eq!(container_ids("", &format!("4:memory:/docker/{ID}\n0::/system.slice/docker-{ID}.scope\n")), [ID]);
    assert_eq!(container_ids("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n", "0::/init.scope\n"), Vec::<String>::new());
}

#[test]
fn a_program_without_an_interpreter_runs_anywhere() {
    let program = |kinds: &[u8]| {
        let mut bytes = [&b"\x7fELF\x02\x01"[..], &[0; 58]].concat();
        (bytes[32], bytes[54], bytes[56]) = (64, 56, u8::try_from(kinds.len()).unwrap());
        for kind in kinds {
            bytes.extend([&[*kind][..], &[0; 55]].concat());
        }
        bytes
    };
    assert!(is_static(&program(&[1, 2])));
    assert!(!is_static(&program(&[6, 3, 1])));
    assert!(!is_static(&program(&[1, 1])[..100]) && !is_static(b"#!/bin/sh\n") && !is_static(b""));
    // Debian's.
    assert!(!is_static(&fs::read("/bin/ls").unwrap()));
}

#[test]
fn an_engine_of_other_processors_is_refused() {
    let with = |name: &str| SystemInfo { architecture: Some(name.to_owned()), ..Default::default() };
    for (machine, is_fine) in [("x86_64", true), ("amd64", true), ("aarch64", false), ("arm64", false)] {
        let judged = for_the_same_processors("x86_64", &with(machine));
        assert_eq!(judged.is_ok(), is_fine, "{machine}");
        if let Err(error) = judged {
            assert!(error.to_string().contains("use a Stampede for aarch64"), "{error}");
        }
    }
    assert!(for_the_same_processors("aarch64", &SystemInfo::default()).is_ok());
}

#[test]
fn what_no_container_keeps_is_abandoned() {
    let with = |label: &str| HashMap::from([(BESIDE.to_owned(), label.to_owned())]);
    let all = [(true, with("runs")), (false, with("runs")), (false, with("gone")), (false, HashMap::new())];
    assert_eq!(abandoned(all.into_iter()), BTreeSet::from(["gone".to_owned()]));
}

#[test]
fn mounts_are_those_that_have_a_source() {
    let mount = |at: &str, source: &str| MountPoint {
        destination: Some(at.to_owned()),
        source: Some(source.to_owned()),
        ..Default::default()
    };
    let made = ContainerInspectResponse {
        mounts: Some(vec![mount("/app", "/home/me"), mount("/tmp", "")]),
        ..Default::default()
    };
    assert_eq!(mounts(&made), [Mounted { at: "/app".into(), source: "/home/me".into() }]);
}
