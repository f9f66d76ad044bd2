//! A script from its file to its report.

use std::num::NonZeroU32;
use std::sync::Arc;

use mlua::{LuaString, Table};
use stampede_core::Endpoint;
use stampede_seam::AuthoredThread;

use crate::author::{FirstTrouble, ScriptAuthor};
use crate::distribution::Distribution;
use crate::request;
use crate::source::Source;
use crate::state::State;
use crate::thread::ThreadHandle;
use crate::trouble::{Entry, Trouble};
use crate::watch::Watch;

/// A script that is ready to be the author of a load.
#[derive(Debug)]
pub struct LuaScript {
    main: State,
    threads: Vec<(Arc<State>, ThreadHandle)>,
    /// How many requests are sent together.
    requests: NonZeroU32,
    has_request: bool,
    has_response: bool,
    has_delay: bool,
    trouble: FirstTrouble,
}

/// What `done` is told of the load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// How long it was, in microseconds.
    pub duration: u64,
    /// Complete answers.
    pub requests: u64,
    /// Bytes that came.
    pub bytes: u64,
    /// What went wrong.
    pub errors: LoadErrors,
}

/// What went wrong, as wrk counts it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadErrors {
    /// Connections that could not be made.
    pub connect: u64,
    /// Answers that did not come to their end.
    pub read: u64,
    /// Requests that could not be sent.
    pub write: u64,
    /// Answers with a status above 399.
    pub status: u64,
    /// Answers that took too long.
    pub timeout: u64,
}

impl LuaScript {
    /// Runs the script in its states, calls `setup` and `init` for each thread, and `request` once in the first thread's state, to
    /// see that it is a request and how many it is; that one is not sent.
    ///
    /// # Errors
    ///
    /// The script's own, and when nobody listens at the target.
    pub fn load(source: &Source, watch: &Watch) -> Result<Self, Trouble> {
        let main = State::new(source, None, watch)?;
        let service = source.port.as_ref().unwrap_or(&source.scheme);
        let reached: usize = main.call(Entry::File, "resolve", (source.host.as_str(), service.as_str()))?;
        if reached == 0 {
            return Err(Trouble::Unreachable(format!("{}:{service}", source.host)));
        }
        main.note_places();
        let mut threads = Vec::with_capacity(source.threads);
        for number in 1..=source.threads {
            let state = State::new(source, Some(number), watch)?;
            let handle = ThreadHandle::new(&state.lua);
            let of_lua = |error| state.trouble(Entry::Init, &error);
            let wrk: Table = state.lua.globals().raw_get("wrk").map_err(of_lua)?;
            wrk.raw_set("thread", handle.clone()).map_err(of_lua)?;
            main.call::<()>(Entry::Setup, "setup", handle.clone())?;
            state.note_places();
            let args = state.lua.create_table().map_err(of_lua)?;
            for (index, arg) in source.args.iter().enumerate() {
                args.raw_set(index, arg.as_str()).map_err(of_lua)?;
            }
            state.call::<()>(Entry::Init, "init", args)?;
            state.note_places();
            threads.push((Arc::new(state), handle));
        }
        let Some((first, _)) = threads.first() else { return Err(Trouble::NoThread("there is none".to_owned())) };
        let text: LuaString = first.call(Entry::Request, "request", ())?;
        let counted = request::count(&text.as_bytes());
        let requests = counted.map_err(|error| {
            let (line, column) = error.place(&text.as_bytes());
            Trouble::NoRequest { file: source.file.clone(), problem: error.problem, line, column }
        })?;
        Ok(Self {
            requests: NonZeroU32::new(requests).unwrap_or(NonZeroU32::MIN),
            has_request: first.has(Entry::Request),
            has_response: first.has(Entry::Response),
            has_delay: first.has(Entry::Delay),
            main,
            threads,
            trouble: FirstTrouble::default(),
        })
    }

    /// What each thread sends, and where. Nobody is asked while load runs where the script has no `request`, `response` or `delay`.
    ///
    /// # Errors
    ///
    /// The script's own.
    pub fn threads(&self) -> Result<Vec<AuthoredThread>, Trouble> {
        self.threads.iter().map(|(state, handle)| self.thread(state, handle)).collect()
    }

    fn thread(&self, state: &Arc<State>, handle: &ThreadHandle) -> Result<AuthoredThread, Trouble> {
        let fixed = if self.has_request {
            None
        } else {
            let text: LuaString = state.call(Entry::Init, "request", ())?;
            Some(text.as_bytes().to_vec())
        };
        let is_asked = self.has_request || self.has_response || self.has_delay;
        let author = || ScriptAuthor::new(state, handle, self.has_delay, &self.trouble);
        let author = is_asked.then(author).transpose()?;
        let target = handle.address().ok_or_else(|| Trouble::Unreachable("a thread without thread.addr".to_owned()))?;
        Ok(AuthoredThread {
            target: Endpoint::Tcp(target),
            fixed,
            requests: self.requests,
            reads: self.has_response,
            author: author.map(|author| Box::new(author) as _),
        })
    }

    /// How many requests are sent together.
    pub fn requests_together(&self) -> NonZeroU32 {
        self.requests
    }

    /// Whether it has `delay`.
    pub fn delays(&self) -> bool {
        self.has_delay
    }

    /// Whether it has `done`.
    pub fn has_done(&self) -> bool {
        self.main.has(Entry::Done)
    }

    /// The first error of a thread while load runs.
    pub fn trouble(&self) -> Option<Trouble> {
        self.trouble.get()
    }

    /// Has what the script has printed go out.
    ///
    /// # Errors
    ///
    /// The script's own.
    pub fn flush(&self) -> Result<(), Trouble> {
        self.main.call(Entry::File, "flush", ())
    }

    /// Calls `done`. Latencies are in microseconds, and of the rates each is what one thread had in a tenth of a second, in requests
    /// a second.
    ///
    /// # Errors
    ///
    /// The script's own.
    pub fn done(&self, summary: &Summary, latency: Distribution, requests: Distribution) -> Result<(), Trouble> {
        let table = self.summary(summary).map_err(|error| self.main.trouble(Entry::Done, &error))?;
        self.main.call::<()>(Entry::Done, "done", (table, latency, requests))?;
        self.flush()
    }

    fn summary(&self, summary: &Summary) -> mlua::Result<Table> {
        let Summary { duration, requests, bytes, errors } = summary;
        let LoadErrors { connect, read, write, status, timeout } = errors;
        let lua = &self.main.lua;
        let numbers =
            |fields: &[(&str, u64)]| lua.create_table_from(fields.iter().map(|(name, value)| (*name, *value as f64)));
        let table = numbers(&[("duration", *duration), ("requests", *requests), ("bytes", *bytes)])?;
        let errors =
            [("connect", *connect), ("read", *read), ("write", *write), ("status", *status), ("timeout", *timeout)];
        table.raw_set("errors", numbers(&errors)?)?;
        Ok(table)
    }
}
