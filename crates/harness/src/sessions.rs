//! Sessions that begin with every answer: what verification sees of them, whose requests bring no cookies of the application.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stampede_core::{Answer, Case, NewSession, Program, SESSION_FOLDERS, ServedAnswer, Workload};
use stampede_seam::{ASK_TIME, LoadExchange, Pause, Running, Scenario, Visit, visitors};

/// The values that each cookie had in the answers to each exchange, and how many answers there were.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    exchanges: BTreeMap<String, (u32, BTreeMap<String, BTreeSet<String>>)>,
}

impl Sessions {
    /// An exchange was answered. Whoever asked brought none of the application's cookies.
    pub(crate) fn answered(&mut self, exchange: &str, answer: &Answer) {
        let set = answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
        let (answers, cookies) = self.exchanges.entry(exchange.to_owned()).or_default();
        *answers += 1;
        for (_, cookie) in set {
            let pair = cookie.split(';').next().unwrap_or_default();
            let Some((name, value)) = pair.split_once('=') else { continue };
            cookies.entry(name.trim().to_owned()).or_default().insert(value.trim().to_owned());
        }
    }

    /// The cookies that every answer to this exchange set to another value: each began a session, or something like it.
    fn begun_by(&self, exchange: &str) -> BTreeSet<String> {
        let Some((answers, cookies)) = self.exchanges.get(exchange) else { return BTreeSet::new() };
        let is_new = |values: &BTreeSet<String>| *answers > 1 && values.len() == *answers as usize;
        cookies.iter().filter(|(_, values)| is_new(values)).map(|(name, _)| name.clone()).collect()
    }

    /// Notes with each answer which session it begins, and how large the files of sessions are.
    pub(crate) async fn tell(&self, running: &dyn Running, answers: &mut [ServedAnswer]) {
        let mut file_bytes = None;
        for answer in answers {
            let cookies = self.begun_by(&answer.exchange);
            if cookies.is_empty() {
                continue;
            }
            if file_bytes.is_none() {
                file_bytes = Some(mean_file(running).await);
            }
            answer.new_session = Some(NewSession { cookies, file_bytes: file_bytes.flatten() });
        }
    }
}

/// The load's requests as visitors send them, where they keep their cookies.
pub(crate) fn visits(workload: &Workload, exchanges: &[LoadExchange], case: &Case) -> Option<Arc<Scenario>> {
    let visits = exchanges.iter().map(|LoadExchange { request, check, weight }| Visit {
        name: format!("{} {}", request.method, request.path),
        request: request.clone(),
        check: check.clone(),
        weight: *weight,
    });
    workload.cookies.then(|| Arc::new(visitors(visits, case.load.clone(), Pause::default())))
}

/// Bytes on disk of a file in the folders of sessions, the mean; nothing where there is none, or nobody to look.
async fn mean_file(running: &dyn Running) -> Option<u64> {
    // Blocks of 512 bytes: `%b` of find (https://www.gnu.org/software/findutils/manual/html_mono/find.html#Size-Directives).
    // Hidden files are a repository's, not sessions: `.gitignore` keeps the folder of a fresh Laravel.
    let look = "find \"$@\" -type f ! -name '.*' -printf '%b\\n' 2>/dev/null | \
                awk '{n++; s+=$1} END {if (n) print int(s*512/n)}'";
    let args = ["-c", look, "sh"].into_iter().chain(SESSION_FOLDERS).map(str::to_owned).collect();
    let program = Program { path: "/bin/sh".to_owned(), args, env: BTreeMap::new() };
    running.ask(&program, ASK_TIME).await.ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(cookies: &[&str]) -> Answer {
        let headers = cookies.iter().map(|cookie| ("Set-Cookie".to_owned(), (*cookie).to_owned())).collect();
        Answer { status: 200, headers, body: Vec::new() }
    }

    #[test]
    fn a_session_begins_where_each_answer_sets_another_value() {
        for (name, answers, begun) in [
            ("none", vec![answer(&[]), answer(&[])], &[][..]),
            ("the same for all", vec![answer(&["lang=en; Path=/"]), answer(&["lang=en"])], &[]),
            ("one answer", vec![answer(&["PHPSESSID=a"])], &[]),
            ("each", vec![answer(&["PHPSESSID=a; path=/"]), answer(&["PHPSESSID=b", "lang=en"])], &["PHPSESSID"]),
            ("not each", vec![answer(&["id=a"]), answer(&["id=b"]), answer(&[])], &[]),
            ("two", vec![answer(&["XSRF-TOKEN=1", "s=2"]), answer(&["XSRF-TOKEN=3", "s=4"])], &["XSRF-TOKEN", "s"]),
        ] {
            let mut sessions = Sessions::default();
            answers.iter().for_each(|answer| sessions.answered("home", answer));
            assert_eq!(sessions.begun_by("home").iter().collect::<Vec<_>>(), begun, "{name}");
            assert!(sessions.begun_by("other").is_empty(), "{name}");
        }
    }
}
