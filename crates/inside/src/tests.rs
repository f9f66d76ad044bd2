//! Decoding, told memory that is made up as PHP lays it out.

mod engine;
mod fake_memory;
mod shown;
mod threaded;

use std::sync::Arc;

use crate::function::{Functions, Torn};
use crate::stack::{MOST_FRAMES, StackReader, ThreadView};
use crate::{Offsets, PhpVersion};

use engine::{Engine, FUNCTIONS, STACK};

fn offsets(version: &str) -> Offsets {
    version.parse::<PhpVersion>().ok().and_then(Offsets::of).expect("a known version")
}

fn read(engine: &Engine) -> Result<ThreadView, Torn> {
    let mut reader = StackReader::new(engine.thread(), engine.offsets);
    reader.read(&engine.memory, &mut Functions::new(engine.offsets)).expect("it can be read")
}

fn text(engine: &Engine) -> String {
    read(engine).map_or_else(|Torn| "torn".to_owned(), |view| view.stack.to_string())
}

#[test]
fn stacks_of_every_version_are_read() {
    for version in ["7.4.33", "8.0.30", "8.1.2", "8.2.36", "8.3.4", "8.4.1", "8.5.0", "8.6.0"] {
        let mut engine = Engine::new(offsets(version));
        let main = engine.user(None, None, "/app/index.php", 1);
        let method = engine.user(Some("App\\Kernel"), Some("handle"), "/app/Kernel.php", 10);
        let closure = engine.user(None, Some("{closure}"), "/app/Kernel.php", 12);
        let internal = engine.internal(Some("PDO"), "query");
        engine.call(main, 3);
        engine.call(method, 11);
        engine.call(closure, 13);
        engine.call(internal, 0);
        assert_eq!(text(&engine), "/app/index.php;App\\Kernel::handle;{closure} Kernel.php:12;PDO::query", "{version}");
        let stack = read(&engine).expect("it is whole").stack;
        let lines: Vec<_> = stack.frames.iter().map(|frame| frame.line).collect();
        assert_eq!(lines, [None, Some(13), Some(11), Some(3)], "{version}");
    }
}

#[test]
fn a_thread_that_runs_no_php_has_no_frames() {
    assert_eq!(read(&Engine::new(offsets("8.2.0"))), Ok(ThreadView::default()));
}

#[test]
fn frames_without_a_function_are_passed_over() {
    let mut engine = Engine::new(offsets("8.2.0"));
    let main = engine.user(None, None, "/a.php", 1);
    let inner = engine.user(None, Some("inner"), "/a.php", 5);
    engine.call(main, 2);
    engine.frame(0, 0);
    engine.call(inner, 6);
    assert_eq!(text(&engine), "/a.php;inner");
}

#[test]
fn a_deep_stack_is_cut_at_its_outer_end() {
    let mut engine = Engine::new(offsets("8.2.0"));
    let main = engine.user(None, None, "/a.php", 1);
    let deep = engine.user(None, Some("deep"), "/a.php", 5);
    engine.call(main, 2);
    for _ in 0..10_000 {
        engine.call(deep, 6);
    }
    let before = engine.memory.reads();
    let stack = read(&engine).expect("it is whole").stack;
    let reads = engine.memory.reads() - before;
    assert_eq!((stack.frames.len(), stack.is_cut), (MOST_FRAMES, true));
    assert!(stack.to_string().starts_with("(cut);deep;deep;"));
    assert!(reads < 20, "{reads} calls");
}

/// What happens to an engine, told its inner function.
type Change<'a> = &'a dyn Fn(&mut Engine, u64);

#[test]
fn what_changes_while_it_is_read_is_found() {
    let broken = |break_it: Change<'_>| {
        let mut engine = Engine::new(offsets("8.3.0"));
        let main = engine.user(None, None, "/a.php", 1);
        let inner = engine.user(Some("A"), Some("inner"), "/a.php", 5);
        engine.call(main, 2);
        engine.call(inner, 6);
        assert_eq!(text(&engine), "/a.php;A::inner");
        break_it(&mut engine, inner);
        text(&engine)
    };
    let inner_frame = |engine: &Engine| engine.current();
    let rows: [(&str, Change<'_>); 9] = [
        ("a type that there is not", &|engine, inner| engine.memory.put(inner, &[7])),
        ("a name that is too long", &|engine, inner| {
            let name = engine.memory.get(inner + 8);
            engine.memory.put(name + 16, &u64::MAX.to_le_bytes());
        }),
        ("a name that is nowhere", &|engine, inner| engine.memory.put(inner + 8, &0x7777_0000_u64.to_le_bytes())),
        ("a class that is nowhere", &|engine, inner| engine.memory.put(inner + 16, &0x7777_0000_u64.to_le_bytes())),
        ("a name at an odd address", &|engine, inner| engine.memory.put(inner + 8, &0x1_0001_u64.to_le_bytes())),
        ("a function at an odd address", &|engine, inner| {
            let frame = inner_frame(engine);
            engine.memory.put(frame + 24, &(inner + 1).to_le_bytes());
        }),
        ("a function that is nowhere", &|engine, _| {
            let frame = inner_frame(engine);
            engine.memory.put(frame + 24, &0x7777_0000_u64.to_le_bytes());
        }),
        ("a frame that is nowhere", &|engine, _| {
            let frame = inner_frame(engine);
            engine.memory.put(frame + 48, &0x7777_0000_u64.to_le_bytes());
        }),
        ("frames in a circle", &|engine, _| {
            let frame = inner_frame(engine);
            engine.memory.put(STACK + 0x100 + 48, &frame.to_le_bytes());
        }),
    ];
    for (name, break_it) in rows {
        assert_eq!(broken(break_it), "torn", "{name}");
    }
}

#[test]
fn compiled_code_that_keeps_no_line_loses_the_line_alone() {
    let mut engine = Engine::new(offsets("8.2.0"));
    let main = engine.user(None, None, "/a.php", 1);
    engine.frame(main, 0x1234_5678);
    let stack = read(&engine).expect("it is whole").stack;
    assert_eq!((stack.to_string().as_str(), stack.frames[0].line), ("/a.php", None));
}

#[test]
fn names_are_kept_only_while_what_proves_them_is_the_same() {
    let mut engine = Engine::new(offsets("8.2.0"));
    let main = engine.user(Some("Old"), Some("name"), "/a.php", 1);
    engine.call(main, 2);
    let mut reader = StackReader::new(engine.thread(), engine.offsets);
    let mut functions = Functions::new(engine.offsets);
    let mut next = |engine: &Engine| reader.read(&engine.memory, &mut functions).expect("it can be read");
    let first = next(&engine).expect("it is whole");
    assert_eq!(first.stack.to_string(), "Old::name");
    let before = engine.memory.reads();
    let again = next(&engine).expect("it is whole");
    assert!(Arc::ptr_eq(&first.stack.frames[0].function, &again.stack.frames[0].function));
    assert_eq!(engine.memory.reads() - before, 2, "the stack, and the proofs");
    // Another text where the name is, in a string of the same length.
    let name = engine.memory.get(main + 8);
    engine.memory.put(name + 24, b"game");
    assert_eq!(next(&engine).expect("it is whole").stack.to_string(), "Old::game");
    // Another class in the same place.
    let class = engine.memory.get(main + 16);
    let other = engine.string("New");
    engine.memory.put(class + 8, &other.to_le_bytes());
    assert_eq!(next(&engine).expect("it is whole").stack.to_string(), "New::game");
    // Another function altogether.
    let another = engine.user(None, Some("another"), "/b.php", 7);
    let bytes = engine.memory.bytes(another, 184);
    engine.memory.put(main, &bytes);
    assert_eq!(next(&engine).expect("it is whole").stack.to_string(), "another");
}

#[test]
fn names_of_any_bytes_are_shown() {
    let mut engine = Engine::new(offsets("8.2.0"));
    let odd = engine.user_of_bytes(b"caf\xe9;\n<b>", "/a.php");
    engine.call(odd, 2);
    assert_eq!(text(&engine), "caf\\xe9\\u{3b}\\u{a}<b>");
}

#[test]
fn a_function_at_the_end_of_what_is_mapped_is_read() {
    let mut engine = Engine::new(offsets("8.2.0"));
    let short = engine.internal_at_end("usleep");
    engine.call(short, 0);
    assert!(short > FUNCTIONS);
    assert_eq!(text(&engine), "usleep");
}

#[test]
fn requests_are_known_by_what_the_client_sent() {
    let rows = [
        ("of the server interface", Some("/users?page=2"), None, Some("/users")),
        ("behind a front controller", Some("/index.php"), Some("/users/7?x=1"), Some("/users/7")),
        ("of a script", Some("/index.php"), None, Some("/index.php")),
        ("none", None, Some("/stale"), None),
        ("no path", Some("argument"), None, None),
        ("with marks", Some("/caf\u{e9};\u{1b}"), None, Some("/café\\u{3b}\\u{1b}")),
    ];
    for (name, uri, in_server, expected) in rows {
        let mut engine = Engine::new(offsets("8.2.0"));
        let main = engine.user(None, None, "/a.php", 1);
        engine.call(main, 2);
        if let Some(uri) = uri {
            engine.request(uri);
        }
        if let Some(uri) = in_server {
            engine.server_variable("REQUEST_URI", uri);
        }
        assert_eq!(read(&engine).expect("it is whole").request.as_deref(), expected, "{name}");
    }
}
