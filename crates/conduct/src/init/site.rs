//! A site that is walked over for its requests.

use stampede_core::{Answer, Request};
use stampede_harness::Walk;
use stampede_traffic::{Crawl, CrawlAnswer, PlannedTraffic};

use crate::exit::Failure;

/// How many requests are taken at most: each is asked several times, and its answer is a file.
const MOST: usize = 1000;

/// A walk over the application's pages.
pub struct SiteWalk {
    most: usize,
    crawl: Option<Crawl>,
}

impl SiteWalk {
    /// One that takes so many requests.
    ///
    /// # Errors
    ///
    /// When that is none, or too many.
    pub fn new(most: usize) -> Result<Self, Failure> {
        match most {
            1..=MOST => Ok(Self { most, crawl: None }),
            _ => Err(Failure::usage(format!("--crawl {most} is not between 1 and {MOST}; 30 is a good start"))),
        }
    }

    /// What was found, and what there is to say of it; nothing where no page answered.
    pub(super) fn traffic(self) -> Option<PlannedTraffic> {
        let (mix, summary) = self.crawl?.finish();
        PlannedTraffic::of_crawl(&mix, &summary, self.most)
    }
}

impl Walk for SiteWalk {
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
