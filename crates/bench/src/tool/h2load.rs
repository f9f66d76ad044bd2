//! h2load of nghttp2 (<https://nghttp2.org/documentation/h2load.1.html>).

use super::{Answered, Closed, Tool, after, words};

pub(crate) const H2LOAD: Tool =
    Tool { once: Some(once), ..Tool::on_path("h2load", &["h2load", "--version"], closed, read) };

fn closed(run: &Closed) -> Vec<String> {
    words(&format!("h2load --h1 -t1 -c{} -D{} {}", run.connections, run.duration.as_secs(), run.url))
}

fn once(url: &str) -> Vec<String> {
    words(&format!("h2load --h1 -t1 -c1 -n1 {url}"))
}

fn read(output: &str) -> Option<Answered> {
    let rate = output.lines().find(|line| line.starts_with("finished in ")).and_then(|line| after(line, ", "))?;
    let line = output.lines().find_map(|line| line.strip_prefix("requests: "))?;
    let count = |kind| line.split(", ").find_map(|item| item.strip_suffix(kind)).and_then(|count| count.parse().ok());
    let requests = count(" succeeded")?;
    // What it counts as failed includes what it counts as errored.
    Some(Answered { requests, rate, failed: count(" failed")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_output_is_read() {
        let output = include_str!("../../outputs/h2load.txt");
        assert_eq!(read(output), Some(Answered { requests: 31565, rate: 31565.0, failed: 0 }));
    }
}
