//! A thread as scripts see it: `thread` of `setup`, and `wrk.thread`.

use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use mlua::{Error, Lua, UserData, UserDataFields, UserDataMethods, Value, WeakLua};

use crate::address::Address;
use crate::carry::carry;

/// A handle of a thread. The state belongs to the script: a handle does not keep it.
#[derive(Clone)]
pub(crate) struct ThreadHandle {
    state: WeakLua,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    address: Mutex<Option<SocketAddr>>,
    stopped: AtomicBool,
}

impl fmt::Debug for ThreadHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ThreadHandle").field(&self.shared).finish()
    }
}

impl ThreadHandle {
    pub(crate) fn new(state: &Lua) -> Self {
        Self { state: state.weak(), shared: Arc::default() }
    }

    /// Where its connections go.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        *self.shared.address.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it was stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.shared.stopped.load(Ordering::Relaxed)
    }

    pub(crate) fn stop(&self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
    }

    fn state(&self) -> mlua::Result<Lua> {
        self.state.try_upgrade().ok_or_else(|| Error::runtime("the thread's state is gone"))
    }
}

impl UserData for ThreadHandle {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("addr", |_, this| Ok(this.address().map(Address)));
        fields.add_field_method_set("addr", |_, this, Address(address)| {
            *this.shared.address.lock().unwrap_or_else(PoisonError::into_inner) = Some(address);
            Ok(())
        });
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("get", |lua, this, name: String| {
            let value: Value = this.state()?.globals().raw_get(name)?;
            carry(&value, lua)
        });
        methods.add_method("set", |_, this, (name, value): (String, Value)| {
            let state = this.state()?;
            let value = carry(&value, &state)?;
            state.globals().raw_set(name, value)
        });
        methods.add_method("stop", |_, this, ()| {
            this.stop();
            Ok(())
        });
    }
}
