//! Running processes that were sampled.

use std::time::Duration;

use stampede_core::{
    InsideCode, InsideEffort, InsideFunction, InsideNative, InsideRecord, InsideStack, InsideState, InsideTarget,
    InsideTimes, InsideWait,
};
use stampede_report::{ProcessesView, SampledPhp};

/// `Class::name@file`, or `name` of PHP's own; a file alone after `@`.
fn function(text: &str) -> InsideFunction {
    let (name, file) = text.split_once('@').map_or((text, None), |(name, file)| (name, Some(file.to_owned())));
    let (class, name) = name.split_once("::").map_or((None, name), |(class, name)| (Some(class.to_owned()), name));
    InsideFunction { class, name: (!name.is_empty()).then(|| name.to_owned()), file, first_line: 9 }
}

fn wait(call: &str, target: InsideTarget) -> InsideState {
    InsideState::Waiting(InsideWait { call: Some(call.to_owned()), kernel: None, target: Some(target) })
}

/// Workers that serve `/users` and `/hello`, and run no PHP between.
fn record() -> InsideRecord {
    const FUNCTIONS: [&str; 5] = [
        "@/srv/app/public/index.php",
        "Illuminate\\Foundation\\Http\\Kernel::sendRequestThroughRouter@/srv/app/vendor/laravel/k.php",
        "PDOStatement::execute",
        "session_start",
        "deep@/srv/app/d.php",
    ];
    let database = wait("poll", InsideTarget::Peer("127.0.0.1:5432".to_owned()));
    let session = wait("flock", InsideTarget::File("/var/lib/php/sessions/sess_0123456789abcdef".to_owned()));
    let accept = wait("accept", InsideTarget::Listener("/run/php-fpm.sock".to_owned()));
    let stacks: [(u64, &[u32], InsideState, Option<&str>); 8] = [
        (40, &[0, 1], InsideState::Running, Some("/users")),
        (20, &[0, 1, 2], InsideState::Running, Some("/users")),
        (30, &[0, 4, 4], InsideState::Running, Some("/hello")),
        (10, &[], InsideState::Running, None),
        (5, &[0, 1], InsideState::Ready, Some("/users")),
        (60, &[0, 1, 2], database, Some("/users")),
        (20, &[0, 3], session, Some("/hello")),
        (120, &[], accept, None),
    ];
    let stack = |(samples, frames, state, request): (u64, &[u32], InsideState, Option<&str>)| InsideStack {
        frames: frames.to_vec(),
        line: None,
        state,
        request: request.map(str::to_owned),
        samples,
    };
    InsideRecord {
        native: native(),
        functions: FUNCTIONS.map(function).to_vec(),
        stacks: stacks.map(stack).to_vec(),
        spent: InsideTimes {
            running: Duration::from_secs(1),
            ready: Duration::from_millis(500),
            waiting: Duration::from_secs(2),
            waits: 90,
        },
        effort: InsideEffort { taken: 305, torn: 2, moved: 1, skipped: 0, missed: 12, cpu: Duration::from_millis(20) },
        sampled: vec![Duration::ZERO..Duration::from_millis(1_750)],
        problems: Vec::new(),
    }
}

fn native() -> InsideNative {
    let code = |file: &str, symbol: Option<&str>, samples| InsideCode {
        file: file.to_owned(),
        symbol: symbol.map(str::to_owned),
        samples,
    };
    let code = vec![
        code("php8.2", Some("execute_ex"), 60),
        code("php8.2", Some("_emalloc"), 20),
        code("php8.2", Some("_efree"), 10),
        code("kernel", None, 9),
        code("libc.so.6", Some("memcpy"), 1),
    ];
    InsideNative { code, without_kernel: false }
}

#[test]
fn a_terminal_shows_states_parts_functions_waits_and_requests() {
    let php = [SampledPhp { version: "8.2.36".to_owned(), processes: 2, threads: 2 }];
    let record = record();
    let view = ProcessesView { php: &php, record: &record, rate: 99, lasted: Duration::from_millis(1_750) };
    let text = view.terminal(80, false);
    insta::assert_snapshot!(text);
}
