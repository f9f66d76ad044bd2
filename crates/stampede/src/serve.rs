//! `stampede serve`: a dashboard over all stored studies.

pub(crate) mod args;

use std::fs;
use std::path::Path;

use stampede_machine::Signals;
use stampede_serve::{Access, Dashboard, ServeError, Token};
use stampede_store::Store;

use self::args::ServeArgs;
use crate::exit::{Exit, Failure};
use crate::{Outcome, screen};

pub(crate) fn run(args: &ServeArgs) -> Outcome {
    let ServeArgs { listen, token_file, store } = args;
    let store = store.file()?;
    // One that cannot be read is told now, and not by every page.
    Store::open_existing(&store).map_err(Failure::missing)?;
    let token = token_file.as_deref().map(token).transpose()?;
    let access = Access::at(listen.ip(), token).map_err(Failure::missing)?;
    let query = match &access {
        Access::Local => String::new(),
        Access::Token(token) => format!("?token={}", token.as_str()),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let served = runtime.block_on(async {
        let mut signals = Signals::new()?;
        let dashboard = Dashboard::listen(*listen, store, access).await.map_err(|error| match error {
            ServeError::InUse { .. } => Failure::usage(error),
            ServeError::Listen { .. } => Failure::missing(error),
        })?;
        screen::print(&format!("http://{}/{query}\n", dashboard.address()))?;
        if !dashboard.address().ip().is_loopback() {
            screen::note("anyone with this address, or on the network, can see every study: it is not encrypted");
        }
        screen::note("Ctrl-C ends it");
        tokio::select! {
            () = dashboard.serve() => {}
            () = signals.any() => {}
        }
        Ok(Exit::Done)
    });
    // A page that is being made is nobody's any more.
    runtime.shutdown_background();
    served
}

fn token(file: &Path) -> Result<Token, Failure> {
    let text = fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("--token-file {} cannot be read: {error}", file.display())))?;
    let line = text.lines().next().unwrap_or_default().trim();
    Token::new(line).map_err(Failure::usage)
}
