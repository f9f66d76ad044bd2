//! One Lua state with its script.

use std::sync::Arc;

use mlua::{Error, FromLuaMulti, Function, IntoLuaMulti, Lua, LuaOptions, StdLib, Table, Value};

use crate::calls::Calls;
use crate::source::Source;
use crate::trouble::{Entry, Trouble};
use crate::watch::Watch;

/// What a state begins with: the table `wrk`, and the functions that are called here.
const PRELUDE: &str = include_str!("prelude.lua");

/// A state in which the script has been run.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) lua: Lua,
    pub(crate) calls: Arc<Calls>,
    /// What the prelude returns.
    functions: Table,
    file: String,
    memory: usize,
}

impl State {
    /// Runs the script in a new state: that of a thread, from 1, or of the command.
    pub(crate) fn new(source: &Source, thread: Option<usize>, watch: &Watch) -> Result<Self, Trouble> {
        // SAFETY: with all libraries a script may do what its process may, and break it. It is a program of whoever gave the
        // command, in a process that does nothing else.
        let lua = unsafe { Lua::unsafe_new_with(StdLib::ALL, LuaOptions::default()) };
        let calls = Arc::new(Calls::new(thread, &source.file));
        watch.add(Arc::clone(&calls));
        let prepared = calls.during(Entry::File, || prepare(&lua, source));
        let (file, memory) = (source.file.clone(), source.memory);
        let functions = prepared.map_err(|error| trouble(&calls, &file, memory, Entry::File, &error))?;
        let state = Self { lua, calls, functions, file, memory };
        let ran = state.calls.during(Entry::File, || state.run(&source.text));
        ran.map_err(|error| state.trouble(Entry::File, &error))?;
        Ok(state)
    }

    fn run(&self, text: &[u8]) -> mlua::Result<()> {
        let name = format!("@{}", self.file);
        // As Lua reads files, a first line for the shell is left out; its end stays, for the numbers of lines.
        let shell = if text.starts_with(b"#") { text.iter().position(|byte| *byte == b'\n') } else { Some(0) };
        let text = shell.and_then(|end| text.get(end..)).unwrap_or_default();
        self.lua.load(text).set_name(name).exec()
    }

    /// A function of the prelude.
    pub(crate) fn function(&self, name: &str) -> Result<Function, Trouble> {
        self.functions.raw_get(name).map_err(|error| self.trouble(Entry::File, &error))
    }

    /// Calls a function of the prelude for an entry.
    pub(crate) fn call<R: FromLuaMulti>(
        &self,
        entry: Entry,
        name: &str,
        args: impl IntoLuaMulti,
    ) -> Result<R, Trouble> {
        let function = self.function(name)?;
        self.calls.during(entry, || function.call(args)).map_err(|error| self.trouble(entry, &error))
    }

    /// Whether the script has a function of this name.
    pub(crate) fn has(&self, entry: Entry) -> bool {
        matches!(self.lua.globals().raw_get(entry.name()), Ok(Value::Function(_)))
    }

    /// Notes the lines of the script's functions, for whoever watches.
    pub(crate) fn note_places(&self) {
        for entry in Entry::ALL {
            let function: mlua::Result<Function> = self.lua.globals().raw_get(entry.name());
            let info = function.map(|function| function.info());
            if let Ok(Some(line)) = info.as_ref().map(|info| info.line_defined) {
                let file = info.ok().and_then(|info| info.short_src).unwrap_or_else(|| self.file.clone());
                self.calls.set_place(entry, format!("{file}:{line}"));
            }
        }
    }

    pub(crate) fn trouble(&self, entry: Entry, error: &Error) -> Trouble {
        trouble(&self.calls, &self.file, self.memory, entry, error)
    }
}

/// Bounds the state and runs the prelude.
fn prepare(lua: &Lua, source: &Source) -> mlua::Result<Table> {
    lua.set_memory_limit(source.memory)?;
    // wrk's states have it as a module alone.
    lua.globals().raw_set("ffi", Value::Nil)?;
    let Source { scheme, host, port, path, .. } = source;
    let functions =
        lua.load(PRELUDE).set_name("=wrk").call((scheme.as_str(), host.as_str(), port.as_deref(), path.as_str()))?;
    let wrk: Table = lua.globals().raw_get("wrk")?;
    source.lookup.install(lua, &wrk)?;
    let headers: Table = wrk.raw_get("headers")?;
    for (name, value) in &source.headers {
        headers.raw_set(name.as_str(), value.as_str())?;
    }
    Ok(functions)
}

fn trouble(calls: &Calls, file: &str, memory: usize, entry: Entry, error: &Error) -> Trouble {
    let (thread, call) = (calls.thread, calls.number(entry));
    if is_memory(error) {
        return Trouble::Memory { file: calls.place(entry), mib: memory >> 20, entry, thread, call };
    }
    Trouble::Failed { message: message(error, file), entry, thread, call }
}

fn is_memory(error: &Error) -> bool {
    match error {
        Error::MemoryError(_) => true,
        Error::CallbackError { cause, .. } => is_memory(cause),
        Error::RuntimeError(message) => message.starts_with("not enough memory"),
        _ => false,
    }
}

/// What Lua reports, without its traceback, with the line of the script.
fn message(error: &Error, file: &str) -> String {
    let text = reported(error, file);
    if text.contains(file) { text } else { format!("{file}: {text}") }
}

fn reported(error: &Error, file: &str) -> String {
    let text = match error {
        Error::CallbackError { cause, traceback } => {
            let cause = reported(cause, file);
            let place = place_in(traceback, file).filter(|_| !cause.starts_with(file));
            place.map_or_else(|| cause.clone(), |place| format!("{place}: {cause}"))
        }
        Error::RuntimeError(message) => {
            let (text, traceback) = message.split_once("\nstack traceback:").unwrap_or((message, ""));
            let place = place_in(traceback, file).filter(|_| !text.contains(file));
            place.map_or_else(|| text.to_owned(), |place| format!("{place}: {text}"))
        }
        Error::SyntaxError { message, .. } => message.clone(),
        other => other.to_string(),
    };
    text.strip_prefix("runtime error: ").unwrap_or(&text).to_owned()
}

/// The first line of the script in a traceback, as `file.lua:7`.
fn place_in(traceback: &str, file: &str) -> Option<String> {
    let lines = traceback.lines().map(str::trim_start);
    let mut places = lines.filter_map(|line| {
        let number: String =
            line.strip_prefix(file)?.strip_prefix(':')?.chars().take_while(char::is_ascii_digit).collect();
        (!number.is_empty()).then(|| format!("{file}:{number}"))
    });
    places.next()
}
