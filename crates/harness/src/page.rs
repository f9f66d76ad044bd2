//! Answers that are no page to compare runtimes by: redirects, logins, errors, nothing at all.

use std::sync::LazyLock;

use regex::bytes::Regex;
use stampede_core::{Answer, Request, named_status};
use url::{Position, Url};

use crate::known::Known;

/// Words in paths of login pages.
const LOGINS: [&str; 7] = ["login", "log-in", "signin", "sign-in", "sign_in", "authenticate", "sso"];

/// Words in paths of installers.
const INSTALLERS: [&str; 4] = ["install", "setup", "wizard", "onboarding"];

/// Where an answer sends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Redirect {
    /// Another page of the application: path and query.
    Within(String),
    /// Where there is nothing to be compared, with what to do.
    Away(String),
}

/// Where a request for a page is sent on, if it is.
pub(crate) fn redirect(request: &Request, answer: &Answer, known: &Known) -> Option<Redirect> {
    if !is_read(request) || !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = answer.header("location")?;
    let place = known.on_server(location);
    let place = place.split('#').next().unwrap_or_default();
    let told = format!("is redirected to {location} ({})", named_status(answer.status));
    if place.starts_with("http://") || place.starts_with("https://") || place.starts_with("//") {
        let (scheme, rest) = place.split_once("//").unwrap_or(("", place));
        let host = rest.split(['/', '?']).next().unwrap_or_default();
        // A file's key, as a person writes it; the flag is the same.
        let keys = if scheme == "https:" { format!("host: {host}, scheme: https") } else { format!("host: {host}") };
        return Some(Redirect::Away(format!(
            "{told}, which is another origin; ask it by that name: app: {{{keys}}} (--host {host}), or set the address that it has of itself \
             (APP_URL, DEFAULT_URI, the site's URL)"
        )));
    }
    let path = joined(&request.path, place);
    let lower = path.to_lowercase();
    let words = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    Some(if path == request.path {
        let fix = if location.starts_with("https://") {
            "its visitors come by https: app: {scheme: https}"
        } else {
            "send the cookie that it waits for: headers: {Cookie: …}"
        };
        Redirect::Away(format!("{told}, which is itself; {fix}"))
    } else if words(&LOGINS) {
        Redirect::Away(format!("{told}, which is a login; {LOG_IN}"))
    } else if words(&INSTALLERS) {
        Redirect::Away(format!("{told}, which is an installer; install the application first"))
    } else {
        Redirect::Within(path)
    })
}

/// What to do about a page that not everybody sees.
const LOG_IN: &str = "choose a page that everybody sees, or send the headers of a visitor who is signed in, in stampede.yaml: \
     app: {dir: ., requests: [{path: /, headers: {Cookie: …}}]}";

/// Why an answer is no page, and what to do; nothing where it is one.
pub(crate) fn refusal(request: &Request, answer: &Answer, body: &[u8]) -> Option<String> {
    let fix = match answer.status {
        503 => "end its maintenance (php artisan up, drush state:set system.maintenance_mode 0, no .maintenance)",
        500.. => "fix that first (its log follows)",
        401 | 403 => LOG_IN,
        404 | 410 => "choose a page that exists, in stampede.yaml: app: {dir: ., requests: [{path: /…}]}",
        429 => "turn its rate limit off",
        400.. => "choose a page that it answers, in stampede.yaml: app: {dir: ., requests: [{path: /…}]}",
        status => {
            if let Some(message) = message_of_php(body) {
                let fix = "fix it, or turn display_errors off";
                return Some(format!("answers with a message of PHP in its body: {message}; {fix}"));
            }
            let is_empty = status == 200 && request.method == "GET" && body.is_empty();
            let fix = "choose a page that has one, or expect that in stampede.yaml: app: {dir: ., requests: [{path: /, expect: {status: 200, body: ''}}]}";
            return is_empty.then(|| format!("answers with an empty body; {fix}"));
        }
    };
    let (number, status) = (answer.status, named_status(answer.status));
    Some(format!(
        "answers {status}; {fix}; if {number} is right, expect it: requests: [{{path: /, expect: {{status: {number}}}}}]"
    ))
}

fn is_read(request: &Request) -> bool {
    matches!(request.method.as_str(), "GET" | "HEAD")
}

/// A message that PHP put into a page: as main.c's php_error_cb writes it with html_errors, and without.
fn message_of_php(body: &[u8]) -> Option<String> {
    static MESSAGE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let kinds = "(?:Fatal error|Parse error|Recoverable fatal error|Warning|Notice|Deprecated)";
        Regex::new(&format!(
            r"(?-u)(?:<b>{kinds}</b>:  |(?:^|\n)(?:PHP )?{kinds}: )[^\n]{{1,2000}}? in (?:<b>)?[^\n<>]{{1,500}}(?:</b>)? on line (?:<b>)?[0-9]+"
        ))
        .ok()
    });
    let found = MESSAGE.as_ref()?.find(body)?;
    let text = String::from_utf8_lossy(found.as_bytes()).replace("<b>", "").replace("</b>", "");
    Some(text.trim().chars().take(300).collect())
}

/// A reference against the path that it came from (RFC 3986, section 5.2), without what a browser does not send.
fn joined(base: &str, reference: &str) -> String {
    let joined = Url::parse(&format!("http://localhost{base}")).and_then(|base| base.join(reference));
    joined.map_or_else(|_| reference.to_owned(), |url| url[Position::BeforePath..Position::AfterQuery].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, path: &str) -> Request {
        Request { method: method.to_owned(), path: path.to_owned(), headers: Default::default(), body: Vec::new() }
    }

    fn known() -> Known {
        Known { addresses: vec!["127.0.0.1:2001".to_owned()], ..Known::default() }
    }

    #[test]
    fn a_redirect_within_the_site_is_followed_and_others_are_refused() {
        for (path, location, to) in [
            ("/", "/en/", Ok("/en/")),
            ("/", "http://127.0.0.1:2001/en?a=b#c", Ok("/en?a=b")),
            ("/shop/cart", "list?x=1", Ok("/shop/list?x=1")),
            ("/shop/cart", "../", Ok("/")),
            ("/shop/a/cart", "./b/", Ok("/shop/a/b/")),
            ("/a?x=1", "?y=2", Ok("/a?y=2")),
            ("/", "https://127.0.0.1:2001/", Err("which is itself; its visitors come by https: app: {scheme: https}")),
            (
                "/",
                "https://shop.example/",
                Err(
                    "another origin; ask it by that name: app: {host: shop.example, scheme: https} (--host shop.example)",
                ),
            ),
            ("/", "//shop.example/", Err("another origin")),
            ("/", "/user/login?next=/", Err("a login; choose a page that everybody sees")),
            ("/", "/wp-admin/install.php", Err("an installer; install the application first")),
        ] {
            let headers = vec![("Location".to_owned(), location.to_owned())];
            let answer = Answer { status: 302, headers, body: Vec::new() };
            match (redirect(&request("GET", path), &answer, &known()), to) {
                (Some(Redirect::Within(found)), Ok(to)) => assert_eq!(found, to, "{location}"),
                (Some(Redirect::Away(problem)), Err(part)) => assert!(problem.contains(part), "{problem}"),
                (found, _) => panic!("{location}: {found:?}"),
            }
            assert_eq!(redirect(&request("POST", path), &answer, &known()), None, "the answer to a form");
        }
    }

    #[test]
    fn what_is_no_page_is_refused_with_what_to_do() {
        let html =
            "<p>x</p><br />\n<b>Warning</b>:  Undefined variable $a in <b>/app/x.php</b> on line <b>3</b><br />\n";
        for (method, status, body, told) in [
            ("GET", 200, "page", None),
            ("POST", 200, "", None),
            ("GET", 204, "", None),
            ("GET", 200, "", Some("answers with an empty body")),
            ("GET", 404, "no", Some("answers 404 Not Found; choose a page that exists")),
            ("GET", 403, "no", Some("403 Forbidden; choose a page that everybody sees")),
            ("GET", 429, "no", Some("429 Too Many Requests; turn its rate limit off")),
            ("POST", 419, "no", Some("419 Page Expired")),
            ("GET", 503, "no", Some("503 Service Unavailable; end its maintenance")),
            ("GET", 500, "no", Some("500 Internal Server Error; fix that first")),
            ("GET", 200, html, Some("Warning:  Undefined variable $a in /app/x.php on line 3; fix it")),
            ("GET", 200, "\nWarning: Undefined variable $a in /app/x.php on line 3\n", Some("a message of PHP")),
            ("GET", 200, "<b>Warning</b>: the shop is closed on Sunday", None),
        ] {
            let answer = Answer { status, headers: Vec::new(), body: body.as_bytes().to_vec() };
            let refused = refusal(&request(method, "/"), &answer, body.as_bytes());
            match told {
                None => assert_eq!(refused, None),
                Some(told) => assert!(refused.as_ref().is_some_and(|refused| refused.contains(told)), "{refused:?}"),
            }
        }
    }
}
