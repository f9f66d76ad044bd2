//! The requests that a visitor of a site can come to: its pages from the first one on, and the files that they are made of.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use stampede_core::Request;
use url::Url;

use crate::links::Links;
use crate::mix::{Mix, MixedRequest};
use crate::robots_file::RobotsFile;

/// How many addresses are taken that differ in numbers and in values of their query alone: pages of a list, days of a calendar.
const MOST_ALIKE: usize = 5;

/// How many addresses are asked for each that is wanted: a site whose links all fail is given up.
const MOST_ASKED: usize = 4;

/// How many addresses wait at most to be asked, for each that is wanted.
const MOST_WAITING: usize = 64;

/// Parts of addresses that end a session, in lower case.
const ENDS_OF_SESSIONS: [&str; 6] = ["logout", "log-out", "log_out", "signout", "sign-out", "sign_out"];

/// What came to a request.
#[derive(Clone, Copy, Debug)]
pub struct CrawlAnswer<'a> {
    /// Its status.
    pub status: u16,
    /// `Content-Type`, where it has one.
    pub content_type: Option<&'a str>,
    /// `Location`, where it has one.
    pub location: Option<&'a str>,
    /// The body as it was before it was coded.
    pub body: &'a [u8],
}

/// What a crawl did not take, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrawlSummary {
    /// How many addresses were asked.
    pub asked: usize,
    /// Addresses that failed, with their status.
    pub failed: BTreeMap<String, u16>,
    /// Addresses that robots.txt wants no robot to ask for.
    pub disallowed: BTreeSet<String>,
    /// Whether robots.txt disallows the first page, and is not followed therefore.
    pub are_all_disallowed: bool,
    /// Addresses that would end a session.
    pub ends_of_sessions: BTreeSet<String>,
    /// How many are like others that were taken.
    pub alike: usize,
    /// Other sites that pages lead to.
    pub other_sites: BTreeSet<String>,
}

/// A walk over a site, breadth first. It is asked what to ask for, and given what came.
#[derive(Clone, Debug)]
pub struct Crawl {
    /// The first page of the site, by the name that it is asked by.
    first: Url,
    most: usize,
    robots: Option<RobotsFile>,
    waiting: VecDeque<Url>,
    known: HashSet<String>,
    alike: BTreeMap<String, usize>,
    taken: Vec<String>,
    summary: CrawlSummary,
}

impl Crawl {
    /// A walk over the site that is asked by this name (`shop.example`, `127.0.0.1:8080`), which ends when so many requests were taken.
    ///
    /// # Errors
    ///
    /// When that is no name of a site.
    pub fn new(host: &str, most: usize) -> Result<Self, String> {
        let first = Url::parse(&format!("http://{host}/")).map_err(|error| format!("{host} is no site: {error}"))?;
        Ok(Self {
            waiting: VecDeque::from([first.clone()]),
            known: HashSet::from([of_site(&first)]),
            first,
            most,
            robots: None,
            alike: BTreeMap::new(),
            taken: Vec::new(),
            summary: CrawlSummary::default(),
        })
    }

    /// The path and query to ask for next: `/robots.txt` first. Nothing when enough was taken or nothing is left.
    pub fn next_path(&mut self) -> Option<String> {
        if self.robots.is_none() {
            return Some("/robots.txt".to_owned());
        }
        if self.taken.len() >= self.most || self.summary.asked >= self.most.saturating_mul(MOST_ASKED) {
            return None;
        }
        let next = self.waiting.pop_front()?;
        self.summary.asked += 1;
        Some(of_site(&next))
    }

    /// What came to the path that was named last.
    pub fn answered(&mut self, path: &str, answer: CrawlAnswer<'_>) {
        let CrawlAnswer { status, content_type, location, body } = answer;
        let is_good = (200..300).contains(&status);
        if self.robots.is_none() {
            let text = String::from_utf8_lossy(body);
            let robots = if is_good { RobotsFile::read(&text) } else { RobotsFile::default() };
            self.summary.are_all_disallowed = !robots.allows("/");
            self.robots = Some(if self.summary.are_all_disallowed { RobotsFile::default() } else { robots });
            return;
        }
        let Ok(page) = self.first.join(path) else { return };
        if is_good {
            self.taken.push(path.to_owned());
            let is_html =
                content_type.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/html"));
            if is_html {
                let Links { base, references } = Links::of(body);
                let base = base.and_then(|base| page.join(&base).ok()).unwrap_or(page);
                references.iter().for_each(|reference| self.found(&base, reference));
            }
        } else if let (300..400, Some(location)) = (status, location) {
            self.found(&page, location);
        } else {
            self.summary.failed.insert(path.to_owned(), status);
        }
    }

    /// Notes an address to be asked, where it is one of this site that is new.
    fn found(&mut self, base: &Url, reference: &str) {
        let Ok(url) = base.join(reference.trim()) else { return };
        if !matches!(url.scheme(), "http" | "https") {
            return;
        }
        if !self.is_of_site(&url) {
            let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
            self.summary.other_sites.extend(url.host_str().map(|host| format!("{host}{port}")));
            return;
        }
        let path = of_site(&url);
        if self.known.contains(&path) || self.waiting.len() >= self.most.saturating_mul(MOST_WAITING) {
            return;
        }
        self.known.insert(path.clone());
        if ends_session(&path) {
            self.summary.ends_of_sessions.insert(path);
        } else if self.robots.as_ref().is_some_and(|robots| !robots.allows(&path)) {
            self.summary.disallowed.insert(path);
        } else {
            let alike = self.alike.entry(shape(&url)).or_default();
            if *alike >= MOST_ALIKE {
                self.summary.alike += 1;
                return;
            }
            *alike += 1;
            self.waiting.push_back(url);
        }
    }

    /// Whether it is of the site that is asked, by http or https: `https://shop.example/` is, where the site is asked as `shop.example`.
    fn is_of_site(&self, url: &Url) -> bool {
        url.host_str() == self.first.host_str() && url.port() == self.first.port()
    }

    /// What was taken, each request once, in the order in which it was found.
    pub fn finish(self) -> (Mix, CrawlSummary) {
        let requests = self.taken.into_iter().map(|path| MixedRequest {
            request: Request { method: "GET".to_owned(), path, headers: BTreeMap::new(), body: Vec::new() },
            count: 1,
        });
        (Mix { requests: requests.collect() }, self.summary)
    }
}

/// Path and query, as they are sent.
fn of_site(url: &Url) -> String {
    match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    }
}

/// The address without its numbers and the values of its query.
fn shape(url: &Url) -> String {
    let mut shape = String::new();
    for character in url.path().chars() {
        match character {
            '0'..='9' if shape.ends_with('0') => {}
            '0'..='9' => shape.push('0'),
            other => shape.push(other),
        }
    }
    let names: BTreeSet<String> = url.query_pairs().map(|(name, _)| name.into_owned()).collect();
    names.into_iter().for_each(|name| {
        shape.push('?');
        shape.push_str(&name);
    });
    shape
}

/// Whether a path is one that ends a session.
pub(crate) fn ends_session(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    ENDS_OF_SESSIONS.iter().any(|end| path.contains(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks over a site that is given as paths with their status and body; what is not there is 404.
    fn walked(pages: &[(&str, u16, &str)], most: usize) -> (Vec<String>, CrawlSummary) {
        let mut crawl = Crawl::new("shop.example", most).unwrap();
        while let Some(path) = crawl.next_path() {
            let page = pages.iter().find(|(known, ..)| *known == path);
            let (status, body) = page.map_or((404, ""), |(_, status, body)| (*status, *body));
            let is_redirect = (300..400).contains(&status);
            crawl.answered(
                &path,
                CrawlAnswer {
                    status,
                    content_type: Some(if path.contains('.') { "text/css" } else { "text/html; charset=utf-8" }),
                    location: is_redirect.then_some(body),
                    body: if is_redirect { b"" } else { body.as_bytes() },
                },
            );
        }
        let (mix, summary) = crawl.finish();
        (mix.requests.into_iter().map(|mixed| mixed.request.path).collect(), summary)
    }

    #[test]
    fn a_site_is_walked_from_its_first_page_with_its_files_and_no_further_than_its_own() {
        let first = r#"<link rel=stylesheet href=/a.css><a href="/about#team">a</a><a href="list?page=2&amp;sort=up">l</a>
            <a href="https://shop.example/caf%C3%A9/ü">c</a><a href="//cdn.example/x.js">x</a><a href="/Logout?x">out</a>
            <a href="/admin/">no</a><a href="mailto:a@b">m</a><a href="/gone">g</a><a href="/old">o</a><a href="/">home</a>
            <a href="https://shop.example:8443/other-port">p</a>"#;
        let pages = [
            ("/robots.txt", 200, "User-agent: *\nDisallow: /admin"),
            ("/", 200, first),
            ("/a.css", 200, "a{}"),
            ("/about", 200, r#"<base href="/deep/down/"><a href="../up">u</a>"#),
            ("/list?page=2&sort=up", 200, ""),
            ("/caf%C3%A9/%C3%BC", 200, ""),
            ("/old", 301, "/new?a"),
            ("/new?a", 200, ""),
            ("/deep/up", 200, ""),
        ];
        let (taken, summary) = walked(&pages, 30);
        assert_eq!(taken, ["/", "/a.css", "/about", "/list?page=2&sort=up", "/caf%C3%A9/%C3%BC", "/deep/up", "/new?a"]);
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(
            summary,
            CrawlSummary {
                asked: 9,
                failed: BTreeMap::from([("/gone".to_owned(), 404)]),
                disallowed: texts(&["/admin/"]),
                are_all_disallowed: false,
                ends_of_sessions: texts(&["/Logout?x"]),
                alike: 0,
                other_sites: texts(&["cdn.example", "shop.example:8443"]),
            }
        );
        assert_eq!(walked(&pages, 3).0, ["/", "/a.css", "/about"]);
    }

    #[test]
    fn a_calendar_without_end_is_left_after_a_few_days() {
        let mut crawl = Crawl::new("127.0.0.1:8080", 1000).unwrap();
        crawl.answered("/robots.txt", CrawlAnswer { status: 404, content_type: None, location: None, body: b"" });
        let mut day = 0;
        while let Some(path) = crawl.next_path() {
            day += 1;
            assert!(day < 100, "{path}");
            let body = format!(r#"<a href="/day/{day}">next</a><a href="/list?from={day}">list</a>"#);
            let answer =
                CrawlAnswer { status: 200, content_type: Some("text/html"), location: None, body: body.as_bytes() };
            crawl.answered(&path, answer);
        }
        let (mix, summary) = crawl.finish();
        assert_eq!(mix.requests.len(), 1 + 2 * MOST_ALIKE);
        assert!(summary.alike > 0);
    }

    #[test]
    fn a_site_whose_links_all_fail_is_given_up() {
        let links: String = ('a'..='z').map(|name| format!("<a href=/{name}>x</a>")).collect();
        let (taken, summary) = walked(&[("/", 200, &links)], 3);
        assert_eq!((taken.len(), summary.asked), (1, 12));
        let (taken, summary) = walked(
            &[("/robots.txt", 200, "User-agent: *\nDisallow: /"), ("/", 200, "<a href=/b>"), ("/b", 200, "")],
            3,
        );
        assert_eq!((taken.len(), summary.are_all_disallowed), (2, true), "a copy of one's own may be asked");
    }
}
