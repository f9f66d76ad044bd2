//! Waiting until a unit that was started is ready.

use std::time::Duration;

use stampede_core::{Endpoint, Program, Ready, UnitExit};
use stampede_seam::{ASK_TIME, Running};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, sleep, timeout};

/// Why a unit did not get ready.
#[derive(Debug)]
pub(crate) enum NotReady {
    /// This one ended meanwhile.
    Ended(UnitExit),
    /// It did not in time, for this reason.
    Late(String),
}

/// Waits until a unit is ready, or one ends.
pub(crate) async fn await_ready(running: &dyn Running, ready: &Ready, limit: Duration) -> Result<(), NotReady> {
    const PAUSE: Duration = Duration::from_millis(10);
    let sign = match ready {
        Ready::Request => return Ok(()),
        Ready::Program(program) => Sign::Program(program),
        Ready::Port(id) => {
            let none = || NotReady::Late(format!("the deployment has no address {id}"));
            Sign::Port(running.endpoint(id).ok_or_else(none)?)
        }
    };
    let deadline = Instant::now() + limit;
    let mut exited = running.exited();
    loop {
        let state = tokio::select! {
            exit = &mut exited => return Err(NotReady::Ended(exit)),
            shown = sign.shown(running) => match shown {
                Ok(()) => return Ok(()),
                Err(state) => state,
            },
        };
        if Instant::now() >= deadline {
            return Err(NotReady::Late(format!("{} after {limit:?} ({state})", sign.absence())));
        }
        sleep(PAUSE).await;
    }
}

/// What shows that a unit is ready.
enum Sign<'a> {
    Port(&'a Endpoint),
    Program(&'a Program),
}

impl Sign<'_> {
    /// Whether it shows; otherwise what was seen.
    async fn shown(&self, running: &dyn Running) -> Result<(), String> {
        const CONNECT_TIME: Duration = Duration::from_secs(1);
        match self {
            Self::Program(program) => running.ask(program, ASK_TIME).await.map(drop),
            Self::Port(endpoint) => match timeout(CONNECT_TIME, connect(endpoint)).await {
                Ok(connected) => connected.map_err(|error| error.to_string()),
                Err(_) => Err("connecting takes too long".to_owned()),
            },
        }
    }

    fn absence(&self) -> String {
        match self {
            Self::Program(_) => "it is not ready".to_owned(),
            Self::Port(endpoint) => format!("nothing listens on {endpoint}"),
        }
    }
}

async fn connect(endpoint: &Endpoint) -> std::io::Result<()> {
    match endpoint {
        Endpoint::Tcp(address) => TcpStream::connect(address).await.map(drop),
        Endpoint::Unix(path) => UnixStream::connect(path).await.map(drop),
    }
}
