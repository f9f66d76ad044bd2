//! The exit codes of `stampede hey`, `stampede ab` and `stampede wrk` beside those of the tools themselves.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_linger;
use rustix::process::{Pid, Signal, kill_process};

use crate::stage::{Stage, at_once};

/// What a server does with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// Answers with this status.
    Answers(u16),
    /// Reads, and says nothing.
    Silent,
    /// Reads, and closes.
    Closes,
    /// Reads, and resets.
    Resets,
}

/// A server of one manner, until it is dropped.
struct Mannered {
    url: String,
    port: u16,
    stopping: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

impl Mannered {
    fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let stopping = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stopping);
        let acceptor = thread::spawn(move || {
            let mut open = Vec::new();
            for stream in listener.incoming() {
                if seen.load(Ordering::SeqCst) {
                    return;
                }
                let mut stream = stream.unwrap();
                if manner == Manner::Silent {
                    open.push(stream);
                    continue;
                }
                thread::spawn(move || {
                    let mut buffer = [0; 4 << 10];
                    if let Ok(1..) = stream.read(&mut buffer) {
                        let text = match manner {
                            Manner::Answers(status) => {
                                format!("HTTP/1.1 {status} X\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
                            }
                            Manner::Closes | Manner::Silent => String::new(),
                            Manner::Resets => {
                                set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
                                String::new()
                            }
                        };
                        // The client may be gone.
                        let _ = stream.write_all(text.as_bytes());
                    }
                });
            }
        });
        Self { url: format!("http://127.0.0.1:{port}/"), port, stopping, acceptor: Some(acceptor) }
    }
}

impl Drop for Mannered {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        drop(std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
        drop(self.acceptor.take().unwrap().join());
    }
}

fn have(test: &str, tool: &str) -> bool {
    let found = Command::new(tool).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !found {
        let _ = writeln!(io::stderr(), "SKIP {test}: needs {tool}");
    }
    found
}

/// The codes of the tool and of Stampede in its place.
fn codes(stage: &Stage, line: &str, url: &str) -> [Option<i32>; 2] {
    let words: Vec<&str> = line.split(' ').map(|word| if word == "URL" { url } else { word }).collect();
    let (tool, args) = words.split_first().unwrap();
    let of_tool = Command::new(tool).args(args).stdin(Stdio::null()).output().unwrap().status.code();
    [of_tool, stage.run_once(&words).code]
}

#[test]
fn loads_end_as_with_the_tools() {
    use Manner::{Answers, Closes, Resets, Silent};
    let test = "loads_end_as_with_the_tools";
    let folder = tempfile::tempdir().unwrap();
    let script = |name: &str, text: &str| {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let [in_request, in_response, in_done] = [
        script("request.lua", "function request()\n  error('x')\nend"),
        script("response.lua", "function response()\n  error('x')\nend"),
        script("done.lua", "function done()\n  error('x')\nend"),
    ];
    let loads = [
        (Answers(200), 0, "hey -n 4 -c 2 URL".to_owned()),
        (Answers(404), 0, "hey -n 4 -c 2 URL".to_owned()),
        (Answers(503), 0, "hey -n 4 -c 2 -o csv URL".to_owned()),
        (Closes, 0, "hey -n 4 -c 2 URL".to_owned()),
        (Resets, 0, "hey -n 4 -c 2 URL".to_owned()),
        (Silent, 0, "hey -n 2 -c 2 -t 1 URL".to_owned()),
        (Answers(200), 0, "ab -n 4 -c 2 URL".to_owned()),
        (Answers(500), 0, "ab -n 4 -c 2 URL".to_owned()),
        (Closes, 0, "ab -n 4 -c 2 URL".to_owned()),
        (Resets, 104, "ab -n 4 -c 2 URL".to_owned()),
        (Resets, 0, "ab -r -n 4 -c 2 URL".to_owned()),
        (Silent, 119, "ab -s 1 -n 2 URL".to_owned()),
        (Silent, 119, "ab -r -s 1 -n 2 URL".to_owned()),
        (Answers(200), 0, "wrk -t1 -c2 -d1 URL".to_owned()),
        (Answers(500), 0, "wrk -t1 -c2 -d1 URL".to_owned()),
        (Closes, 0, "wrk -t1 -c1 -d1 URL".to_owned()),
        (Resets, 0, "wrk -t1 -c1 -d1 URL".to_owned()),
        (Silent, 0, "wrk -t1 -c1 -d1 URL".to_owned()),
        (Answers(200), 1, format!("wrk -t1 -c1 -d1 -s {in_request} URL")),
        (Answers(200), 1, format!("wrk -t1 -c1 -d1 -s {in_response} URL")),
        (Answers(200), 1, format!("wrk -t1 -c1 -d1 -s {in_done} URL")),
    ];
    let stage = Stage::new();
    at_once(&loads, |(manner, expected, line)| {
        if have(test, line.split(' ').next().unwrap()) {
            let server = Mannered::start(*manner);
            assert_eq!(codes(&stage, line, &server.url), [Some(*expected); 2], "{manner:?} {line}");
        }
    });
    // Nobody listens there.
    for (expected, line) in
        [(0, "hey -n 4 -c 2 URL"), (111, "ab -n 4 -c 2 URL"), (0, "ab -r -n 4 -c 2 URL"), (1, "wrk -t1 -c1 -d1 URL")]
    {
        if have(test, line.split(' ').next().unwrap()) {
            assert_eq!(codes(&stage, line, "http://127.0.0.1:1/"), [Some(expected); 2], "{line}");
        }
    }
}

#[test]
fn mistakes_end_as_with_the_tools() {
    let stage = Stage::new();
    for (expected, line) in [
        (1, "hey"),
        (1, "hey -c 0 URL"),
        (1, "hey -n 1 -c 3 URL"),
        (2, "hey -Q URL"),
        (2, "hey -n x URL"),
        (2, "hey -z 5 URL"),
        (2, "hey -T"),
        (1, "hey -D /nonexistent URL"),
        (1, "hey -H x URL"),
        (1, "hey -a me URL"),
        (22, "ab"),
        (1, "ab -n 0 URL"),
        (22, "ab -n 1 -c 3 URL"),
        (22, "ab -c 0 URL"),
        (1, "ab -p /nonexistent URL"),
        (1, "ab -i -p /proc/self/comm URL"),
        (50, "ab -n 1 http://nowhere.invalid/"),
        (0, "ab -V"),
        (1, "wrk"),
        (1, "wrk -c 0 URL"),
        (1, "wrk -t 3 -c 1 URL"),
        (1, "wrk -Q URL"),
        (1, "wrk -c 2x URL"),
        (1, "wrk -d 0 -t1 -c1 URL"),
        (1, "wrk -v"),
        (1, "wrk -t1 -c1 -d1 http://nowhere.invalid/"),
    ] {
        if have("mistakes_end_as_with_the_tools", line.split(' ').next().unwrap()) {
            assert_eq!(codes(&stage, line, "http://127.0.0.1:1/"), [Some(expected); 2], "{line}");
        }
    }
}

/// Interrupts a load that is under way, as Ctrl-C does, and returns its code.
fn interrupted(mut child: Child, port: u16) -> Option<i32> {
    let connected = format!(":{port:04X} 01");
    let begun = Instant::now();
    // Its connection is there: the table of the kernel's has both ends of it.
    while !fs::read_to_string("/proc/net/tcp").unwrap().contains(&connected) {
        assert!(begun.elapsed() < Duration::from_secs(20), "no connection to {port}");
        thread::yield_now();
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    child.wait().unwrap().code()
}

#[test]
fn interrupted_loads_end_as_with_the_tools() {
    let stage = Stage::new();
    // It waits for the answer that is out, for 20 s by default.
    let loads = [(0, "hey -z 60s -c 1 -t 2 URL"), (1, "ab -t 60 -n 1000000 URL"), (0, "wrk -t1 -c1 -d60 URL")];
    at_once(&loads, |&(expected, line)| {
        let tool = line.split(' ').next().unwrap();
        if !have("interrupted_loads_end_as_with_the_tools", tool) {
            return;
        }
        let by = |make: &dyn Fn(&[&str]) -> Command| {
            let server = Mannered::start(Manner::Silent);
            let words: Vec<&str> =
                line.split(' ').map(|word| if word == "URL" { &*server.url } else { word }).collect();
            let mut command = make(&words);
            let child = stage.spawn(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
            interrupted(child, server.port)
        };
        let of_tool = by(&|words| {
            let mut command = Command::new(tool);
            command.args(&words[1..]);
            command
        });
        assert_eq!([of_tool, by(&|words| stage.command(words))], [Some(expected); 2], "{line}");
    });
}
