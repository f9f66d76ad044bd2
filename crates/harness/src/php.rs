//! Asks the PHP that serves which settings are in force, before anything is timed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use stampede_core::{Endpoint, PhpProbe, PhpProbeSource, PhpReadBack, Request, Running, with_causes};
use stampede_wire::client;

/// How long it is asked for; the answer is there once a request was served.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait before a file that is not there yet is looked for again.
const PAUSE: Duration = Duration::from_millis(20);

/// What PHP says of itself.
///
/// # Errors
///
/// Why it could not be asked, as the end of a sentence.
pub(crate) async fn read_back(running: &dyn Running, probe: &PhpProbe) -> Result<PhpReadBack, String> {
    let resolve = |text: &str| running.resolve(text).map_err(|error| error.to_string());
    let answer = match &probe.source {
        PhpProbeSource::Address(id) => {
            let address = resolve(&format!("@{{{id}}}"))?;
            let address = address.parse().map_err(|_| format!("{address} is no address"))?;
            ask(Endpoint::Tcp(address), "/".to_owned()).await?
        }
        PhpProbeSource::Path(path) => ask(running.front().clone(), resolve(path)?).await?,
        PhpProbeSource::File(path) => read(&resolve(path)?).await?,
    };
    serde_json::from_str(&answer).map_err(|error| format!("its answer is not what was expected ({error}): {answer}"))
}

async fn ask(endpoint: Endpoint, path: String) -> Result<String, String> {
    let host = endpoint.to_string();
    let request = Request { method: "GET".to_owned(), path, headers: BTreeMap::new(), body: Vec::new() };
    let answer = match tokio::task::spawn_blocking(move || client::send(&endpoint, &request, &host, PATIENCE)).await {
        Ok(answer) => answer.map_err(|error| with_causes(&error))?,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    };
    let body = String::from_utf8_lossy(&answer.body).into_owned();
    if answer.status == 200 { Ok(body) } else { Err(format!("it answered {}: {body}", answer.status)) }
}

async fn read(file: &str) -> Result<String, String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match std::fs::read_to_string(file) {
            Ok(text) => return Ok(text),
            Err(error) if Instant::now() >= deadline => return Err(format!("no process wrote {file}: {error}")),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}
