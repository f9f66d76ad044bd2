//! A list of addresses, one a line.

use std::collections::{BTreeMap, BTreeSet};

use stampede_core::Request;

use crate::recorded_request::RecordedRequest;
use crate::target::Target;

/// Reads `METHOD URL` or `URL` from each line, in their order; URLs are whole or begin with `/`. Empty lines and those that begin with `#`
/// say nothing.
///
/// # Errors
///
/// All lines that are none, each with its number and what to write.
pub fn url_list(text: &str) -> Result<Vec<RecordedRequest>, Vec<String>> {
    let (mut requests, mut mistakes) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (method, url) = match line.split_once(char::is_whitespace) {
            Some((method, url)) => (method, url.trim_start()),
            None => ("GET", line),
        };
        let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
        match Target::of(url).filter(|target| is_method && !target.path.contains(char::is_whitespace)) {
            Some(Target { host, path }) => requests.push(RecordedRequest {
                host: host.map(str::to_owned),
                request: Request {
                    method: method.to_owned(),
                    path: path.to_owned(),
                    headers: BTreeMap::new(),
                    body: Vec::new(),
                },
                secrets: BTreeSet::new(),
            }),
            None => {
                mistakes.push(format!("line {number}: {line} is no address; write /path, a whole URL, or METHOD URL"))
            }
        }
    }
    if mistakes.is_empty() { Ok(requests) } else { Err(mistakes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_request_or_is_named() {
        let requests = url_list("# mine\n/\n\nPOST /a?b=%20c\n  http://h:8080//x  \n").unwrap();
        let told: Vec<_> = requests
            .iter()
            .map(|of| format!("{} {} {}", of.request.method, of.request.path, of.host.as_deref().unwrap_or("-")))
            .collect();
        assert_eq!(told, ["GET / -", "POST /a?b=%20c -", "GET //x h:8080"]);
        assert_eq!(url_list("").unwrap(), []);
        assert_eq!(
            url_list("/\nnonsense\nget /\n/a b").unwrap_err(),
            ["nonsense", "get /", "/a b"]
                .into_iter()
                .zip(2..)
                .map(|(line, number)| format!(
                    "line {number}: {line} is no address; write /path, a whole URL, or METHOD URL"
                ))
                .collect::<Vec<_>>()
        );
    }
}
