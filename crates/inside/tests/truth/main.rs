//! Programs of PHP whose shares are known, on real servers: what samples from outside find of them.
//!
//! Shares are of the time that the program itself ran or waited, so that it does not matter what else the machine does. Each
//! must be found within two percentage points, or some standard errors where that is more.

#![expect(clippy::expect_used, reason = "a step that fails is a test that fails")]

mod driven;
mod servers;

use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use stampede_analysis::InsideProfile;
use stampede_core::{Estimate, InsideRecord, InsideState, InsideTimes};
use stampede_inside::{MOST_FRAMES, PhpStack, StackSampler, folded};

use driven::{Driven, PER_SECOND, drive};
use servers::{Server, command, is_there};

/// Long enough for some hundred samples; by hand `STAMPEDE_TRUTH_SECONDS` makes them as sharp as one likes.
fn span() -> Duration {
    let seconds = std::env::var("STAMPEDE_TRUTH_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs_f64(seconds.unwrap_or(1.2))
}

/// How many standard errors a share may be off. Of some twenty shares in a run, one is beyond three in 5 % of runs by chance alone, and
/// beyond four in 0.1 %; runs by hand are long, and looked at.
fn standard_errors() -> f64 {
    if std::env::var_os("STAMPEDE_TRUTH_SECONDS").is_some() { 3.0 } else { 4.0 }
}

/// What begins before the span and what ends after it must weigh little, also where others take most of the processor.
const ROUNDS: u32 = 50;

fn skip(test: &str, program: &str) -> bool {
    let is_missing = !is_there(program);
    if is_missing {
        let _ = writeln!(std::io::stderr(), "SKIP {test}: needs {program}");
    }
    is_missing
}

/// A share that was found.
#[derive(Clone, Copy)]
struct Found {
    value: f64,
    standard_error: f64,
}

impl Found {
    /// Of an estimate, as a part of a whole.
    fn of(Estimate { value, low, high, n: _ }: Estimate, whole: f64) -> Self {
        let half = low.zip(high).map_or(f64::INFINITY, |(low, high)| (high - low) / 2.0);
        Self { value: value / whole, standard_error: half / 1.96 / whole }
    }
}

/// Whether a share is what it is known to be.
#[track_caller]
fn assert_near(what: &str, found: Found, truth: f64) {
    let Found { value, standard_error } = found;
    let allowed = (standard_errors() * standard_error).max(0.02);
    let _ = writeln!(std::io::stderr(), "{what}: {value:.4} +- {standard_error:.4}, truth {truth:.4}");
    assert!((value - truth).abs() <= allowed, "{what}: {value:.3} +- {standard_error:.3}, truth {truth:.3}");
}

/// The three loops have 60, 30 and 10 parts of the time that their caller ran.
#[track_caller]
fn assert_loops(server: &str, driven: &Driven) {
    let Driven { record, counts, cost, .. } = driven;
    let functions = InsideProfile::of_processes(record).functions;
    // From PHP 8.4 on a closure's name holds where it is written: {closure:Truth\Work::all():31}.
    let is_named = |function: &str, name: &str| {
        if name.starts_with('{') { function.contains(name) } else { function.starts_with(name) }
    };
    let row = |name: &str| {
        let found = functions.iter().find(|row| is_named(&row.function, name));
        found.unwrap_or_else(|| panic!("{server}: no {name} in {functions:#?}"))
    };
    let all = row("Truth\\Work::all").total.value;
    for (name, truth) in [("Truth\\six", 0.6), ("Truth\\Work::three", 0.3), ("{closure", 0.1)] {
        assert_near(&format!("{server}: {name}"), Found::of(row(name).own, all), truth);
    }
    // Loops of one function are nearly all opcodes and the functions that they call, in PHP's own file and the C library.
    let native = &record.native;
    if native.samples() == 0 {
        let _ = writeln!(
            std::io::stderr(),
            "SKIP {server}, where in machine code it ran: needs the right to perf_event_open(2)"
        );
    } else {
        let ran = record.spent.running.as_secs_f64() * f64::from(PER_SECOND);
        let seen = native.samples() as f64;
        assert!((0.5..1.5).contains(&(seen / ran)), "{server}: {seen} samples of {ran:.0}: {native:?}");
        let symbols = native.code.iter().filter(|code| code.symbol.is_some()).map(|code| code.samples).sum::<u64>();
        assert!(symbols * 2 > native.samples(), "{server}: {native:?}");
    }
    let read = counts.taken + counts.torn;
    let _ = writeln!(std::io::stderr(), "{server}: {counts:?}, {:.2} % of a processor", cost * 100.0);
    assert!(counts.torn * 100 <= read, "{server}: {counts:?}");
    assert!(counts.moved * 20 <= read, "{server}: {counts:?}");
}

#[test]
fn a_program_runs_and_waits_as_it_says() {
    if skip("a_program_runs_and_waits_as_it_says", "php") {
        return;
    }
    // A machine that stands still, or has no processor for the sampler, is seen as it was before and after: not what is tested here.
    const FEW: f64 = 0.01;
    let driven = std::iter::repeat_with(program_that_waits).take(10).find(|(driven, ..)| {
        let is_seen = driven.missed < FEW;
        if !is_seen {
            let _ = writeln!(std::io::stderr(), "AGAIN php, of whose instants {:.4} were missed", driven.missed);
        }
        is_seen
    });
    let (driven, lock, [nap, lock_wait, truly_all]) = driven.expect("a run that could be looked at");
    assert_loops("php", &driven);
    let record = &driven.record;
    let waits = InsideProfile::of_processes(record).waits;
    let of_lock = format!("flock {lock} in flock");
    assert!(waits.iter().any(|row| row.wait == of_lock), "{of_lock}: {waits:?}");
    // Without what PHP does before its program and after it, which takes longer on a busy machine.
    let all = seconds_in(record, |functions| !functions.is_empty());
    for (function, truth) in [("Truth\\nap", nap), ("Truth\\lock", lock_wait)] {
        // What the program counts is until it goes on: from when it waits no more it is ready, for as long as others run.
        let value = seconds_in(record, |functions| functions.contains(&function)) / all;
        let standard_error = error_of_seconds(record, function) / all;
        assert_near(&format!("php: {function} of all time"), Found { value, standard_error }, truth / truly_all);
    }
}

/// The program in a run of its own: what was seen, the file that it locks, and for how many nanoseconds by its own clock it waited in
/// its nap, waited for the lock, and went on in all.
fn program_that_waits() -> (Driven, String, [f64; 3]) {
    let folder = tempfile::tempdir().expect("a folder");
    let lock = folder.path().join("lock");
    let holder = servers::LockHolder::start(&lock, Duration::from_millis(15));
    let mut php = command("php")
        .args(["-d", "opcache.enable_cli=0"])
        .arg(servers::work())
        .args([(span().as_secs_f64() + 1.0).to_string().as_ref(), lock.as_os_str()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("php is there");
    let driven = drive(&[php.id()], || php.try_wait().ok().flatten().is_none());
    drop(holder);
    let output = php.wait_with_output().expect("it ended");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut waited = text.split_ascii_whitespace().map(|number| number.parse::<f64>().expect("nanoseconds"));
    let waited = ["nap", "lock", "all"].map(|what| waited.next().expect(what));
    (driven, lock.display().to_string(), waited)
}

/// The standard error of a function's seconds. How long the program ran, was ready and waited is known, so samples tell the
/// function's share of each: a stratified estimate (Cochran, Sampling Techniques, 1977, section 5.4).
fn error_of_seconds(record: &InsideRecord, function: &str) -> f64 {
    let InsideTimes { running, ready, waiting, waits: _ } = record.spent;
    let number = |state: &InsideState| match state {
        InsideState::Running => 0,
        InsideState::Ready => 1,
        InsideState::Waiting(_) => 2,
    };
    let variance = (0..).zip([running, ready, waiting]).map(|(stratum, time)| {
        let samples = || record.stacks.iter().filter(|stack| number(&stack.state) == stratum);
        let all: u64 = samples().map(|stack| stack.samples).sum();
        let calls = samples().filter(|stack| record.frames(stack).any(|frame| frame.to_string() == function));
        let share = calls.map(|stack| stack.samples).sum::<u64>() as f64 / all.max(1) as f64;
        time.as_secs_f64().powi(2) * share * (1.0 - share) / all.max(1) as f64
    });
    variance.sum::<f64>().sqrt()
}

/// The seconds of all stacks with such functions, the outermost first, in any state.
fn seconds_in(record: &InsideRecord, is_one: impl Fn(&[&str]) -> bool) -> f64 {
    let folded = folded(record);
    let lines = folded.lines().filter_map(|line| line.rsplit_once(' '));
    let lines = lines.filter(|(names, _)| {
        let names: Vec<_> = names.split(';').collect();
        names.split_last().is_some_and(|(_state, functions)| is_one(functions))
    });
    lines.filter_map(|(_, weight)| weight.parse::<f64>().ok()).sum::<f64>() / 1e6
}

#[test]
fn servers_without_threads_are_read_by_request() {
    for server in ["php -S", "php-fpm"] {
        let Some(server) = Server::start(server) else { continue };
        let mut load = server.load(&["/users?page=1", "/hello"]);
        let driven = drive(&[server.pid()], load.for_a(span(), ROUNDS));
        load.stop();
        assert_loops(&server.name, &driven);
        let requests = InsideProfile::of_processes(&driven.record).requests;
        let share = |path: &str| {
            let found = requests.iter().find(|(known, _)| known == path);
            found.unwrap_or_else(|| panic!("{}: no {path} in {requests:?}", server.name)).1
        };
        let (users, hello) = (share("/users"), share("/hello"));
        assert_near(&format!("{}: /users", server.name), Found::of(users, users.value + hello.value), 0.5);
    }
}

#[test]
fn threads_of_frankenphp_are_read() {
    for server in ["frankenphp", "frankenphp worker"] {
        let Some(server) = Server::start(server) else { continue };
        let mut load = server.load(&["/users?page=1", "/hello"]);
        let driven = drive(&[server.pid()], load.for_a(span(), ROUNDS));
        load.stop();
        assert_loops(&server.name, &driven);
        assert!(folded(&driven.record).contains("Truth\\Work::all;Truth\\six;[running]"));
        let requests = InsideProfile::of_processes(&driven.record).requests;
        assert!(requests.iter().any(|(path, _)| path == "/hello"), "{}: {requests:?}", server.name);
    }
}

#[test]
fn what_has_no_php_is_refused() {
    let mut sleep = command("sleep").arg("100").spawn().expect("sleep is there");
    let error = StackSampler::attach(&[sleep.id()]).map(drop).expect_err("sleep is no PHP");
    let pid = sleep.id();
    sleep.kill().expect("it runs");
    sleep.wait().expect("it ended");
    assert_eq!(
        error.to_string(),
        format!("cannot sample process {pid}: no PHP in it, nor in a process that it started")
    );
    let error = StackSampler::attach(&[pid]).map(drop).expect_err("it has ended");
    assert_eq!(error.to_string(), format!("cannot sample process {pid}: there is no such process"));
}

/// A process of PHP that runs this code; killed when it is dropped.
struct Php(std::process::Child);

impl Php {
    fn start(mut program: std::process::Command, code: &str) -> Self {
        Self(program.args(["-n", "-r", code]).stdout(Stdio::null()).spawn().expect("php is there"))
    }
}

impl Drop for Php {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Samples until one holds what is waited for.
#[track_caller]
fn sampled_until(pid: u32, what: &str) -> PhpStack {
    let patience = Instant::now();
    let mut last = None;
    while patience.elapsed() < Duration::from_secs(10) {
        let Ok(mut sampler) = StackSampler::attach(&[pid]) else { continue };
        last = sampler.sample(patience.elapsed()).pop().map(|sample| sample.stack);
        if let Some(stack) = last.as_ref().filter(|stack| stack.to_string().contains(what)) {
            return PhpStack::clone(stack);
        }
    }
    panic!("no {what} in {last:?}");
}

#[test]
fn a_stack_of_ten_thousand_frames_is_cut_and_strange_names_are_escaped() {
    if skip("a_stack_of_ten_thousand_frames_is_cut_and_strange_names_are_escaped", "php") {
        return;
    }
    const CODE: &str = "$name = 'caf' . chr(233);
        eval(\"function $name(\\$n) { if (\\$n > 0) { $name(\\$n - 1); } else { sleep(100); } }\");
        $name(10000);";
    let php = Php::start(command("php"), CODE);
    let stack = sampled_until(php.0.id(), "sleep");
    assert!(stack.is_cut && stack.frames.len() == MOST_FRAMES, "{} frames", stack.frames.len());
    assert_eq!(stack.frames[1].function.to_string(), "caf\\xe9");
}

#[test]
fn php_in_a_user_namespace_of_its_own_is_read() {
    let test = "php_in_a_user_namespace_of_its_own_is_read";
    if skip(test, "php") || skip(test, "unshare") {
        return;
    }
    let mut unshare = command("unshare");
    unshare.args(["-U", "-r", "php"]);
    let php = Php::start(unshare, "sleep(100);");
    sampled_until(php.0.id(), "sleep");
}

#[test]
fn threads_take_turns_and_those_left_out_are_counted() {
    if skip("threads_take_turns_and_those_left_out_are_counted", "php") {
        return;
    }
    let all = [(); 3].map(|()| Php::start(command("php"), "sleep(100);"));
    let pids = all.each_ref().map(|php| php.0.id());
    pids.iter().for_each(|pid| drop(sampled_until(*pid, "sleep")));
    let mut sampler = StackSampler::attach(&pids).expect("they run PHP");
    sampler.take_turns(1);
    let mut seen: Vec<u32> =
        (0..6).flat_map(|second| sampler.sample(Duration::from_secs(second))).map(|it| it.pid).collect();
    seen.sort_unstable();
    let mut twice: Vec<u32> = pids.iter().flat_map(|pid| [*pid; 2]).collect();
    twice.sort_unstable();
    assert_eq!((seen, sampler.counts().skipped), (twice, 12));
}

#[test]
fn php_without_the_names_of_its_globals_is_refused() {
    if skip("php_without_the_names_of_its_globals_is_refused", "php") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("php");
    let program = servers::path_of("php").expect("it is there");
    let mut bytes = std::fs::read(program).expect("it can be read");
    const NAME: &[u8] = b"\0executor_globals\0";
    let places: Vec<usize> = (0..bytes.len() - NAME.len()).filter(|at| bytes[*at..].starts_with(NAME)).collect();
    places.iter().for_each(|at| bytes[at + 1] = b'x');
    std::fs::write(&copy, bytes).expect("a file");
    std::fs::set_permissions(&copy, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("its rights");
    let php = Php::start(command(copy.to_str().expect("a path")), "sleep(100);");
    let patience = Instant::now();
    loop {
        let error = StackSampler::attach(&[php.0.id()]).map(drop).expect_err("it has no names").to_string();
        // Until it has been loaded, there is no PHP in it.
        if error.ends_with("has no symbols (executor_globals); use a build that is not stripped") {
            return;
        }
        assert!(patience.elapsed() < Duration::from_secs(10), "{error}");
    }
}

#[test]
fn time_of_the_garbage_collector_is_seen_in_machine_code() {
    let test = "time_of_the_garbage_collector_is_seen_in_machine_code";
    if skip(test, "php") {
        return;
    }
    // Two thousand trees that live, and others that are thrown away: the collector looks at all of them again and again.
    const PROGRAM: &str = "class Node { public $parent; public $children = []; }\n\
        function tree() { $root = new Node; for ($i = 0; $i < 50; $i++) { $n = new Node; $n->parent = $root; $root->children[] = $n; }\n\
        return $root; }\n\
        $live = []; for ($i = 0; $i < 2000; $i++) { $live[] = tree(); }\n\
        if ($argv[1] === 'off') { gc_disable(); ini_set('memory_limit', -1); }\n\
        $until = microtime(true) + 1.5; while (microtime(true) < $until) { for ($i = 0; $i < 100; $i++) { $t = tree(); }\n\
        if ($argv[1] === 'off') { foreach ($live as $l) { foreach ($l->children as $c) { $c->parent = null; $c->parent = $l; } } } }";
    let collecting = |mode: &str| {
        let mut php = command("php").args(["-r", PROGRAM, "--", mode]).spawn().expect("php is there");
        let driven = drive(&[php.id()], || php.try_wait().ok().flatten().is_none());
        php.wait().expect("it ended");
        let profile = InsideProfile::of_processes(&driven.record);
        let row = profile.native.iter().find(|row| row.what == "garbage collection");
        (profile.native.len(), row.map_or(0.0, |row| row.share.value), profile.native)
    };
    let (rows, share, native) = collecting("on");
    if rows == 0 {
        let _ = writeln!(std::io::stderr(), "SKIP {test}: needs the right to perf_event_open(2)");
        return;
    }
    let _ = writeln!(std::io::stderr(), "{test}: {share:.3}");
    assert!(share > 0.1, "{native:?}");
    let (_, share, native) = collecting("off");
    assert!(share < 0.1, "{native:?}");
}
