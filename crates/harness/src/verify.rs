//! Same answers first: every expected answer is checked before anything is timed.

use std::time::Duration;

use stampede_core::{Body, Exchange, Expectation, Running, ServedAnswer, with_causes};
use stampede_load::{BodyCheck, Check, LoadExchange, Statuses};

use crate::html;
use crate::ready::{Front, send};

/// Longest wait for one answer; PHP's own `max_execution_time` is 30 s.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How much of a wrong body is shown.
const SHOWN_BYTES: usize = 400;

/// What was verified, and what the load must get.
#[derive(Debug, Default)]
pub(crate) struct Verified {
    pub(crate) answers: Vec<ServedAnswer>,
    /// The load's requests with the very bytes that were found right here, so that each answer under load can be
    /// checked at full speed.
    pub(crate) load: Vec<LoadExchange>,
}

/// Sends every exchange and checks its answer.
///
/// # Errors
///
/// The first wrong answer: the exchange, what was expected, the status and the start of the body.
pub(crate) async fn verify(running: &dyn Running, front: &Front, exchanges: &[Exchange]) -> Result<Verified, String> {
    let mut verified = Verified::default();
    for Exchange { name, request, expect, in_load } in exchanges {
        let answer = tokio::select! {
            answer = send(front, request, TIMEOUT) => {
                answer.map_err(|error| format!("gave no answer to `{name}`: {}", with_causes(&error)))?
            }
            exit = running.exited() => return Err(format!("{} ended with {} at `{name}`", exit.unit, exit.how)),
        };
        if let Err(problem) = check(expect, answer.status, &answer.body) {
            return Err(format!(
                "gave a wrong answer to `{name}`: {problem}\nstatus {}, body: {}",
                answer.status,
                shown(&answer.body)
            ));
        }
        verified.answers.push(ServedAnswer {
            exchange: name.clone(),
            status: answer.status,
            body_bytes: answer.body.len() as u64,
        });
        if *in_load {
            let check = Check::new(Statuses::only(answer.status), vec![BodyCheck::Equals(answer.body)]);
            verified.load.push(LoadExchange { request: request.clone(), check });
        }
    }
    Ok(verified)
}

fn check(expect: &Expectation, status: u16, body: &[u8]) -> Result<(), String> {
    if status != expect.status {
        return Err(format!("status {} was expected", expect.status));
    }
    match &expect.body {
        Body::Any => Ok(()),
        Body::Bytes(bytes) if body == bytes => Ok(()),
        Body::Bytes(bytes) => Err(format!("the body {} was expected", shown(bytes))),
        Body::JsonHtml { field, html } => {
            let json: serde_json::Value =
                serde_json::from_slice(body).map_err(|error| format!("the body is not JSON ({error})"))?;
            let served = json.get(field).and_then(serde_json::Value::as_str);
            let served = served.ok_or_else(|| format!("the JSON has no text in `{field}`"))?;
            if html::same_meaning(served, html) {
                Ok(())
            } else {
                Err(format!("`{field}` does not mean {}", shown(html.as_bytes())))
            }
        }
    }
}

/// The start of a body as text.
pub(crate) fn shown(body: &[u8]) -> String {
    if body.is_empty() {
        return "(empty)".to_owned();
    }
    let start = String::from_utf8_lossy(&body[..body.len().min(SHOWN_BYTES)]);
    let more = if body.len() > SHOWN_BYTES { format!(" … ({} bytes)", body.len()) } else { String::new() };
    format!("{}{more}", start.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_compared_by_meaning() {
        let expect =
            Expectation { status: 200, body: Body::JsonHtml { field: "result".into(), html: "<h1>h1</h1>\n".into() } };
        for (status, body, problem) in [
            (200, r#"{"result":"<h1 id=\"h1\">h1</h1>"}"#, None),
            (200, "{\"result\":\"\\u003Ch1\\u003Eh1\\u003C\\/h1\\u003E\"}", None),
            (500, r#"{"result":"<h1>h1</h1>"}"#, Some("status 200 was expected")),
            (200, r#"{"result":"<h2>h1</h2>"}"#, Some("`result` does not mean <h1>h1</h1>")),
            (200, r#"{"data":1}"#, Some("the JSON has no text in `result`")),
            (200, "<br>Fatal error", Some("the body is not JSON (expected value at line 1 column 1)")),
        ] {
            assert_eq!(check(&expect, status, body.as_bytes()).err().as_deref(), problem, "{body}");
        }
    }
}
