//! A server that creates people, finds them and counts both.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use stampede_core::Endpoint;

/// What the server has seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) connections: u64,
    pub(crate) created: u64,
    pub(crate) duplicates: u64,
    pub(crate) followed: u64,
    pub(crate) searched: u64,
    pub(crate) invalid: u64,
    /// Requests for people who are not there.
    pub(crate) unknown: u64,
    /// What was searched for.
    pub(crate) terms: BTreeSet<String>,
    /// All other targets.
    pub(crate) paths: BTreeMap<String, u64>,
    /// The `Cookie` headers of `/cookies`, in order.
    pub(crate) cookies: Vec<String>,
    people: BTreeMap<String, u64>,
    visitors: u64,
}

/// It lives as long as the test.
pub(crate) struct PeopleServer {
    address: SocketAddr,
    endpoint: Endpoint,
    seen: Arc<Mutex<Seen>>,
}

impl PeopleServer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let of_thread = Arc::clone(&seen);
        thread::spawn(move || {
            for socket in listener.incoming() {
                let seen = Arc::clone(&of_thread);
                thread::spawn(move || serve(socket.unwrap(), &seen));
            }
        });
        Self { address, endpoint: Endpoint::Tcp(address), seen }
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    /// What it has seen, once the load is over.
    pub(crate) fn stop(self) -> Seen {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(socket: TcpStream, seen: &Mutex<Seen>) {
    socket.set_nodelay(true).unwrap();
    seen.lock().unwrap().connections += 1;
    let mut reader = BufReader::new(&socket);
    let host = socket.local_addr().unwrap();
    loop {
        let (mut head, mut length, mut cookie) = (String::new(), 0, String::new());
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            match line.trim_end().split_once(": ") {
                None => break,
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().unwrap(),
                Some((name, value)) if name.eq_ignore_ascii_case("cookie") => cookie = value.to_owned(),
                Some(_) => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let mut words = head.split(' ');
        let (method, target) = (words.next().unwrap(), words.next().unwrap());
        let body = String::from_utf8(body).unwrap();
        let (status, header, answer) = answer(&mut seen.lock().unwrap(), host, method, target, body, cookie);
        let length = answer.len();
        let answer =
            format!("HTTP/1.1 {status} X\r\nServer: people\r\n{header}Content-Length: {length}\r\n\r\n{answer}");
        if (&socket).write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// Status, further header lines and body.
fn answer(
    seen: &mut Seen,
    host: SocketAddr,
    method: &str,
    target: &str,
    body: String,
    cookie: String,
) -> (u16, String, String) {
    let empty = String::new;
    if method == "POST" && target == "/pessoas" {
        if seen.people.contains_key(&body) {
            seen.duplicates += 1;
            return (422, empty(), empty());
        }
        let id = seen.created;
        seen.created += 1;
        seen.people.insert(body, id);
        return (201, format!("Location: http://{host}/pessoas/{id}\r\n"), empty());
    }
    if let Some(id) = target.strip_prefix("/pessoas/") {
        let known = id.parse().is_ok_and(|id: u64| id < seen.created);
        *(if known { &mut seen.followed } else { &mut seen.unknown }) += 1;
        return (if known { 200 } else { 404 }, empty(), empty());
    }
    if let Some(term) = target.strip_prefix("/pessoas?t=") {
        seen.searched += 1;
        seen.terms.insert(term.to_owned());
        return (200, empty(), r#"[{"apelido": "a b"}]"#.to_owned());
    }
    if target == "/pessoas" {
        seen.invalid += 1;
        return (400, empty(), empty());
    }
    if target == "/cookies" {
        let header = if cookie.is_empty() { format!("Set-Cookie: s={}; Path=/\r\n", seen.visitors) } else { empty() };
        seen.visitors += u64::from(cookie.is_empty());
        seen.cookies.push(cookie);
        return (200, header, empty());
    }
    *seen.paths.entry(target.to_owned()).or_default() += 1;
    (200, empty(), target.to_owned())
}
