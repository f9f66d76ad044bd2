//! Applications in folders: what is said of them, recorded from them, and refused.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use stampede_core::{Answer, Request};
use stampede_testkit::{Answering, FakeLifetime};

use super::made_up::{BODY, MadeUp, always};

#[test]
fn a_folder_is_looked_at_recorded_and_compared() {
    let machine = MadeUp::new(|_| FakeLifetime::serving(BODY, 1000.0));
    let app = machine.application("shop");
    let more = ["--runtimes", "php-cli-server,nginx-fpm", "--rounds", "1", "--no-yard-stick", "--json", "-"];
    let said = machine.run(&[&["compare", &app][..], &more].concat());
    assert_eq!(said.code, 0, "{said:?}");
    for part in
        ["is a PHP application: front-controller index.php", "recorded on nginx-fpm", "GET /: status 200 OK, 6 bytes"]
    {
        assert!(said.words().contains(part), "{part}\n{}", said.stderr);
    }
    // It was asked on two deployments before it was measured on each runtime.
    assert_eq!(machine.launches(), 4);
    assert_eq!(fs::read_dir(&app).unwrap().count(), 1, "nothing is written where the application is");
}

#[test]
fn an_error_of_the_application_is_refused_with_its_log() {
    for (status, log) in [
        (500, "PHP Fatal error: Uncaught Error: Call to undefined function no_such_function()"),
        (503, "file_put_contents(/srv/other/file): Failed to open stream: Permission denied"),
    ] {
        let machine = MadeUp::new(move |_| FakeLifetime {
            // The front itself is there: what answers so is not waited for.
            answer: if status == 503 { always(501, "no") } else { always(status, "Fatal error") },
            log: vec![log.to_owned()],
            ..FakeLifetime::serving(BODY, 1000.0)
        });
        let app = machine.application("shop");
        let said = machine.run(&["compare", &app, "--runtimes", "php-cli-server", "--no-yard-stick"]);
        assert_eq!(said.code, 5, "{said:?}");
        assert!(said.words().contains("GET / answers 50"), "{}", said.stderr);
        assert!(said.words().contains(log), "{}", said.stderr);
        assert_eq!(machine.launches(), 1, "nothing is measured");
    }
}

/// Creates a person, and refuses to do so twice.
fn registry() -> Answering {
    let is_there = AtomicBool::new(false);
    Arc::new(move |request: &Request| {
        let status = match request.method.as_str() {
            "POST" if is_there.swap(true, Ordering::Relaxed) => 409,
            "POST" => 201,
            _ => 200,
        };
        let body = if is_there.load(Ordering::Relaxed) { "ada" } else { "nobody" };
        Answer { status, headers: Vec::new(), body: body.as_bytes().to_vec() }
    })
}

#[test]
fn a_request_whose_second_answer_is_another_one_is_sent_once() {
    let machine = MadeUp::new(|_| FakeLifetime { answer: registry(), ..FakeLifetime::serving(BODY, 1000.0) });
    let app = machine.application("people");
    let plan = |once: &str| {
        let text = format!(
            "app:\n  dir: .\n  kind: front-controller\n  index: index.php\n  requests:\n  \
             - {{name: create, method: POST, path: /ada, load: false{once}, expect: {{status: 201, body: ada}}}}\n  \
             - {{name: read, path: /ada, expect: {{status: 200, body: ada}}}}\nruntimes: [php-cli-server]\n"
        );
        fs::write(machine.path("people").join("stampede.yaml"), text).unwrap();
    };
    let compare = ["compare", &app, "--rounds", "1", "--no-yard-stick", "--json", "-"];
    plan("");
    let said = machine.run(&compare);
    assert_eq!(said.code, 5, "{said:?}");
    let reason = said.json()["cases"][0]["trials"][0]["reason"].to_string();
    let told = "gave a wrong answer to `create`: status 201 Created was expected, and 409 Conflict came";
    assert!(reason.contains(told) && reason.contains("send it once: once: true"), "{reason}");
    assert!(!reason.contains("leak"), "{reason}");
    plan(", once: true");
    let said = machine.run(&compare);
    assert_eq!(said.code, 0, "{said:?}");
}

fn headed(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Answer { status, headers, body: body.as_bytes().to_vec() }
}

#[test]
fn a_page_that_sends_on_within_the_site_is_followed_and_said_to_be() {
    let machine = MadeUp::new(|_| FakeLifetime {
        answer: Arc::new(|request: &Request| match request.path.as_str() {
            "/en/" => headed(200, &[("Content-Type", "text/html")], "<p>hello</p>"),
            _ => headed(302, &[("Location", "/en/")], ""),
        }),
        ..FakeLifetime::serving(BODY, 1000.0)
    });
    let app = machine.application("shop");
    let flags = ["--runtimes", "php-cli-server", "--rounds", "1", "--no-yard-stick", "--json", "-"];
    let said = machine.run(&[&["compare", &app][..], &flags].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let told = "GET / (redirected to /en/, which is used): status 200 OK, 12 bytes";
    assert!(said.words().contains(told), "{}", said.stderr);
    let said = machine.run(&["init", &app]);
    assert_eq!(said.code, 0, "{said:?}");
    let plan = fs::read_to_string(machine.path("shop").join("stampede.yaml")).unwrap();
    let written = "    - name: \"GET /en/\"\n      path: /en/\n      expect:\n        status: 200\n        \
                   content_type: text/html\n        cookies: []\n        body_file: stampede.expected/get-en.html\n";
    assert!(plan.contains(written), "{plan}");
}

#[test]
fn what_is_no_page_is_refused_with_what_to_do() {
    for (answer, told) in [
        (
            headed(302, &[("Location", "https://shop.example/")], ""),
            "which is another origin; ask it by that name: app: {host: shop.example, scheme: https}",
        ),
        (headed(302, &[("Location", "/login")], ""), "which is a login; choose a page that everybody sees"),
        (headed(429, &[], "slow down"), "429 Too Many Requests; turn its rate limit off"),
        (headed(200, &[], ""), "an empty body; choose a page that has one"),
    ] {
        let machine = MadeUp::new(move |_| {
            let answer = answer.clone();
            FakeLifetime { answer: Arc::new(move |_: &Request| answer.clone()), ..FakeLifetime::serving(BODY, 1000.0) }
        });
        let app = machine.application("shop");
        let said = machine.run(&["compare", &app, "--runtimes", "php-cli-server", "--no-yard-stick"]);
        assert_eq!(said.code, 5, "{said:?}");
        assert!(said.words().contains(told), "{told}\n{}", said.stderr);
    }
}

/// One of two runtimes sells at another price, beside a token that differs each time.
#[test]
fn a_wrong_answer_of_one_runtime_is_shown_by_its_lines() {
    let machine = MadeUp::new(|launch| {
        let price = if launch.unit().starts_with("php") && launch.number > 1 { "19.80" } else { "19.90" };
        let asked = std::sync::atomic::AtomicU32::new(launch.number as u32 * 1000);
        let answer = move |_: &Request| {
            let token =
                format!("{:040x}", u128::from(asked.fetch_add(1, Ordering::Relaxed)) * 0x9e37_79b9_7f4a_7c15_f39c);
            headed(200, &[], &format!("<h1>Tea</h1>\n<b>{price}</b>\n<input name=\"_token\" value=\"{token}\">\n"))
        };
        FakeLifetime { answer: Arc::new(answer), ..FakeLifetime::serving(BODY, 1000.0) }
    });
    let app = machine.application("shop");
    let flags = ["--runtimes", "php-cli-server,apache-mod-php", "--rounds", "1", "--no-yard-stick", "--json", "-"];
    let said = machine.run(&[&["compare", &app][..], &flags].concat());
    let reasons = said.json()["cases"].to_string();
    assert!(reasons.contains("- <b>19.90</b>\\n  + <b>19.80</b>"), "{reasons}\n{}", said.stderr);
    assert!(said.words().contains("varies: token"), "{}", said.stderr);
}

#[test]
fn an_application_is_asked_by_the_name_that_it_has() {
    let machine = MadeUp::new(|_| {
        let told = |request: &Request| {
            let header = |name: &str| request.headers.get(name).cloned().unwrap_or_default();
            let body = format!("{}://{}", header("X-Forwarded-Proto"), header("X-Forwarded-Host")).into_bytes();
            Answer { status: 200, headers: Vec::new(), body }
        };
        FakeLifetime { answer: Arc::new(told), ..FakeLifetime::serving(BODY, 1000.0) }
    });
    let app = machine.application("shop");
    let plan = "app:\n  dir: .\n  host: old.example\n  scheme: https\n  requests:\n    \
        - {path: /, expect: {status: 200, body: 'https://shop.example'}}\n";
    fs::write(Path::new(&app).join("stampede.yaml"), plan).unwrap();
    let more = ["--host", "shop.example", "--runtimes", "nginx-fpm", "--rounds", "1", "--no-yard-stick", "--json", "-"];
    let said = machine.run(&[&["compare", &app][..], &more].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let site = said.json()["cases"][0]["public_folder"].to_string();
    assert!(site.contains("reached at https://shop.example"), "{site}");

    let objective = ["--load", "open:10", "--slo", "p99<1s"];
    for (command, more) in [("compare", 0..0), ("tune", 0..2), ("scale", 0..2), ("capacity", 2..4), ("size", 0..4)] {
        let args = [&[command, &app, "--host", "http://shop.example"], &objective[more]].concat();
        let said = machine.run(&args);
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.words().contains("--host http://shop.example is no host; write a name"), "{}", said.stderr);
    }
}

#[test]
fn a_plan_that_init_wrote_is_kept_and_holds_the_answers() {
    let machine = MadeUp::new(|launch| {
        let asked = std::sync::atomic::AtomicU32::new(launch.number as u32 * 1000);
        let answer = move |_: &Request| {
            let token =
                format!("{:040x}", u128::from(asked.fetch_add(1, Ordering::Relaxed)) * 0x9e37_79b9_7f4a_7c15_f39c);
            let page = format!("<input name=\"_token\" value=\"{token}\"><p>A word has 3 letters</p>\n");
            headed(200, &[("Content-Type", "text/html")], &page)
        };
        FakeLifetime { answer: Arc::new(answer), ..FakeLifetime::serving(BODY, 1000.0) }
    });
    let app = machine.application("shop");
    let said = machine.run(&["init", &app]);
    assert_eq!(said.code, 0, "{said:?}");
    let words = said.words();
    for served in ["not for this kind of application: ", "roadrunner, swoole"] {
        assert!(words.contains(served), "{words}");
    }
    let file = machine.path("shop/stampede.yaml");
    let plan = fs::read_to_string(&file).unwrap();
    assert!(plan.lines().all(|line| line.chars().count() <= 100), "{plan}");
    let answer = machine.path("shop/stampede.expected/get.html");
    let expected = fs::read_to_string(&answer).unwrap();
    assert_eq!(expected, "<input name=\"_token\" value=\"⟨token⟩\"><p>A word has 3 letters</p>\n");

    let again = machine.run(&["init", &app]);
    assert_eq!(again.code, 2, "{again:?}");
    assert!(again.words().contains("stampede.yaml exists already; add --force"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(file).unwrap(), plan);

    let compare = ["compare", &app, "--runtimes", "php-cli-server", "--rounds", "1", "--no-yard-stick", "--json", "-"];
    let said = machine.run(&compare);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(!said.stderr.contains("recorded on"), "{}", said.stderr);
    fs::write(&answer, expected.replace("3 letters", "4 letters")).unwrap();
    let said = machine.run(&compare);
    assert_eq!(said.code, 5, "{said:?}");
    let reason = said.json()["cases"][0]["trials"][0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("wrong answer to `GET /`") && reason.contains("4 letters"), "{reason}");

    let said = machine.run(&["init", &app, "--force"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(fs::read_to_string(&answer).unwrap(), expected);
}
