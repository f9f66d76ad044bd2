//! Which of a workload's requests make up its load: `--exchanges update`.

use stampede_core::{Exchange, Workload};

use crate::listed::Listed;
use crate::mistake::Gathered;
use crate::suggestion::suggest;

/// Makes the exchanges that were named the load; without names, the workload says itself which do. What is optional and was not
/// named is left out. Visitors keep their cookies where the workload or `cookies` says so.
pub(crate) fn choose(asked: Option<&[Listed]>, cookies: bool, workload: &mut Workload, mistakes: &mut Gathered) {
    name_load(asked, workload, mistakes);
    keep_cookies(cookies, workload, mistakes);
    workload.exchanges.retain(|exchange| exchange.in_load() || !exchange.optional);
}

fn keep_cookies(typed: bool, workload: &mut Workload, mistakes: &mut Gathered) {
    let place = if typed { "--cookies" } else { "cookies: true" };
    workload.cookies |= typed;
    if !workload.cookies {
        return;
    }
    if workload.play.is_some() {
        let problem = format!("stands beside the scenario of {}", workload.id);
        mistakes.add(place, problem, "leave it out, and write cookies: true in the flows of the scenario");
    }
    let has_own =
        |exchange: &&Exchange| exchange.request.headers.keys().any(|name| name.eq_ignore_ascii_case("cookie"));
    for exchange in workload.load_mix().filter(has_own) {
        let problem =
            format!("stands beside the header Cookie of {}, which is the same for all visitors", exchange.name);
        mistakes.add(place, problem, "leave one of them out");
    }
}

fn name_load(asked: Option<&[Listed]>, workload: &mut Workload, mistakes: &mut Gathered) {
    let Some(asked) = asked else { return };
    if workload.play.is_some() {
        for Listed { place, .. } in asked {
            mistakes.add(place, format!("stands beside the scenario of {}", workload.id), "leave it out");
        }
        return;
    }
    let repeated =
        || workload.exchanges.iter().filter(|exchange| !exchange.once).map(|exchange| exchange.name.as_str());
    for Listed { value: name, place } in asked {
        match workload.exchanges.iter().find(|exchange| exchange.name == *name) {
            Some(exchange) if exchange.once => {
                let fix = format!("leave it out, or use {}", repeated().collect::<Vec<_>>().join(", "));
                mistakes.add(place, "is sent once, and load sends it again and again", fix);
            }
            Some(_) => {}
            None => {
                let fix = suggest(name, repeated().collect::<Vec<_>>());
                mistakes.add(place, format!("is no exchange of {}", workload.id), fix);
            }
        }
    }
    for exchange in &mut workload.exchanges {
        let is_asked = asked.iter().any(|asked| asked.value == exchange.name);
        exchange.weight = if is_asked { exchange.weight.max(1) } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use stampede_core::{Body, Exchange, Expectation, Request, WorkloadId};

    use super::*;

    fn exchange(name: &str, once: bool) -> Exchange {
        let request =
            Request { method: "GET".to_owned(), path: "/".to_owned(), headers: Default::default(), body: Vec::new() };
        let expect = Expectation { status: 200, body: Body::Any, gzip: false, head: Default::default() };
        Exchange { name: name.to_owned(), request, expect, weight: u32::from(!once), once, optional: false }
    }

    #[test]
    fn the_load_is_what_was_named_and_may_be_sent_again() {
        for (asked, expected) in [
            (None, Ok("list")),
            (Some("search"), Ok("search")),
            (Some("packed"), Ok("packed")),
            (Some("serch"), Err("--exchanges is no exchange of shop; did you mean search?")),
            (Some("creat"), Err("--exchanges is no exchange of shop; use list, search, packed")),
            (
                Some("create"),
                Err(
                    "--exchanges is sent once, and load sends it again and again; leave it out, or use list, search, packed",
                ),
            ),
        ] {
            let search = Exchange { weight: 0, ..exchange("search", false) };
            let packed = Exchange { weight: 0, optional: true, ..exchange("packed", false) };
            let mut workload = Workload {
                id: WorkloadId::new("shop"),
                title: String::new(),
                apps: Vec::new(),
                exchanges: vec![exchange("create", true), exchange("list", false), search, packed],
                cookies: false,
                services: Vec::new(),
                play: None,
                audits: Vec::new(),
            };
            let listed = asked.map(|name| [Listed { value: name.to_owned(), place: "--exchanges".to_owned() }]);
            let mut mistakes = Gathered::default();
            choose(listed.as_ref().map(|listed| &listed[..]), false, &mut workload, &mut mistakes);
            let has_packed = workload.exchanges.iter().any(|exchange| exchange.optional);
            assert_eq!(has_packed, asked == Some("packed"), "{asked:?}");
            let load = workload.load_mix().map(|exchange| exchange.name.as_str()).collect::<Vec<_>>().join(",");
            let chosen = mistakes.finish(Ok(load)).map_err(|mistakes| mistakes.to_string());
            assert_eq!(chosen, expected.map(str::to_owned).map_err(str::to_owned), "{asked:?}");
        }
    }

    #[test]
    fn cookies_are_kept_where_the_workload_or_the_flag_says_so_and_no_request_has_its_own() {
        let with_cookie = || {
            let mut own = exchange("own", false);
            own.request.headers.insert("cookie".to_owned(), "a=b".to_owned());
            own
        };
        for (name, typed, written, exchanges, expected) in [
            ("neither", false, false, vec![with_cookie()], Ok(false)),
            ("the flag", true, false, vec![exchange("list", false)], Ok(true)),
            ("the file", false, true, vec![exchange("list", false)], Ok(true)),
            (
                "one is verified only",
                true,
                false,
                vec![exchange("list", false), Exchange { weight: 0, ..with_cookie() }],
                Ok(true),
            ),
            (
                "one has its own",
                true,
                false,
                vec![with_cookie()],
                Err("--cookies stands beside the header Cookie of own"),
            ),
        ] {
            let mut workload = Workload {
                id: WorkloadId::new("shop"),
                title: String::new(),
                apps: Vec::new(),
                exchanges,
                cookies: written,
                services: Vec::new(),
                play: None,
                audits: Vec::new(),
            };
            let mut mistakes = Gathered::default();
            choose(None, typed, &mut workload, &mut mistakes);
            let told = mistakes.finish(Ok(workload.cookies)).map_err(|mistakes| mistakes.to_string());
            match (told, expected) {
                (Ok(told), expected) => assert_eq!(Ok(told), expected, "{name}"),
                (Err(told), expected) => assert!(told.contains(expected.unwrap_err()), "{name}: {told}"),
            }
        }
    }
}
