//! `ab` of the Apache HTTP server.

use super::{Answered, Closed, Tool, after, words};

pub(crate) const AB: Tool = Tool { once: Some(once), ..Tool::on_path("ab", &["ab", "-V"], closed, read) };

/// It ends at a time or at a number of requests, whichever comes first, and has room made for all of them.
const MOST_REQUESTS: u32 = 20_000_000;

fn closed(run: &Closed) -> Vec<String> {
    let seconds = run.duration.as_secs();
    words(&format!("ab -k -q -c {} -t {seconds} -n {MOST_REQUESTS} {}", run.connections, run.url))
}

fn once(url: &str) -> Vec<String> {
    words(&format!("ab -k -q -c 1 -n 1 {url}"))
}

fn read(output: &str) -> Option<Answered> {
    let complete: u64 = after(output, "Complete requests:")?;
    let failed: u64 = after(output, "Failed requests:")?;
    let wrong: u64 = after(output, "Non-2xx responses:").unwrap_or(0);
    let rate = after(output, "Requests per second:")?;
    Some(Answered::among(complete, failed + wrong, rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_output_is_read() {
        let output = include_str!("../../outputs/ab.txt");
        assert_eq!(read(output), Some(Answered { requests: 30990, rate: 30990.0, failed: 0 }));
    }
}
