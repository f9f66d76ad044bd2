//! Scripts in their states, without a load.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use stampede_lua::{Distribution, LoadErrors, Lookup, LuaScript, Source, Summary, Trouble, Watch};
use stampede_seam::{AuthoredThread, KeptAnswer};

const PATIENCE: Duration = Duration::from_secs(30);

/// A script with a target that listens, and another address that nobody listens at.
struct Bench {
    listener: TcpListener,
    source: Source,
}

impl Bench {
    fn new(text: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let silent: SocketAddr = "127.0.0.1:1".parse().unwrap();
        let lookup = Lookup::new(move |host, service| match (host, service) {
            ("h", "8080") => Ok(vec![silent, address]),
            _ => Err("not known".to_owned()),
        });
        let source = Source {
            file: "dir/a.lua".to_owned(),
            text: text.as_bytes().to_vec(),
            scheme: "http".to_owned(),
            host: "h".to_owned(),
            port: Some("8080".to_owned()),
            path: "/a?b=c".to_owned(),
            headers: vec![("X-A".to_owned(), "b".to_owned())],
            args: vec!["http://h:8080/a?b=c".to_owned(), "one".to_owned()],
            threads: 2,
            memory: 64 << 20,
            lookup,
        };
        Self { listener, source }
    }

    fn load(&self) -> Result<LuaScript, Trouble> {
        LuaScript::load(&self.source, &Watch::new(PATIENCE))
    }

    fn threads(&self) -> Vec<AuthoredThread> {
        self.load().unwrap().threads().unwrap()
    }
}

fn written(thread: &mut AuthoredThread) -> String {
    let mut request = Vec::new();
    assert!(thread.author.as_mut().unwrap().write(&mut request));
    String::from_utf8(request).unwrap()
}

fn lines(request: &str) -> Vec<&str> {
    let mut lines: Vec<_> = request.split("\r\n").collect();
    lines.sort_unstable();
    lines
}

#[test]
fn a_script_without_functions_is_a_fixed_request() {
    let bench = Bench::new("wrk.method = 'POST'\nwrk.body = 'a=b'\nwrk.headers['Content-Type'] = 'x/y'");
    for thread in bench.threads() {
        let AuthoredThread { target, fixed, requests, reads, author } = thread;
        assert_eq!(target.to_string(), bench.listener.local_addr().unwrap().to_string());
        assert_eq!((requests.get(), reads, author.is_none()), (1, false, true));
        let request = String::from_utf8(fixed.unwrap()).unwrap();
        assert!(request.starts_with("POST /a?b=c HTTP/1.1\r\n") && request.ends_with("\r\n\r\na=b"), "{request}");
        let expected =
            ["", "Content-Length: 3", "Content-Type: x/y", "Host: h:8080", "POST /a?b=c HTTP/1.1", "X-A: b", "a=b"];
        assert_eq!(lines(&request), expected);
    }
}

#[test]
fn states_are_apart_and_values_are_carried() {
    let bench = Bench::new(
        "local number = 0
         local threads = {}
         function setup(thread)
           number = number + 1
           threads[number] = thread
           thread:set('id', {number, name = 'n' .. number})
           assert(tostring(thread.addr) == tostring(wrk.addrs[1]) and #wrk.addrs == 1)
         end
         function init(args)
           assert(args[0] == 'http://h:8080/a?b=c' and args[1] == 'one' and #args == 1)
           assert(number == 0 and wrk.thread:get('id').name == id.name)
           wrk.path = '/' .. id[1]
           wrk.thread:set('requests', 0)
         end
         function request()
           requests = requests + 1
           return wrk.request()
         end
         function done(summary)
           assert(threads[1]:get('requests') == 3 and threads[2]:get('requests') == 1)
           assert(threads[2]:get('nothing') == nil)
         end",
    );
    let script = bench.load().unwrap();
    let mut threads = script.threads().unwrap();
    for (number, thread) in threads.iter_mut().enumerate() {
        assert!(written(thread).starts_with(&format!("GET /{} HTTP/1.1\r\n", number + 1)));
    }
    written(&mut threads[0]);
    // The first thread's state was asked once before, to see what it is.
    script.done(&Summary::default(), Distribution::default(), Distribution::default()).unwrap();
}

#[test]
fn answers_are_taken_and_a_thread_is_stopped() {
    let bench = Bench::new(
        "function response(status, headers, body)
           assert(status == 201 and headers['X-Token'] == 'abc' and headers.none == nil)
           assert(body == 'b\\0dy')
           wrk.thread:stop()
         end
         function delay() return 12.9 end",
    );
    let mut threads = bench.threads();
    let AuthoredThread { fixed, reads, author, .. } = &mut threads[1];
    let author = author.as_mut().unwrap();
    assert!(fixed.is_some() && *reads);
    assert_eq!(author.pause(), Duration::from_millis(12));
    let mut answer = KeptAnswer::default();
    answer.begin(201);
    answer.header("X-Token", b"abc");
    answer.extend(b"b\0dy");
    assert!(!author.has_ended());
    author.read(&answer);
    assert!(author.has_ended());
    assert!(!threads[0].author.as_ref().unwrap().has_ended());
}

#[test]
fn several_requests_in_a_string_are_sent_together() {
    let bench = Bench::new(
        "function init()
           local r = {}
           for i = 1, 16 do r[i] = wrk.format(nil, '/?' .. i) end
           together = table.concat(r)
         end
         function request() return together end",
    );
    let script = bench.load().unwrap();
    assert_eq!(script.requests_together().get(), 16);
    assert_eq!(written(&mut script.threads().unwrap()[0]).matches("GET /?").count(), 16);
}

#[test]
fn functions_may_be_replaced_while_they_run() {
    let bench = Bench::new(
        "local first = true
         function request()
           request = function() return wrk.format('PUT', '/later', {}, 'x') end
           return wrk.request()
         end",
    );
    let mut threads = bench.threads();
    assert!(written(&mut threads[0]).starts_with("PUT /later"));
    assert!(written(&mut threads[1]).starts_with("GET /a"));
    let second = written(&mut threads[1]);
    assert_eq!(lines(&second), ["", "Content-Length: 1", "Host: h:8080", "PUT /later HTTP/1.1", "x"]);
}

#[test]
fn libraries_are_there_as_wrk_opens_them() {
    let bench = Bench::new(
        "assert(ffi == nil and require('ffi').sizeof('int') == 4)
         assert(bit.band(7, 2) == 2 and jit.version and debug.getinfo(1) and coroutine.create)
         assert(io.write and os.time() > 0 and math.random(1) == 1 and string.rep('a', 2) == 'aa')
         assert(require('wrk') == wrk and wrk.scheme == 'http' and wrk.host == 'h' and wrk.port == '8080')
         assert(wrk.method == 'GET' and wrk.headers['X-A'] == 'b' and wrk.body == nil)
         assert(not pcall(wrk.lookup, 'nowhere', 'http'))",
    );
    bench.load().unwrap();
}

#[test]
fn done_is_told_of_the_load() {
    let bench = Bench::new(
        "function done(summary, latency, requests)
           assert(summary.duration == 2000000 and summary.requests == 7 and summary.bytes == 99)
           local e = summary.errors
           assert(e.connect == 1 and e.read == 2 and e.write == 3 and e.status == 4 and e.timeout == 5)
           assert(latency:percentile(50) == 10 and #latency == 2 and requests.max == 70)
         end",
    );
    let script = bench.load().unwrap();
    assert!(script.has_done());
    let errors = LoadErrors { connect: 1, read: 2, write: 3, status: 4, timeout: 5 };
    let summary = Summary { duration: 2_000_000, requests: 7, bytes: 99, errors };
    let latency = Distribution::new([(10, 5), (20, 2)]);
    script.done(&summary, latency, Distribution::new([(70, 1)])).unwrap();
}

#[test]
fn what_stops_a_script_is_told_with_its_line() {
    let mut wrong = Vec::new();
    for (what, text, expected) in [
        ("syntax", "local a\nlocal = 3", "dir/a.lua:2: '<name>' expected near '='\n  it stopped the script's file"),
        (
            "the file",
            "\n\nnothing.at = 1",
            "dir/a.lua:3: attempt to index global 'nothing' (a nil value)\n  it stopped the script's file",
        ),
        ("an error of its own", "error({})", ": table: 0x"),
        (
            "setup",
            "function setup(thread)\n  thread:set('f', print)\nend",
            "dir/a.lua:2: cannot transfer 'function' to thread\n  it stopped setup()",
        ),
        ("another address", "function setup(t) t.addr = 'x' end", "an address of wrk.lookup is expected, not a string"),
        (
            "init",
            "function init()\n  wrk.lookup('x', 'y')\nend",
            "dir/a.lua:2: unable to resolve x:y: not known\n  it stopped init() (thread 1)",
        ),
        (
            "request",
            "function request()\n  return nil .. 'x'\nend",
            "dir/a.lua:2: attempt to concatenate a nil value\n  it stopped request() (thread 1, call 1)",
        ),
        ("no string", "function request() return {} end", "dir/a.lua: "),
        (
            "no request",
            "function request() return 'GET / HTTP/1.1\\r\\n' end",
            "dir/a.lua: what request() returned is not an HTTP request: incomplete request at line 2, column 1 of it",
        ),
        (
            "memory",
            "local t = {}\nwhile true do t[#t + 1] = ('x'):rep(1000) .. #t end",
            "the script needs more than its 64 MiB of memory\n  it stopped the script's file",
        ),
        ("a C module", "package.cpath = './?.none'\nrequire('socket.core')", "module 'socket.core' not found"),
    ] {
        let error = Bench::new(text).load().unwrap_err().to_string();
        if !error.contains(expected) {
            wrong.push(format!("{what}: {error}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn c_modules_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("socket")).unwrap();
    fs::write(folder.path().join("socket/core.so"), "").unwrap();
    let path = folder.path().display();
    let text = format!("package.cpath = '{path}/?.so'\nrequire('socket.core')");
    let error = Bench::new(&text).load().unwrap_err().to_string();
    let expected = format!("module 'socket.core' is the C library {path}/socket/core.so, and C modules are not loaded");
    assert!(error.contains(&expected), "{error}");
    let error = Bench::new("package.loadlib('a.so', '*')").load().unwrap_err().to_string();
    assert!(error.contains("module 'a.so' is the C library a.so"), "{error}");
}

#[test]
fn an_error_while_load_runs_ends_its_thread_and_is_kept() {
    let bench = Bench::new(
        "calls = 0
         function request()
           calls = calls + 1
           return calls < 3 and wrk.request() or nothing()
         end",
    );
    let script = bench.load().unwrap();
    let mut threads = script.threads().unwrap();
    written(&mut threads[0]);
    assert_eq!(script.trouble(), None);
    let mut request = Vec::new();
    let author = threads[0].author.as_mut().unwrap();
    assert!(!author.write(&mut request) && author.has_ended());
    let trouble = script.trouble().unwrap().to_string();
    let expected =
        "dir/a.lua:4: attempt to call global 'nothing' (a nil value)\n  it stopped request() (thread 1, call 3)";
    assert_eq!(trouble, expected);
}

#[test]
fn a_call_without_an_end_is_found() {
    let bench = Bench::new("function init()\n  while true do end\nend");
    let watch = Watch::new(Duration::from_millis(200));
    let (source, of_job) = (bench.source.clone(), std::sync::Arc::clone(&watch));
    let found = watch.guard(move || LuaScript::load(&source, &of_job).map(drop)).unwrap_err().to_string();
    assert!(found.starts_with("dir/a.lua:1: init() has not returned for 0 s (thread 1)"), "{found}");
}

#[test]
fn nobody_at_the_target_is_told() {
    let mut bench = Bench::new("");
    bench.source.lookup = Lookup::new(|_, _| Ok(vec!["127.0.0.1:1".parse().unwrap()]));
    assert_eq!(bench.load().unwrap_err(), Trouble::Unreachable("h:8080".to_owned()));
}
