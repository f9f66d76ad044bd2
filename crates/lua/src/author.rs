//! What a script does while load runs: it is the author of its thread.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mlua::{Function, LuaString};
use stampede_seam::{Author, KeptAnswer};

use crate::state::State;
use crate::thread::ThreadHandle;
use crate::trouble::{Entry, Trouble};

/// The first trouble of any thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstTrouble(Arc<Mutex<Option<Trouble>>>);

impl FirstTrouble {
    fn put(&self, trouble: Trouble) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(trouble);
    }

    pub(crate) fn get(&self) -> Option<Trouble> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

pub(crate) struct ScriptAuthor {
    state: Arc<State>,
    thread: ThreadHandle,
    request: Function,
    response: Function,
    /// Where the script has one.
    delay: Option<Function>,
    trouble: FirstTrouble,
    /// Whether it has had an error.
    has_failed: bool,
}

impl fmt::Debug for ScriptAuthor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptAuthor").field("thread", &self.thread).finish_non_exhaustive()
    }
}

impl ScriptAuthor {
    pub(crate) fn new(
        state: &Arc<State>,
        thread: &ThreadHandle,
        has_delay: bool,
        trouble: &FirstTrouble,
    ) -> Result<Self, Trouble> {
        Ok(Self {
            request: state.function("request")?,
            response: state.function("response")?,
            delay: has_delay.then(|| state.function("delay")).transpose()?,
            state: Arc::clone(state),
            thread: thread.clone(),
            trouble: trouble.clone(),
            has_failed: false,
        })
    }

    /// The outcome of a call; `None` when it failed, which ends the thread.
    fn settle<T>(&mut self, entry: Entry, outcome: mlua::Result<T>) -> Option<T> {
        outcome
            .map_err(|error| {
                self.has_failed = true;
                self.trouble.put(self.state.trouble(entry, &error));
            })
            .ok()
    }
}

impl Author for ScriptAuthor {
    fn write(&mut self, request: &mut Vec<u8>) -> bool {
        let Self { state, request: function, .. } = &*self;
        let written = state.calls.during(Entry::Request, || {
            let text: LuaString = function.call(())?;
            request.extend_from_slice(&text.as_bytes());
            Ok(())
        });
        self.settle(Entry::Request, written).is_some() && !self.thread.is_stopped()
    }

    fn pause(&mut self) -> Duration {
        let Some(delay) = &self.delay else { return Duration::ZERO };
        let millis = self.state.calls.during(Entry::Delay, || delay.call::<f64>(()));
        let millis = self.settle(Entry::Delay, millis).unwrap_or_default();
        // As wrk has it: whole milliseconds.
        Duration::from_millis(millis as u64)
    }

    fn read(&mut self, answer: &KeptAnswer) {
        if self.has_ended() {
            return;
        }
        let Self { state, response, .. } = &*self;
        let taken = state.calls.during(Entry::Response, || {
            let headers = state.lua.create_table_with_capacity(0, answer.headers().count())?;
            for (name, value) in answer.headers() {
                headers.raw_set(state.lua.create_string(name)?, state.lua.create_string(value)?)?;
            }
            response.call::<()>((answer.status(), headers, state.lua.create_string(answer.body())?))
        });
        self.settle(Entry::Response, taken);
    }

    fn has_ended(&self) -> bool {
        self.has_failed || self.thread.is_stopped()
    }
}
