//! A walk over a deployment: requests that depend on what came to those before.

use std::time::Duration;

use stampede_core::{Answer, Request, Workload};
use stampede_seam::Platform;

use crate::content_encoding;
use crate::prepare::Prepared;
use crate::record::{Asking, RecordError};
use crate::trial::{explain, unlaunched};

/// Who walks: asked what to ask for, and given what came.
pub trait Walk {
    /// Begins with the site of this name (`shop.example`, `127.0.0.1:8080`).
    ///
    /// # Errors
    ///
    /// Why it cannot.
    fn begin(&mut self, host: &str) -> Result<(), String>;

    /// What to ask for; nothing at the end.
    fn next(&mut self) -> Option<Request>;

    /// What came to a request, its body as it was before it was coded.
    fn answered(&mut self, request: &Request, answer: &Answer);
}

/// Walks over a fresh deployment of a case, one request after the other, and ends it.
///
/// # Errors
///
/// When the case cannot be started, does not answer, or cannot be stopped.
pub async fn walk(
    platform: &dyn Platform,
    prepared: &Prepared,
    workload: &Workload,
    walk: &mut dyn Walk,
    timeout: Duration,
) -> Result<(), RecordError> {
    let no_load = || RecordError::Answer { problem: "there is no request for the load".to_owned() };
    let first = &workload.load_mix().next().ok_or_else(no_load)?.request;
    let running = platform.launch(&prepared.deployment, &prepared.terms).await;
    let running = running.map_err(|error| RecordError::Launch { problem: unlaunched(&prepared.case, &error) })?;
    let asking = Asking::new(running.as_ref(), prepared, timeout);
    let walked = async {
        asking.ready(first, &mut None).await?;
        walk.begin(&asking.host())?;
        while let Some(request) = walk.next() {
            let line = format!("{} {}", request.method, request.path);
            let answer = asking.send(&line, &request).await?;
            let body = content_encoding::decoded(&answer).unwrap_or_default().into_owned();
            walk.answered(&request, &Answer { body, ..answer });
        }
        Ok::<_, String>(())
    };
    if let Err(problem) = walked.await {
        return Err(RecordError::Answer { problem: explain(running.as_ref(), &prepared.case, &problem).await });
    }
    running.stop().await?;
    Ok(())
}
