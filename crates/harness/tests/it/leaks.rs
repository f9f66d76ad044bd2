//! What a worker keeps of one request is found in the answer to another, and which one it was.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use stampede_core::{
    Body, Exchange, MaskClass, Masked, Piece, Random, Request, Role, Rounds, Trial, Tunable, TunableKind,
};
use stampede_testkit::{FakeLifetime, FakePlatform};

use crate::bench::{BODY, Bench, answer, exchange, reason};

/// What a worker keeps: what it was asked, in order.
type Kept = Vec<Request>;

/// What a worker answers by what it keeps, this request not included; [`BODY`] by default.
type Script = fn(&Kept, &Request) -> Option<String>;

/// An application on so many workers that take turns.
fn kept_by(workers: usize, script: Script) -> FakeLifetime {
    let pool: Mutex<(usize, Vec<Kept>)> = Mutex::new((0, vec![Vec::new(); workers]));
    let answering = move |request: &Request| {
        let mut pool = pool.lock().unwrap();
        let (turn, kept) = &mut *pool;
        let worker = &mut kept[*turn % workers];
        *turn += 1;
        let body = script(worker, request);
        worker.push(request.clone());
        answer(200, body.as_deref().unwrap_or(BODY))
    };
    FakeLifetime { answer: Arc::new(answering), ..FakeLifetime::serving(BODY, 1000.0) }
}

fn was_asked(kept: &Kept, path: &str) -> bool {
    kept.iter().any(|request| request.path == path)
}

/// A bench of one round whose application has these pages beside `/`.
fn bench(paths: &[&str], rounds: u32) -> Bench {
    let mut bench = Bench::new(&["a"], Rounds::Fixed(rounds));
    bench.workload.exchanges = ["/"].iter().chain(paths).map(|path| exchange(&format!("GET {path}"), path)).collect();
    bench
}

fn with_workers(mut bench: Bench, setting: &'static str, workers: usize) -> Bench {
    let tunable = Tunable {
        name: setting,
        role: Role::PoolSize,
        kind: TunableKind::Count { min: 1, max: 1000 },
        summary: "",
        manual: "",
    };
    let case = &mut bench.prepared[0].case;
    case.tuning = case.tuning.clone().with_default(setting, workers, "").with_roles(&[tunable]);
    bench
}

async fn trials(bench: &Bench, lifetime: impl Fn() -> FakeLifetime + Send + Sync + 'static) -> (Vec<Trial>, usize) {
    let platform = FakePlatform::new(move |_| lifetime());
    let heard = bench.run(&platform).await;
    assert_eq!(platform.up(), 0, "what was launched is stopped");
    let launches = platform.log().iter().filter(|line| line.starts_with("launch")).count();
    let searches = heard.events.iter().filter(|event| event.starts_with("search ")).count();
    assert_eq!(launches, heard.trials.len() + searches, "each deployment of a search is told");
    (heard.trials, launches)
}

#[tokio::test(start_paused = true)]
async fn the_request_that_changes_another_ones_answer_is_named_with_the_difference_and_what_to_do() {
    let script: Script = |kept, request| (request.path == "/" && was_asked(kept, "/cart")).then(|| "1 item".to_owned());
    let mut bench = bench(&["/about", "/cart", "/terms", "/news"], 1);
    let tuning = &mut bench.prepared[0].case.tuning;
    *tuning = tuning.clone().with_default("mode", "worker", "");
    let (trials, launches) = trials(&bench, move || kept_by(1, script)).await;
    insta::assert_snapshot!(reason(&trials[0]), @r"
    leaks state from one request into another: `GET /cart` changes what `GET /` answers: the body differs (- expected, + received):
      line 1:
      - hello
      + 1 item
    seen on 3 fresh deployments; on another one it was right 100 times alone
    fix: reset at the end of each request what it keeps: static properties, $_SESSION, ini_set(), setlocale(), the current user, a cache
    fix: start PHP afresh for each request: --set a.mode=classic
    fix: if `GET /cart` is meant to change it, send it once: once: true
    ");
    assert_eq!(launches, 5);
}

#[tokio::test(start_paused = true)]
async fn whatever_a_worker_keeps_is_found_on_pools_of_several_sizes() {
    let scripts: [(&str, Script, &str); 5] = [
        (
            "a static list that grows",
            |kept, request| (request.path == "/" && was_asked(kept, "/cart")).then(|| "1 item".to_owned()),
            "`GET /cart` changes what `GET /` answers: the body differs",
        ),
        (
            "a locale that the next request has, and that this one resets",
            |kept, request| {
                let is_german = kept.last().is_some_and(|last| last.path == "/de");
                (request.path == "/price" && is_german).then(|| "1,50".to_owned())
            },
            "`GET /de` changes what `GET /price` answers: the body differs",
        ),
        (
            "a user who stays logged in",
            |kept, request| {
                let mut logins = kept.iter().filter(|request| request.path == "/account");
                let user = logins.find_map(|request| request.headers.get("Cookie"));
                (request.path == "/account").then(|| user.map_or_else(String::new, |user| format!("hello {user}")))
            },
            "`GET /account` changes what `GET /account` answers to another visitor: it holds the cookie of another visitor",
        ),
        (
            "a setting that is computed once, for whichever page comes first",
            |kept, request| {
                let mut of_settings = kept.iter().filter(|request| ["/de", "/price"].contains(&request.path.as_str()));
                let first = of_settings.next();
                (request.path == "/price" && first.is_some_and(|first| first.path == "/de")).then(|| "1,50".to_owned())
            },
            "`GET /de` changes what `GET /price` answers: the body differs",
        ),
        (
            "a setting that a page changes for all others: here in the order of the workload",
            |kept, request| (request.path != "/cart" && was_asked(kept, "/cart")).then(|| "UTC".to_owned()),
            "`GET /cart` changes what `GET /de` answers: the body differs",
        ),
    ];
    for workers in [1, 2, 3, 4, 8] {
        for (name, script, told) in scripts {
            let mut bench =
                with_workers(bench(&["/about", "/cart", "/de", "/price", "/account"], 1), "workers", workers);
            if told.contains("/account") {
                bench.workload.exchanges[5].expect.body = Body::Any;
            }
            let (trials, _) = trials(&bench, move || kept_by(workers, script)).await;
            let reason = reason(&trials[0]);
            let is_told = reason.starts_with(&format!("leaks state from one request into another: {told}"));
            // Which of the pages that it changes comes to the worker first depends on the number of workers.
            let first = told.split(" changes").next().unwrap_or_default();
            assert!(
                is_told || (name.contains("all others") && reason.contains(first)),
                "{name} of {workers}: {reason}"
            );
        }
    }
}

/// A token differs each time and is masked; the number of items is none.
#[tokio::test(start_paused = true)]
async fn a_leak_is_found_beside_what_is_masked() {
    let script: Script = |kept, request| {
        let items = kept.iter().filter(|request| request.path == "/cart").count();
        let token = format!("{:032x}", 0x9e37_79b9_7f4a_7c15_f39c_u128 * (1 + kept.len() as u128));
        (request.path == "/").then(|| format!("<b>{items} items</b>\n<input name=\"_token\" value=\"{token}\">\n"))
    };
    let mut bench = bench(&["/about", "/cart"], 1);
    let text = |text: &str| Piece::Text(text.as_bytes().to_vec());
    let [before, after] = ["<b>0 items</b>\n<input name=\"_token\" value=\"", "\">\n"].map(text);
    bench.workload.exchanges[0].expect.body =
        Body::Masked(Masked::new([before, Piece::Varies(MaskClass::Token), after]));
    let (trials, _) = trials(&bench, move || kept_by(2, script)).await;
    let reason = reason(&trials[0]);
    assert!(reason.contains("`GET /cart` changes what `GET /` answers"), "{reason}");
    assert!(reason.contains("- <b>0 items</b>") && reason.contains("value=\"⟨token⟩\""), "{reason}");
}

/// Each answer is another one with a certain chance, whatever was asked before.
#[tokio::test(start_paused = true)]
async fn what_varies_by_itself_is_never_called_a_leak() {
    for (number, chance) in [0.002, 0.01, 0.03, 0.1, 0.3, 0.6].into_iter().cycle().take(60).enumerate() {
        let seed = Arc::new(AtomicU32::new(1000 * number as u32));
        let lifetime = move || {
            let random = Mutex::new(Random(u64::from(seed.fetch_add(1, Ordering::Relaxed))));
            let answering = move |request: &Request| {
                let is_other = random.lock().unwrap().uniform() < chance;
                answer(200, if request.path == "/" && is_other { "other" } else { BODY })
            };
            FakeLifetime { answer: Arc::new(answering), ..FakeLifetime::serving(BODY, 1000.0) }
        };
        let (trials, _) = trials(&bench(&["/about", "/cart"], 2), lifetime).await;
        for trial in &trials {
            assert!(!reason(trial).contains("leak"), "{chance}: {}", reason(trial));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_blamed_on_one_request_is_told_as_it_is() {
    let counts: Script = |kept, request| {
        let before = kept.iter().filter(|kept| kept.path == "/").count();
        (request.path == "/" && before > 2).then(|| format!("visit {before}"))
    };
    let both: Script = |kept, request| {
        let is_changed = was_asked(kept, "/cart") && was_asked(kept, "/about");
        (request.path == "/" && request.headers.contains_key("Cookie") && is_changed).then(|| "both".to_owned())
    };
    let in_order: Script = |kept, request| {
        let is_changed = matches!(kept.as_slice(), [.., _, a, b] if a.path != b.path && a.path != "/" && b.path != "/");
        (request.path == "/" && request.headers.contains_key("Cookie") && is_changed).then(|| "in order".to_owned())
    };
    let wrong: Script = |_, request| (request.path == "/cart").then(|| "not found".to_owned());
    for (name, script, told) in [
        ("a count of its own requests", counts, "it varies by itself: on a fresh deployment it was right at first"),
        ("two requests together", both, "wrong after `GET /cart`, `GET /about`, and right after `GET /about` alone"),
        (
            "two requests right after each other",
            in_order,
            "was not found: on fresh deployments it was right 100 times alone and 5 times after each",
        ),
        ("always", wrong, "gave a wrong answer to `GET /cart`: the body differs"),
    ] {
        let (trials, _) = trials(&bench(&["/about", "/cart"], 1), move || kept_by(1, script)).await;
        let reason = reason(&trials[0]);
        assert!(reason.contains(told) && !reason.contains("leak"), "{name}: {reason}");
    }
}

/// `read` is right after `create` alone, which is sent once.
#[tokio::test(start_paused = true)]
async fn what_is_sent_once_comes_before_those_that_need_it() {
    let script: Script = |kept, request| match request.path.as_str() {
        "/read" if !was_asked(kept, "/create") => Some("nobody".to_owned()),
        "/read" if was_asked(kept, "/cart") => Some("1 item".to_owned()),
        _ => None,
    };
    let mut bench = with_workers(bench(&["/create", "/read", "/cart"], 1), "workers", 1);
    let create: &mut Exchange = &mut bench.workload.exchanges[1];
    (create.once, create.weight) = (true, 0);
    let (trials, _) = trials(&bench, move || kept_by(1, script)).await;
    let told =
        "leaks state from one request into another: `GET /cart` changes what `GET /read` answers: the body differs";
    assert!(reason(&trials[0]).starts_with(told), "{}", reason(&trials[0]));
}

#[tokio::test(start_paused = true)]
async fn a_search_that_cannot_be_made_leaves_the_wrong_answer() {
    let script: Script = |kept, request| (request.path == "/" && was_asked(kept, "/cart")).then(|| "1 item".to_owned());
    let platform = FakePlatform::new(move |launch| FakeLifetime {
        launch_problem: (launch.number > 0).then(|| "no space is left".to_owned()),
        ..kept_by(1, script)
    });
    let heard = bench(&["/cart"], 1).run(&platform).await;
    let reason = reason(&heard.trials[0]);
    assert!(reason.starts_with("gave a wrong answer to `GET /`: the body differs"), "{reason}");
    assert!(reason.contains("could not be looked for: prepare the run: no space is left"), "{reason}");
}

/// Several orders in the first deployments, as many as every worker of the pool needs, and then one in each.
#[tokio::test(start_paused = true)]
async fn leaks_are_looked_for_in_other_orders_in_each_lifetime_by_a_few_requests() {
    let orders = Arc::new(Mutex::new(Vec::<Vec<String>>::new()));
    let seen = Arc::clone(&orders);
    let platform = FakePlatform::new(move |launch| {
        let (seen, number) = (Arc::clone(&seen), launch.number);
        FakeLifetime {
            answer: Arc::new(move |request: &Request| {
                let mut seen = seen.lock().unwrap();
                let lifetimes = seen.len().max(number + 1);
                seen.resize(lifetimes, Vec::new());
                if let Some(cookie) = request.headers.get("Cookie") {
                    seen[number].push(format!("{cookie} {}", request.path));
                }
                answer(200, BODY)
            }),
            ..FakeLifetime::serving(BODY, 1000.0)
        }
    });
    let mut bench = with_workers(bench(&[], 10), "workers", 3);
    bench.workload.exchanges = (0..10).map(|number| exchange(&format!("e{number}"), &format!("/{number}"))).collect();
    bench.run(&platform).await;
    let orders = orders.lock().unwrap();
    let lengths: Vec<_> = orders.iter().map(Vec::len).collect();
    assert_eq!(lengths, [80, 80, 20, 20, 20, 20, 20, 20, 20, 20], "each exchange by each of two visitors");
    for order in orders.iter().flat_map(|order| order.chunks(20)) {
        assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 20);
    }
    let distinct: BTreeSet<_> = orders[..8].iter().map(|order| &order[..20]).collect();
    assert_eq!(distinct.len(), 8);
    assert_eq!(orders[8], orders[0][..20]);
}
