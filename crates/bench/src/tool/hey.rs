//! hey (<https://github.com/rakyll/hey>).

use super::{Answered, Closed, Tool, after, words};

// It has no flag for its version; Debian's package knows.
pub(crate) const HEY: Tool =
    Tool { once: Some(once), ..Tool::on_path("hey", &["dpkg-query", "-W", "hey"], closed, read) };

fn closed(run: &Closed) -> Vec<String> {
    words(&format!("hey -c {} -z {} {}", run.connections, run.seconds(), run.url))
}

fn once(url: &str) -> Vec<String> {
    words(&format!("hey -c 1 -n 1 {url}"))
}

fn read(output: &str) -> Option<Answered> {
    let rate = after(output, "Requests/sec:")?;
    let (_, statuses) = output.split_once("Status code distribution:")?;
    let (statuses, errors) = statuses.split_once("Error distribution:").unwrap_or((statuses, ""));
    let count = |line: &str| after::<u64>(line, "]");
    let requests = statuses.lines().filter(|line| line.contains("[200]")).filter_map(count).sum();
    let wrong: u64 = statuses.lines().filter(|line| !line.contains("[200]")).filter_map(count).sum();
    let broken: u64 = errors.lines().filter_map(|line| after::<u64>(&line.replace(']', " "), "[")).sum();
    Some(Answered { requests, rate, failed: wrong + broken })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_output_is_read() {
        let output = include_str!("../../outputs/hey.txt");
        assert_eq!(read(output), Some(Answered { requests: 4581, rate: 4562.62, failed: 0 }));
    }
}
