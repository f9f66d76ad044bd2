//! What a script does while load runs: it is the author of its thread.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fmt, slice};

use mlua::{Error, Function, ffi};
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
            let mut is_text = false;
            // SAFETY: the function is on the stack, a call needs no more room than it has, and what is taken of its result is copied
            // before that leaves the stack. An error leaves nothing behind that would have to be dropped.
            unsafe {
                state.lua.exec_raw::<()>(function, |lua| {
                    ffi::lua_call(lua, 0, 1);
                    let mut length = 0;
                    let text = ffi::lua_tolstring(lua, -1, &raw mut length);
                    if !text.is_null() {
                        request.extend_from_slice(slice::from_raw_parts(text.cast(), length));
                        is_text = true;
                    }
                    ffi::lua_settop(lua, -2);
                })?;
            }
            if is_text { Ok(()) } else { Err(Error::runtime("request() returned no string")) }
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
            // SAFETY: as in `write`; at most the function, three arguments and a pair are on the stack, which has room for twenty
            // (LUA_MINSTACK), and Lua copies what it is given.
            unsafe {
                state.lua.exec_raw::<()>(response, |lua| {
                    let push = |bytes: &[u8]| ffi::lua_pushlstring(lua, bytes.as_ptr().cast(), bytes.len());
                    ffi::lua_pushinteger(lua, answer.status().into());
                    ffi::lua_createtable(lua, 0, 8);
                    for (name, value) in answer.headers() {
                        push(name);
                        push(value);
                        ffi::lua_rawset(lua, -3);
                    }
                    push(answer.body());
                    ffi::lua_call(lua, 3, 0);
                })
            }
        });
        self.settle(Entry::Response, taken);
    }

    fn has_ended(&self) -> bool {
        self.has_failed || self.thread.is_stopped()
    }
}
