//! The bare client of this crate.

use super::{Answered, Closed, Source, Tool, after, words};

pub(crate) const FLOOR: Tool =
    Tool { name: "floor", source: Source::Bench, closed, once: None, file: None, drains: true, read };

fn closed(Closed { url, connections, duration }: &Closed) -> Vec<String> {
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    words(&format!("stampede-bench floor {address} {connections} {}", duration.as_secs()))
}

fn read(output: &str) -> Option<Answered> {
    let requests = after(output, "answers")?;
    let seconds: f64 = after(output, "seconds")?;
    Some(Answered { requests, rate: requests as f64 / seconds, failed: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_line_is_read() {
        let read = read("answers 500 seconds 2.5\n");
        assert_eq!(read, Some(Answered { requests: 500, rate: 200.0, failed: 0 }));
    }
}
