//! Asks the PHP that serves which settings are in force, before anything is timed.

use std::collections::BTreeMap;
use std::time::Duration;

use stampede_core::{Endpoint, PhpProbe, PhpProbeSource, PhpReadBack, Request, named_status};
use stampede_seam::Running;

use crate::ready::{Front, send};

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
    let answer = match &probe.source {
        PhpProbeSource::Page { address, path } => {
            let endpoint: &Endpoint =
                running.endpoint(address).ok_or_else(|| format!("it has no address {address}"))?;
            ask(running, &Front::bare(endpoint), path.clone()).await?
        }
        PhpProbeSource::File(path) => read(running, path).await?,
    };
    told(&answer, &probe.source)
}

fn told(answer: &str, source: &PhpProbeSource) -> Result<PhpReadBack, String> {
    let mut php: PhpReadBack = serde_json::from_str(answer)
        .map_err(|error| format!("its answer is not what was expected ({error}): {answer}"))?;
    if matches!(source, PhpProbeSource::File(_)) {
        // It was written before anything was served, or by another process: what is cached there says nothing.
        php.cache = None;
    }
    Ok(php)
}

async fn ask(running: &dyn Running, front: &Front, path: String) -> Result<String, String> {
    let request = Request { method: "GET".to_owned(), path, headers: BTreeMap::new(), body: Vec::new() };
    let answer = send(running.vantage().as_ref(), front, &request, PATIENCE).await;
    let answer = answer.map_err(|error| error.to_string())?;
    let body = String::from_utf8_lossy(&answer.body).into_owned();
    if answer.status == 200 { Ok(body) } else { Err(format!("it answered {}: {body}", named_status(answer.status))) }
}

async fn read(running: &dyn Running, file: &str) -> Result<String, String> {
    let vantage = running.vantage();
    let deadline = vantage.now() + PATIENCE;
    loop {
        match running.read(file).await? {
            Some(text) => return Ok(text),
            None if vantage.now() >= deadline => return Err(format!("no process wrote {file}")),
            None => vantage.sleep_until(vantage.now() + PAUSE).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use stampede_core::{AddressId, OpcodeCache};

    use super::*;

    #[test]
    fn only_a_process_that_has_served_tells_what_is_cached() {
        let cache = OpcodeCache { full: false, scripts: 3, restarts: 0 };
        let said = PhpReadBack { opcache: true, cache: Some(cache.clone()), ..PhpReadBack::default() };
        let answer = serde_json::to_string(&said).unwrap();
        let page = PhpProbeSource::Page { address: AddressId::new("probe"), path: "/".to_owned() };
        for (source, cache) in [(page, Some(cache)), (PhpProbeSource::File("probe.json".to_owned()), None)] {
            assert_eq!(told(&answer, &source).unwrap(), PhpReadBack { cache, ..said.clone() });
        }
        assert!(told("Warning: no", &PhpProbeSource::File(String::new())).unwrap_err().ends_with("Warning: no"));
    }
}
