//! Access logs of web servers.

use std::collections::HashMap;

use crate::asset::is_asset;
use crate::busy_minute::{BusyMinute, Minutes};
use crate::log_line::LogLine;
use crate::mix::Mix;
use crate::replay::Replay;
use crate::robot::is_robot;
use crate::target::Target;

/// More lines that are none are counted only.
const MOST_NAMED: usize = 5;

/// Requests of pages by method and target, and when each was first seen.
type Pages = HashMap<(String, String), (u64, usize)>;

/// A log that is read line by line. What it holds grows with the number of different requests, not of lines.
#[derive(Debug, Default)]
pub struct AccessLog {
    lines: u64,
    /// By the site that was asked; lines that name none are under the empty one.
    sites: HashMap<String, Site>,
    not_understood: u64,
    first_not_understood: Vec<u64>,
    minutes: Minutes,
}

#[derive(Debug, Default)]
struct Site {
    lines: u64,
    pages: Pages,
    /// When the pages of the mix were asked for.
    minutes: Minutes,
    summary: LogSummary,
}

/// What became of the lines of a site.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogSummary {
    /// The site, where lines name one.
    pub site: Option<String>,
    /// Other sites of the log and their lines, the largest first.
    pub other_sites: Vec<(String, u64)>,
    /// Lines of the whole log.
    pub lines: u64,
    /// Lines that are in no known format.
    pub not_understood: u64,
    /// The numbers of the first of them, from 1.
    pub first_not_understood: Vec<u64>,
    /// Requests that are in the mix.
    pub taken: u64,
    /// Requests of files.
    pub assets: u64,
    /// Requests of crawlers, monitors and scripts.
    pub robots: u64,
    /// Requests with methods that may change something.
    pub unsafe_methods: u64,
    /// Requests that were answered by a redirect.
    pub redirects: u64,
    /// Requests that were answered with 4xx or 5xx, or not at all.
    pub failed: u64,
    /// Of the whole log.
    pub busiest: Option<BusyMinute>,
    /// The requests that are in the mix, in their own times.
    pub replay: Option<Replay>,
}

impl AccessLog {
    /// Reads the next line, without its end.
    pub fn line(&mut self, line: &[u8]) {
        self.lines += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let understood = LogLine::read(line).and_then(|line| self.count(&line));
        if understood.is_none() {
            self.not_understood += 1;
            if self.first_not_understood.len() < MOST_NAMED {
                self.first_not_understood.push(self.lines);
            }
        }
    }

    fn count(&mut self, line: &LogLine<'_>) -> Option<()> {
        let Target { host, path } = Target::of(&line.target)?;
        if let Some(at) = line.at {
            self.minutes.count(at);
        }
        let host = host.or(line.host.as_deref()).map(name_of_site).unwrap_or_default();
        let site = match self.sites.get_mut(host) {
            Some(site) => site,
            None => self.sites.entry(host.to_owned()).or_default(),
        };
        site.lines += 1;
        let LogSummary { taken, assets, robots, unsafe_methods, redirects, failed, .. } = &mut site.summary;
        let counted = match line.status {
            _ if is_robot(&line.agent) => robots,
            _ if is_asset(path) => assets,
            _ if !matches!(&*line.method, "GET" | "HEAD") => unsafe_methods,
            Some(300..400) => redirects,
            Some(200..300) | None => {
                let place = site.pages.len();
                let key = (line.method.to_string(), path.to_owned());
                site.pages.entry(key).or_insert((0, place)).0 += 1;
                if let Some(at) = line.at {
                    site.minutes.count(at);
                }
                taken
            }
            Some(_) => failed,
        };
        *counted += 1;
        Some(())
    }

    /// What was asked of a site, with its name; by default of that with the most lines.
    ///
    /// # Errors
    ///
    /// The sites that the log has, where it has none of this name.
    pub fn finish(self, site: Option<&str>) -> Result<(Mix, LogSummary), Vec<String>> {
        let Self { lines, mut sites, not_understood, first_not_understood, minutes } = self;
        let mut sizes: Vec<(String, u64)> = sites.iter().map(|(name, site)| (name.clone(), site.lines)).collect();
        sizes.sort_unstable_by(|(a, of_a), (b, of_b)| of_b.cmp(of_a).then(a.cmp(b)));
        let site = site.map(name_of_site);
        // Lines that name no site are of the one that is asked for.
        let is_asked = |name: &str| site.is_none_or(|site| name.is_empty() || name.eq_ignore_ascii_case(site));
        let chosen = sizes.iter().position(|(name, _)| is_asked(name));
        let (name, others) = match chosen {
            Some(chosen) => (sizes.remove(chosen).0, sizes),
            None if sizes.is_empty() => (String::new(), sizes),
            None => return Err(sizes.into_iter().map(|(name, _)| name).collect()),
        };
        let Site { lines: _, pages, minutes: of_pages, summary } = sites.remove(&name).unwrap_or_default();
        let summary = LogSummary {
            site: (!name.is_empty()).then_some(name),
            other_sites: others,
            lines,
            not_understood,
            first_not_understood,
            busiest: minutes.busiest(),
            replay: Replay::of(&of_pages),
            ..summary
        };
        Ok((Mix::counted(pages), summary))
    }
}

/// A site without its port and the dot at its end.
fn name_of_site(host: &str) -> &str {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    name.strip_suffix('.').unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(lines: &[&str]) -> AccessLog {
        let mut log = AccessLog::default();
        lines.iter().for_each(|line| log.line(line.as_bytes()));
        log
    }

    fn line(request: &str, status: u16, agent: &str) -> String {
        format!(r#"192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] "{request} HTTP/1.1" {status} 5 "-" "{agent}""#)
    }

    fn targets(mix: &Mix) -> Vec<(String, u64)> {
        mix.requests.iter().map(|of| (format!("{} {}", of.request.method, of.request.path), of.count)).collect()
    }

    #[test]
    fn pages_that_people_got_are_taken_by_their_frequency() {
        let mut lines: Vec<String> = Vec::new();
        for (request, status, agent, times) in [
            ("GET /", 200, "Firefox", 3),
            ("GET /a?b=1", 200, "Firefox", 5),
            ("HEAD /", 200, "Firefox", 1),
            ("GET /a.css", 200, "Firefox", 7),
            ("GET /", 200, "Googlebot", 11),
            ("POST /buy", 200, "Firefox", 2),
            ("GET /account", 302, "Firefox", 4),
            ("GET /missing", 404, "Firefox", 6),
            ("GET /broken", 500, "Firefox", 1),
        ] {
            lines.extend(std::iter::repeat_n(line(request, status, agent), times));
        }
        lines.extend(["nonsense".to_owned(), String::new(), r#""GET"#.to_owned()]);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let (mix, summary) = log(&lines).finish(None).unwrap();
        assert_eq!(targets(&mix), [("GET /a?b=1".to_owned(), 5), ("GET /".to_owned(), 3), ("HEAD /".to_owned(), 1)]);
        let LogSummary { taken, assets, robots, unsafe_methods, redirects, failed, .. } = summary;
        assert_eq!((taken, assets, robots, unsafe_methods, redirects, failed), (9, 7, 11, 2, 4, 7));
        assert_eq!((summary.lines, summary.not_understood, summary.first_not_understood), (43, 2, vec![41, 43]));
        assert_eq!(
            summary.busiest.map(|minute| (minute.at.to_string(), minute.requests)),
            Some(("2000-10-10T13:55:00Z".to_owned(), 40))
        );
        let (few, share) = mix.most_frequent(1);
        assert_eq!((few.requests.len(), share), (1, 5.0 / 9.0));
    }

    #[test]
    fn sites_are_told_apart() {
        let of = |site: &str| format!("{site}:443 {}", line("GET /", 200, "-"));
        let lines = [of("a.example"), of("b.example"), of("b.example"), line("GET http://c.example/c", 200, "-")];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let (mix, summary) = log(&lines).finish(None).unwrap();
        assert_eq!((mix.total(), summary.site.as_deref()), (2, Some("b.example")));
        assert_eq!(summary.other_sites, [("a.example".to_owned(), 1), ("c.example".to_owned(), 1)]);
        let (mix, summary) = log(&lines).finish(Some("C.example:8443")).unwrap();
        assert_eq!((targets(&mix), summary.site.as_deref()), (vec![("GET /c".to_owned(), 1)], Some("c.example")));
        assert_eq!(log(&lines).finish(Some("d.example")).unwrap_err(), ["b.example", "a.example", "c.example"]);
        let unnamed = [line("GET /", 200, "-")];
        assert_eq!(log(&[&unnamed[0]]).finish(Some("d.example")).unwrap().0.total(), 1);
        assert_eq!(log(&[]).finish(None).unwrap().0.total(), 0);
    }
}
