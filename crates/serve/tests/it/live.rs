//! A study that is measured while its page is open.

use std::io::{Read, Write};
use std::net::TcpStream;

use jiff::Timestamp;
use stampede_core::Trial;
use stampede_store::{Store, StoredStudy};

use crate::client::{PATIENCE, Site, named};

/// A study of which one trial is stored, and the trials to come.
pub(crate) fn running() -> (StoredStudy, Vec<Trial>) {
    let mut stored = named("running", 7);
    stored.finished_at = None;
    let rest = stored.trials.split_off(1);
    (stored, rest)
}

/// An open stream of events.
struct Followed {
    stream: TcpStream,
    text: String,
}

impl Followed {
    fn of(site: &Site, target: &str) -> Self {
        Self::again(site, target, "")
    }

    /// With this as a further line of the head.
    fn again(site: &Site, target: &str, line: &str) -> Self {
        let mut stream = TcpStream::connect(site.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(format!("GET {target} HTTP/1.1\r\nhost: localhost\r\n{line}\r\n").as_bytes()).unwrap();
        Self { stream, text: String::new() }
    }

    /// What comes up to and with these words; what comes after them is left for the next time.
    fn until(&mut self, words: &str) -> String {
        let mut buffer = [0; 4096];
        loop {
            if let Some(at) = self.text.find(words) {
                let rest = self.text.split_off(at + words.len());
                return std::mem::replace(&mut self.text, rest);
            }
            let count = self.stream.read(&mut buffer).unwrap_or_else(|error| panic!("{error}; so far: {}", self.text));
            assert!(count > 0, "it ended before {words}: {}", self.text);
            self.text.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
    }
}

#[test]
fn a_page_is_told_of_each_trial_and_of_the_end() {
    let (stored, rest) = running();
    let site = Site::of(std::slice::from_ref(&stored));
    let page = site.get("/study?id=running").body;
    for part in ["data-events=\"/events?id=running\"", "connect-src 'self'", "1 of "] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let mut followed = Followed::of(&site, "/events?id=running");
    let head = followed.until("\r\n\r\n");
    for header in [
        "200 OK",
        "content-type: text/event-stream",
        "cache-control: no-store",
        "content-security-policy: default-src 'none'",
    ] {
        assert!(head.contains(header), "{header}: {head}");
    }
    let first = followed.until("\n\n");
    assert!(first.contains("event: trial\n") && first.contains("data: ") && first.contains("1 of "), "{first}");
    let mut store = Store::open(&site.store.path().join("s.db")).unwrap();
    for (count, trial) in (2..).zip(&rest) {
        store.add_trial(&stored.study.id, trial).unwrap();
        let event = followed.until("\n\n");
        assert!(event.contains("event: trial\n") && event.contains(&format!("{count} of ")), "{event}");
    }
    // Whoever comes again with all that is stored is told nothing of it before the end.
    let mut again = Followed::again(&site, "/events?id=running", &format!("last-event-id: {}\r\n", 1 + rest.len()));
    again.until("\r\n\r\n");
    store.finish_study(&stored.study.id, Timestamp::from_second(1_700_100_000).unwrap()).unwrap();
    followed.until(&format!("event: end\nid: {}\ndata: \n\n", 1 + rest.len()));
    assert!(!again.until("event: end").contains("event: trial"));
    let mut last = Vec::new();
    followed.stream.read_to_end(&mut last).unwrap();
    assert!(!site.get("/study?id=running").body.contains("data-events=\""));
}

#[test]
fn only_so_many_pages_are_told_and_only_of_studies() {
    let (stored, _) = running();
    let site = Site::of(&[stored]);
    for (target, status) in [("/events", 404), ("/events?id=none", 404), ("/events?id=runn", 404)] {
        assert_eq!(site.get(target).status, status, "{target}");
    }
    assert_eq!(site.ask("GET", "/events?id=running", &[("host", "example.com")]).status, 421);
    assert_eq!(site.ask("POST", "/events?id=running", &[("host", "localhost")]).status, 405);
    let mut followed: Vec<Followed> = (0..16).map(|_| Followed::of(&site, "/events?id=running")).collect();
    followed.iter_mut().for_each(|followed| drop(followed.until("event: trial")));
    assert_eq!(site.get("/events?id=running").status, 503);
    assert_eq!(site.get("/").status, 200);
    // The place of who has gone is free again.
    followed.pop();
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        let mut next = Followed::of(&site, "/events?id=running");
        if next.until("\r\n").contains("200") {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "no place became free");
        std::thread::yield_now();
    }
}
