//! A visit with a sign-in, found in a recording of a browser and written as a scenario.

use std::fmt::Write as _;

use crate::browser_recording::{BrowserRecording, RecordedStep};
use crate::crawl::ends_session;

/// A sign-in and the pages after it, as a scenario: its form is asked for, a token in it is captured and sent with the account of one
/// of two identities, and the redirect is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignIn {
    /// Path of the page with the form.
    pub form: String,
    /// Fields of the form whose values are new with each page: tokens.
    pub tokens: Vec<String>,
    /// The scenario. Accounts are not in it.
    pub scenario: String,
    /// The environment variables that hold the accounts, in the order in which a person sets them.
    pub variables: Vec<String>,
    /// Whether a page of the recording shows who is signed in, so that the scenario checks that it is the right one.
    pub shows_user: bool,
}

/// How many pages after the sign-in are taken.
const MOST_PAGES: usize = 20;

/// A value of a field that is the same on the page is a token from this length on: a shorter one is a button or a choice.
const TOKEN: usize = 16;

/// Parts of names of fields, in lower case, by what they are for.
const PASSWORDS: [&str; 3] = ["pass", "pwd", "pin_code"];
const USERS: [&str; 6] = ["mail", "user", "login", "account", "identifier", "name"];
const TOKENS: [&str; 4] = ["token", "csrf", "nonce", "form_build_id"];

/// What becomes of a field.
enum Field {
    User,
    Password,
    /// Captured from the page by this expression.
    Token(String),
    Fixed,
}

impl SignIn {
    /// The path of a sign-in that was refused or failed, and its status, where the recording has none that worked.
    #[must_use]
    pub fn failed(recording: &BrowserRecording) -> Option<(&str, u16)> {
        let mut tried = recording.steps.iter().filter(|step| is_sign_in(step));
        let failed = tried.next().filter(|first| !worked(first) && !tried.any(worked))?;
        Some((&failed.recorded.request.path, failed.status))
    }

    /// The first sign-in of a recording that worked: a form with a password that was posted.
    #[must_use]
    pub fn of(recording: &BrowserRecording) -> Option<Self> {
        let steps = &recording.steps;
        let posted = steps.iter().position(|step| is_sign_in(step) && worked(step))?;
        let (before, rest) = steps.split_at(posted);
        let (post, after) = rest.split_first()?;
        let has_form =
            |step: &&RecordedStep| is_page(step) && step.page.as_deref().is_some_and(|page| page.contains("<form"));
        let pages = || before.iter().rev().filter(|step| is_page(step));
        let form = pages().find(has_form).or_else(|| pages().next())?;
        let fields = fields(post, form.page.as_deref());
        let user =
            post.form.iter().zip(&fields).find(|(_, field)| matches!(field, Field::User)).map(|((_, value), _)| value);
        let shows = |step: &RecordedStep| {
            user.is_some_and(|user| {
                user.len() > 2 && step.page.as_deref().is_some_and(|page| page.contains(user.as_str()))
            })
        };
        let (mut steps, tokens) = sign_in_steps(form, post, &fields);
        let is_redirected = (300..400).contains(&post.status);
        let mut pages = after.iter().filter(|step| is_page(step)).peekable();
        let mut names = vec!["after sign-in".to_owned()];
        let mut shows_user = false;
        if is_redirected && let Some(landed) = pages.next() {
            shows_user |= shows(landed);
            steps += &page("after sign-in", "${location}", Some("location"), shows(landed));
            // Who was signed in before goes there too.
            let path = &landed.recorded.request.path;
            steps += &page(path, &escaped(path), Some("\"!location\""), shows(landed));
            names.push(path.clone());
        }
        for step in pages.filter(|step| !ends_session(&step.recorded.request.path)).take(MOST_PAGES) {
            let path = &step.recorded.request.path;
            let name = std::iter::once(path.clone()).chain((2..).map(|number| format!("{path} ({number})")));
            let name = name.into_iter().find(|name| !names.contains(name)).unwrap_or_default();
            shows_user |= shows(step);
            steps += &page(&name, &escaped(path), None, shows(step));
            names.push(name);
        }
        let has_user = user.is_some();
        let columns: &[(&str, &str)] =
            if has_user { &[("user", "USER"), ("password", "PASSWORD")] } else { &[("password", "PASSWORD")] };
        let variable = |what: &str, number: u32| format!("STAMPEDE_{what}_{number}");
        let variables =
            [1, 2].into_iter().flat_map(|number| columns.iter().map(move |(_, what)| variable(what, number)));
        let env: Vec<String> = columns
            .iter()
            .map(|(column, what)| format!("{column}: [{}, {}]", variable(what, 1), variable(what, 2)))
            .collect();
        let scenario = format!(
            "# A visit with a sign-in, from a recording. Its checks and paths are yours to change: docs/scenarios.md\n\
             feeders:\n  accounts:\n    # The accounts of two identities, from the environment: no file holds them.\n    \
             env: {{{}}}\n    order: identity\ncrowds:\n  - load: closed:16\n    flows:\n      - name: visit\n        \
             # Each user is two visitors in turn, so that an answer for another one is seen.\n        \
             identities: 2\n        steps:\n{steps}",
            env.join(", ")
        );
        Some(Self {
            form: form.recorded.request.path.clone(),
            tokens,
            scenario,
            variables: variables.collect(),
            shows_user,
        })
    }
}

/// The steps that ask for the form and send it, and the names of its tokens.
fn sign_in_steps(form: &RecordedStep, post: &RecordedStep, fields: &[Field]) -> (String, Vec<String>) {
    let (mut captures, mut sent, mut tokens) = (Vec::new(), Vec::new(), Vec::new());
    for ((name, value), field) in post.form.iter().zip(fields) {
        let value = match field {
            Field::User => "${accounts.user}".to_owned(),
            Field::Password => "${accounts.password}".to_owned(),
            Field::Fixed => value.replace('$', "$$"),
            Field::Token(expression) => {
                let capture =
                    if tokens.is_empty() { "token".to_owned() } else { format!("token_{}", tokens.len() + 1) };
                captures.push(format!("{capture}: {{regex: {}}}", quoted(expression)));
                tokens.push(name.clone());
                format!("${{{capture}}}")
            }
        };
        sent.push(format!("{}: {}", quoted(name), quoted(&value)));
    }
    let path = quoted(&escaped(&form.recorded.request.path));
    let mut steps = format!("          - name: form\n            path: {path}\n");
    if !captures.is_empty() {
        let _ = writeln!(steps, "            capture: {{{}}}", captures.join(", "));
    }
    steps += "          - name: sign in\n";
    if !captures.is_empty() {
        steps += "            # Who is signed in already is shown no form.\n            when: token\n";
    }
    let path = quoted(&escaped(&post.recorded.request.path));
    let _ = write!(
        steps,
        "            method: POST\n            path: {path}\n            form: {{{}}}\n            check: {{status: {}}}\n",
        sent.join(", "),
        post.status
    );
    if (300..400).contains(&post.status) {
        steps += "            capture: {location: {header: Location}}\n";
    }
    (steps, tokens)
}

/// A page that is asked for, and must show who is signed in where the recording did.
fn page(name: &str, path: &str, when: Option<&str>, shows_user: bool) -> String {
    let mut step = format!("          - name: {}\n", quoted(name));
    if let Some(when) = when {
        let _ = writeln!(step, "            when: {when}");
    }
    let shown = if shows_user { ", contains: \"${accounts.user}\"" } else { "" };
    let _ = write!(step, "            path: {}\n            check: {{status: 200{shown}}}\n", quoted(path));
    step
}

/// What each field of the form is, told by its name and by the page that it stands in.
fn fields(post: &RecordedStep, page: Option<&str>) -> Vec<Field> {
    let token = |name: &str, value: &str| match page {
        Some(page) => (value.len() >= TOKEN && page.contains(value)).then(|| expression(name, Some(page))),
        None => has(name, &TOKENS).then(|| expression(name, None)),
    };
    let mut has_user = false;
    let field = |(name, value): &(String, String)| {
        if has(name, &PASSWORDS) {
            Field::Password
        } else if let Some(expression) = token(name, value) {
            Field::Token(expression)
        } else if !has_user && has(name, &USERS) && !has(name, &TOKENS) {
            has_user = true;
            Field::User
        } else {
            Field::Fixed
        }
    };
    post.form.iter().map(field).collect()
}

/// What finds the value of an input of this name. A page may write the name before or after the value.
fn expression(name: &str, page: Option<&str>) -> String {
    let name: String = name
        .chars()
        .flat_map(|of| [Some('\\').filter(|_| !of.is_alphanumeric() && of != '_'), Some(of)])
        .flatten()
        .collect();
    let named =
        |quote: char| page.and_then(|page| page.find(&format!("name={quote}{}{quote}", name.replace('\\', ""))));
    let is_value_first = named('"').or_else(|| named('\'')).zip(page).is_some_and(|(at, page)| {
        let tag = page.get(..at).and_then(|before| Some(before.get(before.rfind('<')?..)?.to_owned()));
        tag.is_some_and(|tag| tag.contains("value="))
    });
    match is_value_first {
        true => format!("value=[\"']([^\"']+)[\"'][^>]*?name=[\"']{name}[\"']"),
        false => format!("name=[\"']{name}[\"'][^>]*?value=[\"']([^\"']+)[\"']"),
    }
}

/// Whether a step posts a form with a password.
fn is_sign_in(step: &RecordedStep) -> bool {
    step.recorded.request.method == "POST" && step.form.iter().any(|(name, _)| has(name, &PASSWORDS))
}

/// Whether a sign-in was taken: what was refused is an error, or the form once more.
fn worked(step: &RecordedStep) -> bool {
    let is_form = |page: &str| page.contains("type=\"password\"") || page.contains("type='password'");
    step.status < 400 && !step.page.as_deref().is_some_and(is_form)
}

/// Whether a step shows a page.
fn is_page(step: &RecordedStep) -> bool {
    step.recorded.request.method == "GET" && step.status == 200 && !step.is_asset
}

fn has(name: &str, parts: &[&str]) -> bool {
    let name = name.to_ascii_lowercase();
    parts.iter().any(|part| name.contains(part))
}

/// A path in which a dollar is one.
fn escaped(path: &str) -> String {
    path.replace('$', "$$")
}

/// A text as YAML and JSON write it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recording of these requests: method, path, posted form, status, page.
    fn recording(entries: &[(&str, &str, &str, u16, &str)]) -> BrowserRecording {
        let entry = |(number, (method, path, form, status, page)): (usize, &(&str, &str, &str, u16, &str))| {
            let posted = if form.is_empty() {
                String::new()
            } else {
                format!(r#","postData":{{"mimeType":"application/x-www-form-urlencoded","text":{}}}"#, quoted(form))
            };
            format!(
                r#"{{"startedDateTime":"2026-01-01T10:00:{number:02}Z","request":{{"method":"{method}","url":"https://a.example{path}","headers":[]{posted}}},"response":{{"status":{status},"content":{{"mimeType":"text/html","text":{}}}}}}}"#,
                quoted(page)
            )
        };
        let entries: Vec<String> = entries.iter().enumerate().map(entry).collect();
        BrowserRecording::read(format!(r#"{{"log":{{"entries":[{}]}}}}"#, entries.join(",")).as_bytes()).unwrap()
    }

    #[test]
    fn a_sign_in_is_found_with_its_token_and_without_its_account() {
        let page =
            r#"<form method=post><input type="hidden" name="_csrf[t]" value="0123456789abcdef0"><input name=email>"#;
        let form = "_csrf%5Bt%5D=0123456789abcdef0&email=ann%40a.example&password=hunter2&go=1%24";
        let found = SignIn::of(&recording(&[
            ("GET", "/", "", 200, "home"),
            ("GET", "/login?a=$1", "", 200, page),
            ("POST", "/login", form, 302, ""),
            ("GET", "/account", "", 200, "Hello ann@a.example"),
            ("GET", "/style.css", "", 200, ""),
            ("GET", "/list", "", 200, "things"),
            ("GET", "/logout", "", 200, "bye"),
        ]))
        .unwrap();
        assert_eq!(
            (&*found.form, &found.tokens[..], found.shows_user),
            ("/login?a=$1", &["_csrf[t]".to_owned()][..], true)
        );
        assert_eq!(
            found.variables,
            ["STAMPEDE_USER_1", "STAMPEDE_PASSWORD_1", "STAMPEDE_USER_2", "STAMPEDE_PASSWORD_2"]
        );
        for secret in ["hunter2", "ann", "0123456789abcdef0", "logout"] {
            assert!(!found.scenario.contains(secret), "{secret}: {}", found.scenario);
        }
        for line in [
            r#"path: "/login?a=$$1""#,
            r#"capture: {token: {regex: "name=[\"']_csrf\\[t\\][\"'][^>]*?value=[\"']([^\"']+)[\"']"}}"#,
            "when: token",
            r#"form: {"_csrf[t]": "${token}", "email": "${accounts.user}", "password": "${accounts.password}", "go": "1$$"}"#,
            "check: {status: 302}",
            r#"path: "${location}""#,
            r#"check: {status: 200, contains: "${accounts.user}"}"#,
            r#"when: "!location""#,
            r#"path: "/list""#,
        ] {
            assert!(found.scenario.contains(line), "{line}: {}", found.scenario);
        }
    }

    #[test]
    fn a_sign_in_that_was_refused_is_not_taken_and_is_told() {
        let page = "<form><input name=email><input type=\"password\" name=password></form>";
        let form = "email=ann&password=x";
        for (name, tried, found, failed) in [
            ("an error", vec![(500, "")], None, Some(500)),
            ("a token that was too old", vec![(419, "")], None, Some(419)),
            ("the form once more", vec![(200, page)], None, Some(200)),
            ("refused, then taken", vec![(422, page), (302, "")], Some(302), None),
            ("a page of its own", vec![(200, "welcome")], Some(200), None),
            ("none", vec![], None, None),
        ] {
            let posts = tried.into_iter().map(|(status, page)| ("POST", "/login", form, status, page));
            let steps: Vec<_> = std::iter::once(("GET", "/login", "", 200, page)).chain(posts).collect();
            let recording = recording(&steps);
            let status = SignIn::of(&recording).map(|found| found.scenario);
            let check = |status: u16| format!("check: {{status: {status}}}");
            assert_eq!(status.is_some(), found.is_some(), "{name}");
            assert!(status.zip(found).is_none_or(|(text, status)| text.contains(&check(status))), "{name}");
            assert_eq!(SignIn::failed(&recording), failed.map(|status| ("/login", status)), "{name}");
        }
    }

    #[test]
    fn where_a_token_stands_is_told_by_the_page_or_by_its_name() {
        let of = |page: &str, name: &str| {
            let form = format!("{name}=0123456789abcdef0&user=a&pass=b");
            let steps = [("GET", "/", "", 200, page), ("POST", "/in", &*form, 200, "")];
            SignIn::of(&recording(&steps)).map(|found| (found.tokens.join(","), found.scenario))
        };
        let (tokens, scenario) = of("<form><input value='0123456789abcdef0' type=hidden name='t'>", "t").unwrap();
        assert_eq!(tokens, "t");
        assert!(scenario.contains(r#""value=[\"']([^\"']+)[\"'][^>]*?name=[\"']t[\"']""#), "{scenario}");
        assert_eq!(of("<form>", "t").unwrap().0, "");
        assert_eq!(of("", "csrf_token").unwrap().0, "csrf_token", "a recording without pages");
        let without = recording(&[("GET", "/", "", 200, ""), ("POST", "/search", "q=1", 200, "")]);
        assert_eq!(SignIn::of(&without), None);
    }
}
