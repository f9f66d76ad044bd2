//! How fast a log is read, without what `stampede init` does besides: `cargo run --release -p stampede-traffic --example read_log
//! access.log`. Prints lines, seconds, and the most memory that was resident.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Error};
use std::time::Instant;

use stampede_traffic::AccessLog;

fn main() -> io::Result<()> {
    let path = std::env::args().nth(1).ok_or_else(|| Error::other("name an access log"))?;
    let begun = Instant::now();
    let mut file = BufReader::with_capacity(1 << 18, File::open(path)?);
    let (mut log, mut line) = (AccessLog::default(), Vec::new());
    while file.read_until(b'\n', &mut line)? > 0 {
        log.line(line.strip_suffix(b"\n").unwrap_or(&line));
        line.clear();
    }
    let (mix, summary) = log.finish(None).map_err(|_| Error::other("the log has several sites"))?;
    let took = begun.elapsed();
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default().trim();
    #[expect(clippy::print_stdout, reason = "an example")]
    {
        println!("{} lines, {} requests, {:.2} s, {peak}", summary.lines, mix.requests.len(), took.as_secs_f64());
    }
    Ok(())
}
