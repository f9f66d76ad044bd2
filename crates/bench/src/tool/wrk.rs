//! wrk (<https://github.com/wg/wrk>).

use super::{Answered, Closed, Tool, after, words};

pub(crate) const WRK: Tool = Tool::on_path("wrk", &["wrk", "--version"], closed, read);

fn closed(run: &Closed) -> Vec<String> {
    words(&format!("wrk -t1 -c{} -d{} {}", run.connections, run.seconds(), run.url))
}

fn read(output: &str) -> Option<Answered> {
    let all = output.lines().find(|line| line.contains(" requests in ")).and_then(|line| after(line, ""))?;
    let rate = after(output, "Requests/sec:")?;
    let wrong: u64 = after(output, "Non-2xx or 3xx responses:").unwrap_or(0);
    let broken = output.lines().find_map(|line| line.trim().strip_prefix("Socket errors:"));
    let errors = ["connect ", "read ", "write ", "timeout "];
    let errors: u64 = broken.map_or(0, |line| errors.iter().filter_map(|kind| after::<u64>(line, kind)).sum());
    let answered = Answered::among(all, wrong, rate);
    Some(Answered { failed: wrong + errors, ..answered })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_output_is_read() {
        let output = include_str!("../../outputs/wrk.txt");
        assert_eq!(read(output), Some(Answered { requests: 8854, rate: 8353.70, failed: 0 }));
    }

    #[test]
    fn its_errors_are_read() {
        let output = include_str!("../../outputs/wrk-errors.txt");
        assert_eq!(read(output), Some(Answered { requests: 0, rate: 0.0, failed: 7511 }));
        let broken = output.replace("Non-2xx", "Socket errors: connect 1, read 2, write 0, timeout 4\n  Non-2xx");
        assert_eq!(read(&broken).map(|read| read.failed), Some(7511 + 7));
    }
}
