//! Requests that people have: how `init` reads them, and the plan that comes of it.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use stampede_core::{Answer, Request};
use stampede_testkit::FakeLifetime;

use super::made_up::{BODY, MadeUp};

/// A shop that has all pages but those below `/gone`, and echoes what it is sent.
fn shop() -> MadeUp {
    MadeUp::new(|_| {
        let answer = |request: &Request| {
            let is_gone = request.path.starts_with("/gone");
            let Request { method, path, headers, body } = request;
            let accept = headers.get("Accept").map_or("anything", String::as_str);
            let body = format!("{method} {path} as {accept}: {}", String::from_utf8_lossy(body));
            let headers = vec![("Content-Type".to_owned(), "text/plain".to_owned())];
            Answer { status: if is_gone { 404 } else { 200 }, headers, body: body.into_bytes() }
        };
        FakeLifetime { answer: Arc::new(answer), ..FakeLifetime::serving(BODY, 1000.0) }
    })
}

fn write(machine: &MadeUp, name: &str, text: &str) -> String {
    let path = machine.path(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn plan_of(app: &str) -> String {
    fs::read_to_string(Path::new(app).join("stampede.yaml")).unwrap()
}

/// The names and weights of a plan's requests.
fn requests(plan: &str) -> Vec<String> {
    let lines = plan.lines().map(str::trim);
    let told = lines.filter_map(|line| line.strip_prefix("- name: ").or_else(|| line.strip_prefix("weight: ")));
    told.map(|told| told.trim_matches('"').to_owned()).collect()
}

#[test]
fn a_log_is_a_mix_by_frequency_and_what_does_not_answer_is_left_out() {
    let machine = shop();
    let app = machine.application("shop");
    let line = |request: &str, status: u16, agent: &str, times: usize| {
        let line =
            format!("192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] \"{request} HTTP/1.1\" {status} 5 \"-\" \"{agent}\"\n");
        line.repeat(times)
    };
    let log = [
        line("GET /list?page=2", 200, "Firefox", 6),
        line("GET /", 200, "Firefox", 9),
        line("GET /gone", 200, "Firefox", 4),
        line("GET /style.css", 200, "Firefox", 50),
        line("GET /", 200, "Googlebot", 50),
        line("POST /buy", 200, "Firefox", 3),
        line("GET /rare", 200, "Firefox", 1),
        "nonsense\n".to_owned(),
    ];
    let log = write(&machine, "access.log", &log.concat());
    let said = machine.run(&["init", &app, "--access-log", &log, "--most", "3"]);
    assert_eq!(said.code, 0, "{said:?}");
    let plan = plan_of(&app);
    assert_eq!(requests(&plan), ["GET /", "9", "GET /list?page=2", "6"], "{plan}");
    for part in [
        "lines: 124; requests of pages: 20",
        "left out: 50 of files, 50 by robots, 3 that may change something (POST, ...)",
        "1 line is no request: 124",
        "busiest minute: 2000-10-10T13:55:00Z, 123 requests of any kind (2.0 a second: --load open:2.0)",
        "3 different requests are taken, 95 % of 20 pages (--most takes more)",
        "GET /gone is left out: GET /gone answers 404 Not Found",
    ] {
        assert!(said.words().contains(part), "{part}\n{}", said.stderr);
    }
    let flags = ["--runtimes", "nginx-fpm", "--rounds", "1", "--no-yard-stick", "--json", "-"];
    let said = machine.run(&[&["compare", &app][..], &flags].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let said = machine.run(&["init", &app, "--access-log", &log, "--replay", "x2", "--force"]);
    assert_eq!(said.code, 0, "{said:?}");
    // Twenty pages in a minute are twenty in half of one.
    assert!(plan_of(&app).contains("\nload: \"open:0.667/30s\"\n"), "{}", plan_of(&app));
    assert!(
        said.words().contains("the load plays 20 pages in 0.5 minutes, x2 from 2000-10-10T13:55:00Z on"),
        "{said:?}"
    );
}

#[test]
fn a_list_of_addresses_keeps_its_order_and_a_mistake_is_named_with_its_line() {
    let machine = shop();
    let app = machine.application("shop");
    let list = write(&machine, "urls.txt", "# ours\n/b\nhttps://shop.example/a?x=%20y\n/b\n");
    let said = machine.run(&["init", &app, "--urls", &list]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(requests(&plan_of(&app)), ["GET /b", "2", "GET /a?x=%20y"]);
    let list = write(&machine, "urls.txt", "/b\nget me\n");
    let said = machine.run(&["init", &app, "--urls", &list, "--force"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.words().contains("line 2: get me is no address; write /path"), "{}", said.stderr);
}

#[test]
fn a_page_whose_rows_come_in_another_order_elsewhere_is_left_out() {
    let machine = MadeUp::new(|launch| {
        let is_first = launch.deployment.units.iter().any(|unit| unit.id.as_str() == "nginx");
        let answer = move |request: &Request| {
            let rows = if is_first { ["<li>one\n", "<li>two\n"] } else { ["<li>two\n", "<li>one\n"] };
            let body = if request.path == "/news" { rows.concat() } else { format!("page {}", request.path) };
            Answer { status: 200, headers: Vec::new(), body: body.into_bytes() }
        };
        FakeLifetime { answer: Arc::new(answer), ..FakeLifetime::serving(BODY, 1000.0) }
    });
    let app = machine.application("shop");
    let list = write(&machine, "urls.txt", "/a\n/news\n/b\n");
    let said = machine.run(&["init", &app, "--urls", &list]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(requests(&plan_of(&app)), ["GET /a", "GET /b"]);
    let part = "GET /news is left out: ";
    assert!(said.words().contains(part) && said.words().contains("add a unique column to its ORDER BY"), "{said:?}");
    // Where there is no other page, it stays, and is named.
    let list = write(&machine, "urls.txt", "/news\n");
    let said = machine.run(&["init", &app, "--urls", &list, "--force"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(requests(&plan_of(&app)), ["GET /news"]);
    assert!(said.words().contains("GET /news has no fixed order: "), "{said:?}");
}

#[test]
fn a_curl_line_is_sent_without_its_secrets() {
    let machine = shop();
    let app = machine.application("shop");
    let line = "curl 'https://shop.example/api' -H 'Accept: application/json' -H 'Cookie: session=s3cr3t' --data-raw '{\"q\":1}'";
    let said = machine.run(&["init", &app, "--curl", line, "--curl", "curl http://shop.example/"]);
    assert_eq!(said.code, 0, "{said:?}");
    let plan = plan_of(&app);
    assert_eq!(requests(&plan), ["POST /api", "GET /"], "{plan}");
    assert!(
        plan.contains("body: \"{\\\"q\\\":1}\"")
            && plan.contains("Accept: application/json")
            && !plan.contains("s3cr3t"),
        "{plan}"
    );
    assert!(said.words().contains("left out, since a plan holds no secrets: Cookie"), "{}", said.stderr);
    let flags = ["--runtimes", "nginx-fpm", "--rounds", "1", "--no-yard-stick", "--json", "-"];
    let said = machine.run(&[&["compare", &app][..], &flags].concat());
    assert_eq!(said.code, 0, "{said:?}");
}

#[test]
fn the_pages_of_a_visit_are_taken_and_what_changes_something_is_named() {
    let machine = shop();
    let app = machine.application("shop");
    let entry = |second: u32, method: &str, url: &str| {
        format!(
            r#"{{"startedDateTime":"2026-01-01T10:00:0{second}Z","time":1,"request":{{"method":"{method}","url":"{url}","headers":[]}},"response":{{"status":200}}}}"#
        )
    };
    let entries = [
        entry(0, "GET", "https://shop.example/"),
        entry(1, "GET", "https://shop.example/app.js"),
        entry(2, "GET", "https://cdn.example/x"),
        entry(3, "POST", "https://shop.example/login"),
        entry(4, "GET", "https://shop.example/account"),
    ];
    let har = write(&machine, "visit.har", &format!(r#"{{"log":{{"entries":[{}]}}}}"#, entries.join(",")));
    let said = machine.run(&["init", &app, "--har", &har]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(requests(&plan_of(&app)), ["GET /", "GET /account"]);
    for part in [
        "2 pages of shop.example; 2 other requests are left out",
        "POST /login",
        "other sites are left out: cdn.example",
    ] {
        assert!(said.words().contains(part), "{part}\n{}", said.stderr);
    }
}

#[test]
fn a_site_is_walked_over_from_its_first_page() {
    let pages = |request: &Request| {
        let (status, kind, body) = match &*request.path {
            "/robots.txt" => (200, "text/plain", "User-agent: *\nDisallow: /admin\n"),
            "/" => (
                200,
                "text/html",
                "<link rel=stylesheet href=/a.css><a href='/list?page=2'>l</a><a href=/admin>a</a><a href=/logout>o</a>\
                 <a href=/gone>g</a><a href=https://elsewhere.example/>e</a><a href=/account>mine</a>",
            ),
            "/a.css" => (200, "text/css", "a{}"),
            "/list?page=2" => (200, "text/html", "<a href=/>home</a><a href=/about>about</a>"),
            "/about" => (200, "text/html", "about"),
            _ => (404, "text/plain", "gone"),
        };
        let mut headers = vec![("Content-Type".to_owned(), kind.to_owned())];
        let is_private = request.path == "/account";
        headers.extend(is_private.then(|| ("Location".to_owned(), "/login".to_owned())));
        Answer { status: if is_private { 302 } else { status }, headers, body: body.as_bytes().to_vec() }
    };
    let machine = MadeUp::new(move |_| FakeLifetime { answer: Arc::new(pages), ..FakeLifetime::serving(BODY, 1000.0) });
    let app = machine.application("shop");
    let said = machine.run(&["init", &app, "--crawl", "30"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(requests(&plan_of(&app)), ["GET /", "GET /a.css", "GET /list?page=2", "GET /about"]);
    for part in [
        "4 requests are taken of 7 addresses that were asked, all that was found",
        "pages link to what fails: /gone (404), /login (404)",
        "not asked, since robots.txt disallows it: /admin",
        "not asked, since it ends a session: /logout",
        "other sites are not asked: elsewhere.example",
    ] {
        assert!(said.words().contains(part), "{part}\n{}", said.stderr);
    }
    let said = machine.run(&["init", &app, "--crawl", "2", "--force"]);
    assert_eq!(requests(&plan_of(&app)), ["GET /", "GET /a.css"]);
    assert!(
        said.words().contains("2 requests are taken of 2 addresses that were asked (a larger --crawl"),
        "{}",
        said.stderr
    );
    assert_eq!(machine.run(&["init", &app, "--crawl", "0", "--force"]).code, 2);
    let broken = shop().then(|_| FakeLifetime {
        answer: Arc::new(|_| Answer { status: 500, headers: Vec::new(), body: b"broken".to_vec() }),
        ..FakeLifetime::serving(BODY, 1000.0)
    });
    let app = broken.application("broken");
    let said = broken.run(&["init", &app, "--crawl", "30"]);
    assert!(said.code == 5 && said.words().contains("500 Internal Server Error; fix that first"), "{said:?}");
}

#[test]
fn what_cannot_be_read_is_refused_before_anything_is_started() {
    let machine = shop();
    let app = machine.application("shop");
    let assets = "192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] \"GET /a.css HTTP/1.1\" 200 5\n";
    let log = write(&machine, "access.log", assets);
    let har = write(&machine, "visit.har", "{}");
    for (flags, told) in [
        (vec!["--access-log", "/nowhere/access.log"], "/nowhere/access.log cannot be read: No such file"),
        (
            vec!["--access-log", &log],
            "the log has no page that was answered: lines: 1; requests of pages: 0 left out: 1 of files",
        ),
        (vec!["--har", &har], "is no HTTP archive"),
        (vec!["--access-log", &log, "--most", "0"], "--most 0 takes no request; give at least 1"),
        (
            vec!["--access-log", &log, "--replay", "2"],
            "--replay 2 is no speed from x0.1 to x1000; x1 plays a log as it was",
        ),
        (vec!["--curl", "curl -F a=b http://h/"], "--curl --form is not done"),
    ] {
        let said = machine.run(&[&["init", &app][..], &flags].concat());
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.words().contains(told), "{told}\n{}", said.stderr);
    }
    assert_eq!(machine.launches(), 0);
}
