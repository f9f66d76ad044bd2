use std::fs;

use stampede_core::{AppKind, Body};

use super::*;

fn folder(yaml: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("php")).unwrap();
    fs::write(folder.path().join("php/index.php"), "<?php").unwrap();
    fs::create_dir(folder.path().join("php/public")).unwrap();
    fs::write(folder.path().join("php/public/index.php"), "<?php").unwrap();
    fs::write(folder.path().join("php/go.mod"), "module m/n\n\ngo 1.19\n").unwrap();
    fs::write(folder.path().join("workload.yaml"), yaml).unwrap();
    folder
}

/// What is wrong with a workload; `w` is its file.
fn mistakes(yaml: &str) -> Vec<String> {
    let folder = folder(yaml);
    let file = folder.path().join(WORKLOAD_FILE).display().to_string();
    let Err(Mistakes(mistakes)) = read(folder.path()) else { return Vec::new() };
    mistakes.iter().map(|mistake| mistake.to_string().replace(&file, "w")).collect()
}

#[test]
fn all_mistakes_of_a_workload_are_told_at_once() {
    let apps = "title: t\n\
        apps: [{kind: front-controller, dir: php}, {kind: go-program, dir: nowhere, handler: h.php},\n\
        {kind: php-function, dir: php, script: none.php}, {kind: symfony, dir: php, kernel: 'a b'},\n\
        {name: a/b, kind: go-program, dir: php, ini: {memory_limit: '1; x'}, prepare: [[]]},\n\
        {kind: scripts, dir: php, index: index.php, root: none, deny: [a b]}]\n";
    let of_apps = [
        "w:2:8 apps[0] is a front-controller without index; add index: public/index.php",
        "w:2:68 apps[1].dir nowhere is no folder; correct it; it begins at the folder of this file",
        "w:2:86 apps[1].handler h.php is no key of a go-program; remove it",
        "w:3:40 apps[2].script none.php is no file in php; correct it",
        "w:3:1 apps[2] is a php-function without function; add function: hello",
        "w:3:85 apps[3].kernel a b names no class; for example kernel: App\\Kernel",
        "w:3:51 apps[3] needs the file vendor/autoload.php, which is not in php; add it, or correct dir or kind",
        "w:4:8 apps[4].name a/b is no name of an app; use letters, digits and -",
        "w:4:61 apps[4].ini.memory_limit 1; x has characters that mean something else in php.ini; use letters, digits \
         and _ . - / only",
        "w:4:80 apps[4].prepare[0] is an empty command; remove it",
        "w:5:51 apps[5].root none names the public folder none, which is not there; correct root",
        "w:5:64 apps[5].deny[0] a b denies \"a b\"; write a folder (application/), an ending (*.yml) or a file name \
         (composer.json)",
    ];
    let requests = "requests:\n\
        - {name: a, path: x, body: a, body_file: b, expect: {status: 99, body_file: none.txt}}\n\
        - {name: b, path: /, expect: {status: 200}}\n\
        - {name: b, path: /, expect: {status: 200, any_body: true, body: c}}\n\
        - {name: d, path: /, expect: {status: 200, body: d, encoding: gzip, mask: x}}\n\
        - {name: e, load: true, optional: true, path: /, expect: {status: 200, body: e}}\n\
        - {name: f, path: /, expect: {status: 200, json_html: {field: f, file: g.html}}}\n";
    let of_requests = [
        "w:7:3 requests[0] has body and body_file; keep one of them",
        "w:7:19 requests[0].path x does not begin with /; write /x",
        "w:7:62 requests[0].expect.status 99 is no status; expect a status from 100 to 599",
        "w:7:77 requests[0].expect.body_file none.txt cannot be read: No such file or directory (os error 2); correct the path",
        "w:8:30 requests[1].expect has no body; add body, body_file or json_html (body: '' if it is empty), or any_body: true",
        "w:9:30 requests[2].expect has body and any_body; keep one of them",
        "w:9:3 requests[2] has the name of another request, b; give each a name of its own",
        "w:10:75 requests[3].expect.mask x is not in the body; write it in the body where the answer varies, or remove it",
        "w:10:63 requests[3].expect.encoding gzip is not accepted by the request; add headers: {Accept-Encoding: gzip}, \
         or remove encoding",
        "w:11:19 requests[4].load true stands beside optional: true; remove load or optional",
        "w:12:72 requests[5].expect.json_html.file g.html cannot be read: No such file or directory (os error 2); \
         correct the path",
    ];
    assert_eq!(mistakes(&format!("{apps}{requests}")), [&of_apps[..], &of_requests].concat());
}

#[test]
fn all_that_does_not_fit_a_workload_is_told_at_once() {
    let begin = "begin with title: My API, apps: and requests:";
    for (what, yaml, told) in [
        ("an empty file", "", vec![format!("w:1:1 is empty; {begin}")]),
        ("a list", "[a]", vec![format!("w:1:1 is not a workload; {begin}")]),
        (
            "unknown and missing keys",
            "speed: 11\napps: [{dir: ., requests: []}]\nrequests: [{name: a, pth: /}]\nservices: {memcached: {}}\nafter: [{}]\n",
            [
                "w:1:1 has no title; add title: My API",
                "w:1:1 speed is not known; use after, apps, cookies, exchanges, generate, requests, scenario, services, title",
                "w:2:8 apps[0] has no kind; add kind: front-controller",
                "w:2:17 apps[0].requests is not known; use autoload, binary, command, deny, dir, env, extensions, \
                 fallback, function, handler, host, index, ini, kernel, kind, name, needs, package, prepare, root, scheme, script, \
                 static, worker",
                "w:3:12 requests[0] has no path; add path: /",
                "w:3:12 requests[0] has no expect; add expect: {status: 200, body: hello}",
                "w:3:22 requests[0].pth is not known; did you mean path?",
                "w:4:12 services.memcached is not known; use mariadb, postgres, redis",
                "w:5:9 after[0] has no name; add name: people",
                "w:5:9 after[0] has no answers; add answers: {step: create/create, status: 201}",
            ]
            .map(str::to_owned)
            .to_vec(),
        ),
        (
            "values of another type",
            "title: [a]\napps: [{kind: symfoni, dir: .}]\nrequests: [{path: /, once: 3, expect: 200}]\n",
            [
                "w:1:8 title is a list where one value must be; for example title: My API",
                "w:2:15 apps[0].kind symfoni is not known; did you mean symfony?",
                "w:3:28 requests[0].once 3 is a number where true or false must be; give it true or false",
                "w:3:39 requests[0].expect 200 is a number where keys with values must be; for example expect: {status: \
                 200, body: hello}",
            ]
            .map(str::to_owned)
            .to_vec(),
        ),
    ] {
        assert_eq!(mistakes(yaml), told, "{what}");
    }
}

/// Files that were written before `requests` mean what they meant.
#[test]
fn exchanges_are_the_older_form_of_requests() {
    let app = "title: t\napps: [{kind: go-program, dir: php}]\n";
    let older = format!(
        "{app}exchanges:\n\
         - {{name: a, load: true, request: {{method: GET, path: /, headers: {{A: b}}}}, expect: {{status: 200, body: a}}}}\n\
         - {{name: b, request: {{method: POST, path: /b, body: '1'}}, expect: {{status: 404, any_body: true}}}}\n"
    );
    let newer = format!(
        "{app}requests:\n\
         - {{name: a, path: /, headers: {{A: b}}, expect: {{status: 200, body: a}}}}\n\
         - {{name: b, load: false, path: /b, body: 1, expect: {{status: 404, any_body: true}}}}\n"
    );
    let exchanges = |yaml: &str| read(folder(yaml).path()).unwrap().exchanges;
    assert_eq!(exchanges(&older), exchanges(&newer));
    assert_eq!(
        mistakes(&older.replace("path: /b", "path: b").replace("load: true", "load: false")),
        [
            "w:5:43 exchanges[1].request.path b does not begin with /; write /b",
            "w:4:3 exchanges has no request for the load; write load: true in at least one"
        ]
    );
    assert_eq!(
        mistakes(&format!("{older}{}", newer.replace(app, ""))),
        ["w:4:3 exchanges stands beside requests; move them to requests, with the keys of request beside name, and \
          load: false where load is missing"]
    );
}

#[test]
fn every_documented_workload_fits() {
    let text = include_str!("../../../../docs/workloads.md");
    let blocks = text.split("```yaml\ntitle: ").skip(1).filter_map(|rest| rest.split("```").next());
    let mistakes = blocks.map(|block| parse(&format!("title: {block}"), "docs/workloads.md").err()).collect::<Vec<_>>();
    assert_eq!(mistakes, [None, None]);
}

#[test]
fn the_published_schema_is_that_of_these_types() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/workload.schema.json");
    let published = fs::read_to_string(file).unwrap_or_default();
    assert!(published == schema(), "run: stampede show schema workload > docs/workload.schema.json");
}

#[test]
fn what_is_sent_once_is_not_part_of_the_load() {
    let text = |more: &str| {
        format!(
            "title: t\napps: [{{kind: go-program, dir: php}}]\nrequests:\n\
             - {{name: a, path: /, expect: {{status: 200, body: ''}}}}\n\
             - {{name: b, once: true{more}, method: POST, path: /, expect: {{status: 201, body: ''}}}}\n"
        )
    };
    let workload = read(folder(&text("")).path()).unwrap();
    assert_eq!(workload.exchanges.iter().map(|exchange| exchange.once).collect::<Vec<_>>(), [false, true]);
    assert_eq!(workload.load_mix().count(), 1);
    let error = read(folder(&text(", load: true")).path()).unwrap_err().to_string();
    assert!(error.contains("requests[1].load true stands beside once: true"), "{error}");
}

#[test]
fn each_kind_of_application_is_read() {
    let exchanges = "requests: [{name: a, path: /, expect: {status: 200, body: ''}}]\n";
    let php = PathBuf::from("index.php");
    for (entry, kind) in [
        ("{kind: front-controller, dir: php, index: index.php}", AppKind::FrontController { index: php.clone() }),
        ("{kind: psr-15-handler, dir: php, handler: index.php}", AppKind::Psr15Handler { handler: php.clone() }),
        (
            "{kind: symfony, dir: php, autoload: index.php}",
            AppKind::Symfony { kernel: "App\\Kernel".to_owned(), autoload: php.clone() },
        ),
        ("{kind: laravel, dir: php, autoload: index.php}", AppKind::Laravel { autoload: php.clone() }),
        (
            "{kind: php-function, dir: php, script: index.php, function: hello}",
            AppKind::PhpFunction { script: php.clone(), function: "hello".to_owned() },
        ),
        (
            "{kind: embedded-php, dir: php, binary: index.php, index: public/a.php, worker: w.php}",
            AppKind::EmbeddedPhp { binary: php, index: "public/a.php".into(), worker: Some("w.php".into()) },
        ),
        ("{kind: go-program, dir: php}", AppKind::GoProgram),
        (
            "{kind: go-function, dir: php, package: api, function: Serve}",
            AppKind::GoFunction {
                module: "m/n".to_owned(),
                package: "m/n/api".to_owned(),
                function: "Serve".to_owned(),
            },
        ),
    ] {
        let folder = folder(&format!("title: t\napps: [{entry}]\n{exchanges}"));
        assert_eq!(read(folder.path()).unwrap().apps[0].kind, kind);
    }
}

#[test]
fn a_scenario_stands_in_place_of_requests_marked_as_load() {
    let exchanges =
        |load: bool| format!("requests: [{{name: a, load: {load}, path: /, expect: {{status: 200, body: ''}}}}]\n");
    let apps = "title: t\napps: [{kind: go-program, dir: php}]\n";
    let after = "after: [{name: n, answers: {step: s, status: 201}, path: /n}]\n";
    let query = "after: [{name: n, answers: {step: s, status: 201}, query: {service: mariadb, sql: S}}]\n";
    for (yaml, told) in [
        (format!("{apps}{}scenario: s.yaml\n{after}", exchanges(false)), None),
        (
            format!("{apps}{}scenario: s.yaml\n", exchanges(true)),
            Some("requests[0].load true stands beside a scenario"),
        ),
        (format!("{apps}scenario: s.yaml\n"), Some("w:1:1 has no request that may be sent again")),
        (
            format!("{apps}{}scenario: s.yaml\n", exchanges(false).replace("load: false", "once: true")),
            Some("requests has no request that may be sent again"),
        ),
        (format!("{apps}{}{after}", exchanges(true)), Some("after stands without a scenario")),
        (format!("{apps}{}generate: [a]\n", exchanges(true)), Some("generate stands without a scenario")),
        (
            format!("{apps}{}scenario: s.yaml\n{query}", exchanges(false)),
            Some("after[0].query.service mariadb is not among its services; add services: {mariadb: {}}"),
        ),
        (
            format!("{apps}{}scenario: s.yaml\n{}", exchanges(false), after.replace(", path: /n", "")),
            Some("after[0] does not say who counts n"),
        ),
    ] {
        let mistakes = mistakes(&yaml).join("\n");
        match told {
            None => assert_eq!(mistakes, "", "{yaml}"),
            Some(told) => assert!(mistakes.contains(told), "{told}: {mistakes}\n{yaml}"),
        }
    }
}

#[test]
fn readiness_is_asked_for_by_what_may_be_sent_again() {
    let folder = folder(
        "title: t\napps: [{kind: go-program, dir: php}]\nscenario: s.yaml\nrequests:\n\
         - {name: a, once: true, method: POST, path: /a, expect: {status: 201, body: ''}}\n\
         - {name: b, path: /b, expect: {status: 200, body: ''}}\n",
    );
    let workload = read(folder.path()).unwrap();
    assert_eq!(workload.first_request().map(|request| request.path.as_str()), Some("/b"));
}

#[test]
fn a_workload_needs_a_request_for_the_load() {
    let app = "title: t\napps: [{kind: go-program, dir: php}]\n";
    let request = "requests: [{path: /, load: false, expect: {status: 200, body: ''}}]\n";
    for (yaml, told) in [
        (app, "w:1:1 has no request for the load; add requests: [{path: /, expect: {status: 200, body: hello}}]"),
        (&format!("{app}{request}"), "w:3:11 requests has no request for the load; write load: true in at least one"),
    ] {
        assert_eq!(mistakes(yaml), [told]);
    }
}

#[test]
fn a_complete_workload_is_read() {
    let folder = folder(
        "title: t\n\
         apps: [{kind: front-controller, dir: php, index: index.php, extensions: [mbstring]}]\n\
         requests:\n\
         - {name: a, path: /, expect: {status: 200, body: hi}}\n\
         - {name: b, optional: true, path: /, headers: {accept-encoding: gzip},\
            expect: {status: 200, any_body: true, encoding: gzip}}\n",
    );
    let workload = read(folder.path()).unwrap();
    assert_eq!(
        workload.exchanges.iter().map(|it| (it.optional, it.expect.gzip)).collect::<Vec<_>>(),
        [(false, false), (true, true)]
    );
    assert_eq!(workload.exchanges[1].expect.body, Body::Any);
    assert_eq!(workload.load_mix().map(|exchange| exchange.name.as_str()).collect::<Vec<_>>(), ["a"]);
    assert_eq!(workload.exchanges[0].expect.body, Body::Bytes(b"hi".to_vec()));
    assert_eq!(workload.apps[0].extensions, ["mbstring"]);
}

#[test]
fn what_an_autoloader_asks_for_is_given_to_every_runtime() {
    let folder = folder(
        "title: t\n\
         apps: [{kind: front-controller, dir: php, index: index.php}]\n\
         requests:\n\
         - {name: a, path: /, expect: {status: 200, body: hi}}\n",
    );
    let extensions = || read(folder.path()).unwrap().apps[0].extensions.clone();
    assert!(extensions().is_empty());
    fs::create_dir_all(folder.path().join("php/vendor/workerman/webman-framework")).unwrap();
    assert_eq!(extensions(), ["phar"]);
}
