//! What is stored of a study while it is measured, as events that a page follows
//! ([server-sent events](https://html.spec.whatwg.org/multipage/server-sent-events.html)).
//!
//! Another process measures and stores; nobody tells this one. So the store is looked at once a second, which costs it a count of
//! the study's trials. When there are more of them, the study is read and analysed again for each page that follows it. An event's
//! id is the count that it was made of: a browser that comes again says it, and is told nothing that it has.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use stampede_core::StudyId;
use stampede_store::StudyState;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::pages::Pages;

/// How often the store is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How long a page is told at one go. Browsers come again by themselves; a client that is gone without a word is noticed by then.
pub(crate) const WATCHING: Duration = Duration::from_secs(90);
/// After how long without news a line says that there are none.
const SILENCE: Duration = Duration::from_secs(15);

/// Tells a page of a study until it is finished, nobody listens any more, or [`WATCHING`] is over. `known` is the count of trials
/// that the page has already, `making` bounds what is made at once, and `place` how many are told.
pub(crate) async fn tell(
    pages: Arc<Pages>,
    making: Arc<Semaphore>,
    id: StudyId,
    known: Option<u32>,
    events: mpsc::Sender<Bytes>,
    place: OwnedSemaphorePermit,
) {
    let (began, mut spoke) = (Instant::now(), Instant::now());
    let mut told = known.map(|trials| StudyState { trials, is_finished: false });
    while began.elapsed() < WATCHING {
        let Some(standing) = look(&pages, &id).await else { break };
        let event = if standing.is_finished {
            Some(event("end", standing.trials, ""))
        } else if told != Some(standing) {
            let Ok(making) = Arc::clone(&making).acquire_owned().await else { break };
            let (pages, id) = (Arc::clone(&pages), id.clone());
            let made = spawn_blocking(move || {
                let _making = making;
                pages.live(&id)
            });
            let Ok(Ok(part)) = made.await else { break };
            Some(event("trial", standing.trials, &part))
        } else {
            (spoke.elapsed() >= SILENCE).then(|| Bytes::from_static(b":\n\n"))
        };
        if let Some(event) = event {
            if events.send(event).await.is_err() || standing.is_finished {
                break;
            }
            (told, spoke) = (Some(standing), Instant::now());
        }
        tokio::select! {
            () = events.closed() => break,
            () = sleep(LOOK) => {}
        }
    }
    drop(place);
}

async fn look(pages: &Arc<Pages>, id: &StudyId) -> Option<StudyState> {
    let (pages, id) = (Arc::clone(pages), id.clone());
    spawn_blocking(move || pages.standing(&id)).await.ok()?.ok()?
}

fn event(name: &str, id: u32, data: &str) -> Bytes {
    let mut text = format!("event: {name}\nid: {id}\n");
    for line in data.split('\n') {
        text.push_str(&format!("data: {}\n", line.trim_end_matches('\r')));
    }
    text.push('\n');
    Bytes::from(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_name_and_lines_of_data() {
        for (data, expected) in [
            ("", "event: x\nid: 7\ndata: \n\n"),
            ("one", "event: x\nid: 7\ndata: one\n\n"),
            ("one\ntwo\r\n\nevent: y", "event: x\nid: 7\ndata: one\ndata: two\ndata: \ndata: event: y\n\n"),
        ] {
            assert_eq!(event("x", 7, data), expected);
        }
    }
}
