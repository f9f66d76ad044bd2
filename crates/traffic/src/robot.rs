//! Visitors that are no people.

/// Parts of the names by which crawlers, monitors and scripts call themselves, in lower case. Most well-behaved crawlers have `bot`,
/// `crawl` or `spider` in theirs (<https://developers.google.com/search/docs/crawling-indexing/overview-google-crawlers>).
const PARTS: [&str; 22] = [
    "bot",
    "crawl",
    "spider",
    "slurp",
    "mediapartners",
    "facebookexternalhit",
    "feedfetcher",
    "pingdom",
    "uptime",
    "monitor",
    "nagios",
    "zabbix",
    "healthcheck",
    "kube-probe",
    "elb-health",
    "curl/",
    "wget/",
    "python-",
    "go-http-client",
    "libwww",
    "headless",
    "scanner",
];

/// Whether a visitor with this name is no person.
pub(crate) fn is_robot(agent: &str) -> bool {
    let agent = agent.to_ascii_lowercase();
    PARTS.iter().any(|part| agent.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_robot_says_so() {
        for (agent, expected) in [
            ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", true),
            ("Mozilla/5.0 (compatible; bingbot/2.0)", true),
            ("kube-probe/1.34", true),
            ("curl/7.88.1", true),
            ("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", false),
            ("-", false),
            ("", false),
        ] {
            assert_eq!(is_robot(agent), expected, "{agent}");
        }
    }
}
