//! Addresses as scripts see them: what `wrk.lookup` returns and `thread.addr` holds.

use std::fmt;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use mlua::{Error, FromLua, Lua, MetaMethod, Table, UserData, UserDataMethods, Value};

/// How long `wrk.connect` waits, at most.
const CONNECT: Duration = Duration::from_secs(10);

/// Finds the addresses of a host and a service that a load may go to, or says why there are none.
#[derive(Clone)]
pub struct Lookup(Arc<Find>);

type Find = dyn Fn(&str, &str) -> Result<Vec<SocketAddr>, String> + Send + Sync;

impl Lookup {
    /// Asks this function, which is given host and service: a number, or a name such as `http`.
    pub fn new(find: impl Fn(&str, &str) -> Result<Vec<SocketAddr>, String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    /// Makes `wrk.lookup` and `wrk.connect`.
    pub(crate) fn install(&self, lua: &Lua, wrk: &Table) -> mlua::Result<()> {
        let find = self.clone();
        wrk.raw_set(
            "lookup",
            lua.create_function(move |_, (host, service): (String, String)| {
                let found = (find.0)(&host, &service);
                let found = found
                    .map_err(|problem| Error::runtime(format!("unable to resolve {host}:{service}: {problem}")))?;
                Ok(found.into_iter().map(Address).collect::<Vec<_>>())
            })?,
        )?;
        wrk.raw_set(
            "connect",
            lua.create_function(|_, Address(address)| Ok(TcpStream::connect_timeout(&address, CONNECT).is_ok()))?,
        )
    }
}

impl fmt::Debug for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lookup")
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Address(pub(crate) SocketAddr);

impl UserData for Address {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::ToString, |_, Self(address), ()| {
            // As wrk has it: an IPv6 address without brackets.
            Ok(format!("{}:{}", address.ip(), address.port()))
        });
    }
}

impl FromLua for Address {
    fn from_lua(value: Value, _: &Lua) -> mlua::Result<Self> {
        match &value {
            Value::UserData(data) => data.borrow::<Self>().map(|address| *address),
            other => Err(Error::runtime(format!("an address of wrk.lookup is expected, not a {}", other.type_name()))),
        }
    }
}
