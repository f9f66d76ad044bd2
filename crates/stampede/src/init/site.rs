//! A site that is walked over for its requests.

use stampede_core::{Answer, Request};
use stampede_harness::Walk;
use stampede_traffic::{Crawl, CrawlAnswer, CrawlSummary};

use super::traffic::{Traffic, some, weighed};
use crate::exit::Failure;

/// How many requests are taken at most: each is asked several times, and its answer is a file.
const MOST: usize = 1000;

/// A walk over the application's pages.
pub(crate) struct Site {
    most: usize,
    crawl: Option<Crawl>,
}

impl Site {
    /// One that takes so many requests.
    ///
    /// # Errors
    ///
    /// When that is none, or too many.
    pub(crate) fn new(most: usize) -> Result<Self, Failure> {
        match most {
            1..=MOST => Ok(Self { most, crawl: None }),
            _ => Err(Failure::usage(format!("--crawl {most} is not between 1 and {MOST}; 30 is a good start"))),
        }
    }

    /// What was found, and what there is to say of it; nothing where no page answered.
    pub(crate) fn traffic(self) -> Option<Traffic> {
        let (mix, summary) = self.crawl?.finish();
        let exchanges = weighed(&mix);
        (!exchanges.is_empty()).then(|| Traffic {
            notes: notes(exchanges.len(), self.most, &summary),
            exchanges,
            scenario: None,
            load: None,
        })
    }
}

impl Walk for Site {
    fn begin(&mut self, host: &str) -> Result<(), String> {
        self.crawl = Some(Crawl::new(host, self.most)?);
        Ok(())
    }

    fn next(&mut self) -> Option<Request> {
        let path = self.crawl.as_mut()?.next_path()?;
        Some(Request { method: "GET".to_owned(), path, headers: Default::default(), body: Vec::new() })
    }

    fn answered(&mut self, request: &Request, answer: &Answer) {
        let header = |wanted: &str| {
            let found = answer.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
            found.map(|(_, value)| value.as_str())
        };
        let answer = CrawlAnswer {
            status: answer.status,
            content_type: header("content-type"),
            location: header("location"),
            body: &answer.body,
        };
        if let Some(crawl) = &mut self.crawl {
            crawl.answered(&request.path, answer);
        }
    }
}

/// What became of the addresses that were found.
fn notes(taken: usize, most: usize, summary: &CrawlSummary) -> Vec<String> {
    let CrawlSummary { asked, failed, disallowed, are_all_disallowed, ends_of_sessions, alike, other_sites } = summary;
    let names = |names: &mut dyn Iterator<Item = String>| some(&names.collect::<Vec<_>>());
    let more = if taken == most { " (a larger --crawl takes more)" } else { ", all that was found" };
    let requests = if taken == 1 { "request is" } else { "requests are" };
    let addresses = if *asked == 1 { "address that was asked" } else { "addresses that were asked" };
    let mut notes = vec![format!("{taken} {requests} taken of {asked} {addresses}{more}")];
    if !failed.is_empty() {
        let failed = names(&mut failed.iter().map(|(path, status)| format!("{path} ({status})")));
        notes.push(format!("pages link to what fails: {failed}"));
    }
    if *are_all_disallowed {
        notes.push("robots.txt disallows every page; it is not followed, since this is your own copy".to_owned());
    }
    if !disallowed.is_empty() {
        notes.push(format!("not asked, since robots.txt disallows it: {}", names(&mut disallowed.iter().cloned())));
    }
    if !ends_of_sessions.is_empty() {
        notes.push(format!("not asked, since it ends a session: {}", names(&mut ends_of_sessions.iter().cloned())));
    }
    if *alike > 0 {
        notes.push(format!("{alike} addresses are left out that differ from others in a number or a value alone"));
    }
    if !other_sites.is_empty() {
        notes.push(format!("other sites are not asked: {}", names(&mut other_sites.iter().cloned())));
    }
    notes
}
