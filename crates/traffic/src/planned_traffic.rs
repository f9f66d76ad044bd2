//! Requests that people have, as a plan takes them.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};

use stampede_core::{Body, Exchange, Expectation, ExpectedHead, Load, MOST_WEIGHT, Request, unpacked};

use crate::access_log::{AccessLog, LogSummary};
use crate::browser_recording::{BrowserRecording, RecordedStep};
use crate::busy_minute::BusyMinute;
use crate::crawl::CrawlSummary;
use crate::curl::curl;
use crate::mix::Mix;
use crate::recorded_request::RecordedRequest;
use crate::replay::Replay;
use crate::sign_in::SignIn;
use crate::sitemap;
use crate::url_list::url_list;

/// Lines longer than this are cut: no server writes them.
const LONGEST_LINE: u64 = 1 << 20;

/// So many requests of a list are taken: each is asked several times, on more than one runtime, before anything is measured.
const MOST_LISTED: usize = 200;

/// The file of a scenario beside the plan.
pub const SCENARIO: &str = "stampede.scenario.yaml";

/// Where requests come from, as a command line names it.
#[derive(Clone, Copy, Debug)]
pub enum TrafficSource<'a> {
    /// Access logs of one site.
    AccessLogs {
        /// Their files, in the order in which they are read.
        files: &'a [PathBuf],
        /// How many requests are taken at most: the most frequent ones.
        most: usize,
        /// How many times faster than it was the log is played, where it is: `x2`.
        replay: Option<&'a str>,
    },
    /// A file with an address a line.
    Urls(&'a Path),
    /// Lines of curl.
    Curl(&'a [String]),
    /// A recording of a browser.
    Recording(&'a Path),
}

/// Opens a file for its bytes.
pub type OpenFile<'a> = &'a dyn Fn(&Path) -> io::Result<Box<dyn Read>>;

/// Requests of a plan, and what there is to say of where they come from.
#[derive(Clone, Debug)]
pub struct PlannedTraffic {
    /// The requests, whose answers are to be recorded.
    pub exchanges: Vec<Exchange>,
    /// What a person should know of them, a line each.
    pub notes: Vec<String>,
    /// The text of a scenario that is the load; the exchanges are verified only.
    pub scenario: Option<String>,
    /// The load that it is sent as.
    pub load: Option<Load>,
}

impl PlannedTraffic {
    /// Reads what a command line names. `site` is whose requests are taken from a log of several.
    ///
    /// # Errors
    ///
    /// What cannot be read, with what to do.
    pub fn read(source: TrafficSource<'_>, site: Option<&str>, open: OpenFile<'_>) -> Result<Self, String> {
        match source {
            TrafficSource::AccessLogs { most: 0, .. } => Err("--most 0 takes no request; give at least 1".to_owned()),
            TrafficSource::AccessLogs { files, most, replay } => {
                of_logs(files, site, most, replay.map(speed).transpose()?, open)
            }
            TrafficSource::Urls(file) => {
                let text = String::from_utf8(bytes(file, open)?)
                    .map_err(|_| format!("{} is not text in UTF-8", file.display()))?;
                let text = match sitemap::addresses(&text) {
                    Some(addresses) => addresses.map_err(|problem| format!("{} {problem}", file.display()))?,
                    None => text,
                };
                let requests = url_list(&text).map_err(|mistakes| first_mistakes(file, &mistakes))?;
                of_requests(requests, &file.display().to_string())
            }
            TrafficSource::Curl(lines) => {
                let read = |line: &String| curl(line).map_err(|problem| format!("--curl {problem}: {line}"));
                of_requests(lines.iter().map(read).collect::<Result<_, _>>()?, "--curl")
            }
            TrafficSource::Recording(file) => {
                let recording = BrowserRecording::read(&bytes(file, open)?)
                    .map_err(|problem| format!("{} {problem}", file.display()))?;
                of_recording(recording, file)
            }
        }
    }

    /// What a walk over a site that takes `most` requests found; nothing where no page answered.
    #[must_use]
    pub fn of_crawl(mix: &Mix, summary: &CrawlSummary, most: usize) -> Option<Self> {
        let exchanges = weighed(mix);
        let notes = notes_of_crawl(exchanges.len(), most, summary);
        (!exchanges.is_empty()).then_some(Self { exchanges, notes, scenario: None, load: None })
    }
}

/// What is wrong with a list: the first lines, and how many more there are.
fn first_mistakes(file: &Path, mistakes: &[String]) -> String {
    const MOST: usize = 10;
    let first = mistakes.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join("\n  ");
    let more = match mistakes.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!("\n  and {more} more lines"),
    };
    format!("{} cannot be read:\n  {first}{more}", file.display())
}

fn bytes(path: &Path, open: OpenFile<'_>) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    opened(path, open).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(|error| unreadable(path, &error))?;
    Ok(bytes)
}

/// A file, unpacked where gzip has packed it.
fn opened(path: &Path, open: OpenFile<'_>) -> io::Result<Box<dyn Read>> {
    unpacked(BufReader::with_capacity(1 << 16, open(path)?))
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("{} cannot be read: {error}", path.display())
}

/// How many times faster than it was a log is played: `x2`.
fn speed(typed: &str) -> Result<f64, String> {
    let speed = typed.strip_prefix('x').and_then(|speed| speed.parse::<f64>().ok());
    speed.filter(|speed| (0.1..=1000.0).contains(speed)).ok_or_else(|| {
        format!("--replay {typed} is no speed from x0.1 to x1000; x1 plays a log as it was, x2 twice as fast")
    })
}

/// The load that plays a log so many times faster, and what there is to say of it.
fn replayed(summary: &LogSummary, speed: f64) -> Result<(Load, String), String> {
    let replay = summary.replay.as_ref();
    let Replay { at, minutes } = replay.ok_or("--replay needs the times of pages, and the log has none")?;
    let load = Replay { at: *at, minutes: minutes.clone() }.load(speed);
    let load: Load = load.parse().map_err(|problem| format!("--replay x{speed} makes a load that {problem}"))?;
    let (pages, length) = (minutes.iter().sum::<u64>(), minutes.len() as f64 / speed);
    let note = format!(
        "the load plays {pages} pages in {length:.1} minutes, x{speed} from {at} on, with the rate of each of {} minutes",
        minutes.len()
    );
    Ok((load, note))
}

fn of_logs(
    paths: &[PathBuf],
    site: Option<&str>,
    most: usize,
    speed: Option<f64>,
    open: OpenFile<'_>,
) -> Result<PlannedTraffic, String> {
    let mut log = AccessLog::default();
    for path in paths {
        let failed = |error: io::Error| unreadable(path, &error);
        let mut file = BufReader::with_capacity(1 << 18, opened(path, open).map_err(failed)?);
        let mut line = Vec::new();
        loop {
            line.clear();
            if (&mut file).take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(failed)? == 0 {
                break;
            }
            let end = line.iter().rev().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
            log.line(&line[..line.len() - end]);
        }
    }
    let (mix, summary) = log.finish(site).map_err(|sites| {
        let site = site.unwrap_or_default();
        format!("the log has no request of {site}; it has those of {}", some(&sites))
    })?;
    if mix.requests.is_empty() {
        let notes = notes(&summary).join("\n  ");
        return Err(format!("the log has no page that was answered:\n  {notes}"));
    }
    let pages = mix.total();
    let (taken, share) = mix.most_frequent(most);
    let mut notes = notes(&summary);
    notes.push(format!(
        "{} different requests are taken, {:.0} % of {pages} pages{}",
        taken.requests.len(),
        100.0 * share,
        if share < 1.0 { " (--most takes more)" } else { "" }
    ));
    let replayed = speed.map(|speed| replayed(&summary, speed)).transpose()?;
    let (load, note) = replayed.unzip();
    notes.extend(note);
    Ok(PlannedTraffic { exchanges: weighed(&taken), notes, scenario: None, load })
}

/// What became of the lines of a log.
fn notes(summary: &LogSummary) -> Vec<String> {
    let LogSummary { site, other_sites, lines, not_understood, first_not_understood, busiest, .. } = summary;
    let left_out: Vec<String> = [
        (summary.assets, "of files"),
        (summary.robots, "by robots"),
        (summary.unsafe_methods, "that may change something (POST, ...)"),
        (summary.redirects, "that were redirected, to sign in for example"),
        (summary.failed, "that failed (4xx, 5xx)"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    let mut notes = vec![format!("lines: {lines}; requests of pages: {}", summary.taken)];
    if !left_out.is_empty() {
        notes.push(format!("left out: {}", left_out.join(", ")));
    }
    if *not_understood > 0 {
        let numbers: Vec<String> = first_not_understood.iter().map(u64::to_string).collect();
        let more = if *not_understood > numbers.len() as u64 { ", ..." } else { "" };
        let are = if *not_understood == 1 { "line is no request" } else { "lines are no requests" };
        notes.push(format!("{not_understood} {are}: {}{more}", numbers.join(", ")));
    }
    if let ([_, ..], Some(site)) = (&other_sites[..], site) {
        let others: Vec<String> = other_sites
            .iter()
            .map(|(name, lines)| match &**name {
                "" => format!("{lines} lines without a name"),
                name => format!("{name} ({lines} lines)"),
            })
            .collect();
        notes.push(format!("the site is {site}; others, which --host chooses: {}", some(&others)));
    }
    if let Some(minute @ BusyMinute { at, requests }) = busiest {
        let rate = minute.per_second();
        notes.push(format!(
            "busiest minute: {at}, {requests} requests of any kind ({rate:.1} a second: --load open:{rate:.1})"
        ));
    }
    notes
}

/// What became of the addresses that were found.
fn notes_of_crawl(taken: usize, most: usize, summary: &CrawlSummary) -> Vec<String> {
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

/// The first of these names.
fn some(names: &[String]) -> String {
    const MOST: usize = 5;
    match names.len().checked_sub(MOST) {
        Some(more @ 1..) => format!("{} and {more} more", names[..MOST].join(", ")),
        _ => names.join(", "),
    }
}

/// Requests that a person chose, in their order; one that is there twice counts twice.
fn of_requests(requests: Vec<RecordedRequest>, from: &str) -> Result<PlannedTraffic, String> {
    if requests.is_empty() {
        return Err(format!("{from} holds no request"));
    }
    let mut notes = Vec::new();
    let hosts: BTreeSet<&str> = requests.iter().filter_map(|request| request.host.as_deref()).collect();
    if hosts.len() > 1 {
        let hosts: Vec<String> = hosts.into_iter().map(str::to_owned).collect();
        notes.push(format!("all are sent to the application, though they name several hosts: {}", some(&hosts)));
    }
    let secrets: BTreeSet<&str> = requests.iter().flat_map(|request| &request.secrets).map(String::as_str).collect();
    if !secrets.is_empty() {
        let secrets = secrets.into_iter().collect::<Vec<_>>().join(", ");
        notes.push(format!("left out, since a plan holds no secrets: {secrets}"));
    }
    let mut different = counted(requests);
    if different.len() > MOST_LISTED {
        let all = different.len();
        different = spread(different, MOST_LISTED);
        notes.push(format!("{MOST_LISTED} of {all} different requests are taken, evenly from all of {from}"));
    }
    let mut exchanges: Vec<Exchange> = Vec::new();
    for (request, times) in different {
        exchanges.push(exchange(request, times, &exchanges));
    }
    Ok(PlannedTraffic { exchanges, notes, scenario: None, load: None })
}

/// Different requests in their order, each with how often it is there.
fn counted(requests: Vec<RecordedRequest>) -> Vec<(Request, u32)> {
    let mut different: Vec<(Request, u32)> = Vec::new();
    let mut known: HashMap<String, Vec<usize>> = HashMap::new();
    for RecordedRequest { request, .. } in requests {
        let alike = known.entry(format!("{} {}", request.method, request.path)).or_default();
        match alike.iter().find(|at| different[**at].0 == request) {
            Some(at) => different[*at].1 = (different[*at].1 + 1).min(MOST_WEIGHT),
            None => {
                alike.push(different.len());
                different.push((request, 1));
            }
        }
    }
    different
}

/// So many of more, at even distances from the first on.
fn spread<T>(all: Vec<T>, most: usize) -> Vec<T> {
    let mut all: Vec<Option<T>> = all.into_iter().map(Some).collect();
    let length = all.len();
    (0..most.min(length)).filter_map(|number| all[number * length / most].take()).collect()
}

fn of_recording(recording: BrowserRecording, file: &Path) -> Result<PlannedTraffic, String> {
    if let Some(sign_in) = SignIn::of(&recording) {
        return of_sign_in(sign_in, &recording);
    }
    let failed = SignIn::failed(&recording).map(|(path, status)| {
        format!("the sign-in at {path} did not work when it was recorded ({status}): for a load of users who sign in, record one that does")
    });
    let BrowserRecording { site, steps, other_sites } = recording;
    let (pages, others): (Vec<RecordedStep>, Vec<RecordedStep>) = steps.into_iter().partition(|step| {
        !step.is_asset && (200..300).contains(&step.status) && matches!(&*step.recorded.request.method, "GET" | "HEAD")
    });
    let unsafe_methods: Vec<String> = others
        .iter()
        .filter(|step| !matches!(&*step.recorded.request.method, "GET" | "HEAD"))
        .map(|step| format!("{} {}", step.recorded.request.method, step.recorded.request.path))
        .collect();
    let mut notes = vec![format!("{} pages of {site}; {} other requests are left out", pages.len(), others.len())];
    notes.extend(failed);
    if !unsafe_methods.is_empty() {
        let requests = some(&unsafe_methods);
        notes.push(format!("they may change something, and belong into a scenario (docs/scenarios.md): {requests}"));
    }
    if !other_sites.is_empty() {
        let sites: Vec<String> = other_sites.into_iter().collect();
        notes.push(format!("other sites are left out: {}", some(&sites)));
    }
    let traffic = of_requests(pages.into_iter().map(|step| step.recorded).collect(), &file.display().to_string())?;
    Ok(PlannedTraffic { notes: [notes, traffic.notes].concat(), ..traffic })
}

/// A visit with a sign-in: a scenario beside the page of its form, which shows that the application is there.
fn of_sign_in(sign_in: SignIn, recording: &BrowserRecording) -> Result<PlannedTraffic, String> {
    let SignIn { form, tokens, scenario, variables, shows_user } = sign_in;
    let request =
        Request { method: "GET".to_owned(), path: form.clone(), headers: Default::default(), body: Vec::new() };
    let tokens = if tokens.is_empty() { "no token".to_owned() } else { format!("the token {}", tokens.join(", ")) };
    let mut notes = vec![
        format!("a sign-in at {form} with {tokens}: the load is the visit of two identities, in {SCENARIO}"),
        format!("set their accounts before you measure: export {}", variables.join("=... ") + "=..."),
    ];
    if !shows_user {
        notes.push(
            "no page of the recording shows who is signed in: add such a page with contains: ${accounts.user}, or an answer for \
             another user is not noticed"
                .to_owned(),
        );
    }
    if !recording.other_sites.is_empty() {
        let sites: Vec<String> = recording.other_sites.iter().cloned().collect();
        notes.push(format!("other sites are left out: {}", some(&sites)));
    }
    Ok(PlannedTraffic { exchanges: vec![exchange(request, 1, &[])], notes, scenario: Some(scenario), load: None })
}

/// The requests of a mix, with weights in proportion to how often each was seen.
fn weighed(mix: &Mix) -> Vec<Exchange> {
    let most = mix.requests.iter().map(|mixed| mixed.count).max().unwrap_or(1);
    let scaled = |count: u64| match most <= u64::from(MOST_WEIGHT) {
        true => u32::try_from(count).unwrap_or(MOST_WEIGHT),
        false => ((count as f64 / most as f64 * f64::from(MOST_WEIGHT)).round() as u32).max(1),
    };
    let mut exchanges = Vec::new();
    for mixed in &mix.requests {
        exchanges.push(exchange(mixed.request.clone(), scaled(mixed.count), &exchanges));
    }
    exchanges
}

/// One whose answer is to be recorded, under a name that no other has.
fn exchange(request: Request, weight: u32, others: &[Exchange]) -> Exchange {
    let name = format!("{} {}", request.method, request.path);
    let numbered = (2..).map(|number| format!("{name} ({number})"));
    let is_free = |name: &String| !others.iter().any(|other| other.name == *name);
    let name = std::iter::once(name.clone()).chain(numbered).find(is_free).unwrap_or_default();
    let expect = Expectation { status: 200, body: Body::Any, gzip: false, head: ExpectedHead::default() };
    Exchange { name, request, expect, weight, once: false, optional: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_list(text: &str) -> Result<PlannedTraffic, String> {
        let text = text.to_owned();
        let open = move |_: &Path| -> io::Result<Box<dyn Read>> { Ok(Box::new(io::Cursor::new(text.clone()))) };
        PlannedTraffic::read(TrafficSource::Urls(Path::new("list")), None, &open)
    }

    #[test]
    fn of_a_list_with_more_than_can_be_asked_some_are_taken_from_all_of_it() {
        let sitemap = |pages: usize| {
            let page = |number| format!("<url><loc>https://a.example/p/{number}</loc></url>\n");
            format!("<urlset>{}</urlset>", (0..pages).map(page).collect::<String>())
        };
        let paths = |traffic: &PlannedTraffic| -> Vec<String> {
            traffic.exchanges.iter().map(|exchange| exchange.request.path.clone()).collect()
        };
        let all = of_list(&sitemap(MOST_LISTED)).unwrap();
        assert_eq!((all.exchanges.len(), all.notes.len()), (MOST_LISTED, 0), "{:?}", all.notes);
        // As many as one sitemap may have.
        let many = of_list(&sitemap(50_000)).unwrap();
        let taken = paths(&many);
        assert_eq!((taken.len(), &*taken[0], &*taken[1], &*taken[199]), (200, "/p/0", "/p/250", "/p/49750"));
        assert_eq!(many.notes, ["200 of 50000 different requests are taken, evenly from all of list"]);
    }

    #[test]
    fn requests_that_are_there_twice_weigh_twice_and_mistakes_are_not_told_without_end() {
        let twice = of_list("/b\n/a\n/b\nHEAD /b\n").unwrap();
        let told: Vec<_> = twice.exchanges.iter().map(|of| (&*of.name, of.weight)).collect();
        assert_eq!(told, [("GET /b", 2), ("GET /a", 1), ("HEAD /b", 1)]);
        let problem = of_list(&"nonsense\n".repeat(1000)).unwrap_err();
        assert!(problem.contains("line 10: nonsense") && problem.ends_with("and 990 more lines"), "{problem}");
        let index = "<sitemapindex><sitemap><loc>https://a/1.xml</loc></sitemap></sitemapindex>";
        let problem = of_list(index).unwrap_err();
        assert_eq!(problem, "list names other sitemaps (https://a/1.xml); give one of those");
    }
}
