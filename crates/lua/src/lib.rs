//! wrk's Lua scripts, on LuaJIT: the states that a script has, the requests that it writes, the answers that it takes, and
//! what it reports when the load is over (<https://github.com/wg/wrk/blob/master/SCRIPTING>).
//!
//! There is a state for the command, and one for each thread. The script is run in each of them; `setup(thread)` is called in the
//! first, `init(args)` in each thread's, `request`, `response` and `delay` in the thread's while load runs, and `done` in the first
//! one when it is over. [`LuaScript::load`] does what comes before the load, [`LuaScript::threads`] is what the load sends,
//! [`LuaScript::done`] what comes after it.
//!
//! A script may do what its process may: it is a program of whoever gave the command. Its memory is bounded, and a call that does
//! not come back is found by a [`Watch`]: nothing can end it but the end of the process.
//!
//! Nothing here drives a load, knows a command line or prints, but what the script itself prints.

mod address;
mod author;
mod calls;
mod carry;
mod distribution;
mod request;
mod script;
mod source;
mod state;
mod thread;
mod trouble;
mod watch;

pub use crate::address::Lookup;
pub use crate::distribution::Distribution;
pub use crate::script::{LoadErrors, LuaScript, Summary};
pub use crate::source::Source;
pub use crate::trouble::{Entry, Trouble};
pub use crate::watch::Watch;
