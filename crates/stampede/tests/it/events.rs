//! A scenario that hears server-sent events of a real PHP server.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use crate::stage::{Stage, have};

/// Five prices, 40 ms apart; the other paths say what they were asked, and that there is nothing.
const LIVE: &str = r#"<?php
declare(strict_types=1);
if ($_SERVER['REQUEST_URI'] === '/none') { http_response_code(204); exit; }
header('Content-Type: text/event-stream');
header('X-Accel-Buffering: no');
while (ob_get_level() > 0) { ob_end_flush(); }
$last = (int) ($_SERVER['HTTP_LAST_EVENT_ID'] ?? -1);
for ($i = $last + 1; $i < $last + 6; $i++) {
    echo ": waited\n\nevent: price\nid: $i\ndata: {\"price\":$i}\n\n";
    flush();
    usleep(40_000);
}
echo "data: [DONE]\n\n";
"#;

const SCENARIO: &str = r#"
crowds:
  - load: closed:1
    flows:
      - name: live
        steps:
          - name: first prices
            path: /live
            events: {count: 3, type: price}
            check: {contains: '{"price":2}'}
            capture: {last: {event: id}}
          - name: the rest
            path: /live
            headers: {Last-Event-ID: "${last}"}
            events: {until: "[DONE]", least: 6}
            check: {contains: '{"price":7}'}
          - {name: held, path: /live, events: {for: 100ms, type: price, least: 2}}
          - {name: none, path: /none, events: {count: 1}, check: {status: "200,204"}}
"#;

struct Php(Child);

/// With its workers, which are in a group of its own and outlive it otherwise.
impl Drop for Php {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        let _ = self.0.wait();
    }
}

#[test]
fn events_of_a_php_server_are_heard_until_they_are_enough() {
    if !have("events_of_a_php_server_are_heard_until_they_are_enough", &["php"]) {
        return;
    }
    let stage = Stage::new();
    let place = |name: &str| stage.home().join(name).display().to_string();
    fs::write(place("live.php"), LIVE).unwrap();
    fs::write(place("scenario.yaml"), SCENARIO).unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let _php = Php(Command::new("php")
        .args(["-S", &address.to_string(), &place("live.php")])
        .env("PHP_CLI_SERVER_WORKERS", "2")
        .process_group(0)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap());
    let begun = Instant::now();
    while TcpStream::connect(address).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(10), "php does not listen on {address}");
        thread::yield_now();
    }
    let url = format!("http://{address}/");
    let (file, json) = (place("scenario.yaml"), place("result.json"));
    let said = stage.run(&["load", &url, "--scenario", &file, "-n", "2", "--json", &json, "--quiet"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let told: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let steps = told["steps"].as_array().unwrap();
    let of = |name: &str| steps.iter().find(|step| step["name"] == format!("live/{name}")).unwrap();
    for (name, streams, events, others) in [("first prices", 2, 6, 0), ("the rest", 2, 12, 0), ("none", 0, 0, 0)] {
        let step = of(name);
        assert_eq!((&step["requests"]["ok"], &step["requests"]["failed"]), (&2.into(), &0.into()), "{name}: {step}");
        let heard = [&step["events"]["streams"], &step["events"]["events"], &step["events"]["others"]];
        assert_eq!(heard, [&Value::from(streams), &events.into(), &others.into()], "{name}: {step}");
    }
    let gap = of("first prices")["events"]["gap_us"]["p50"].as_f64().unwrap();
    assert!(gap > 39_000.0, "PHP waits 40 ms between two events: {gap} us");
    let held = of("held")["service_us"]["min"].as_f64().unwrap();
    assert!(held > 99_000.0, "{held}");
    assert!(said.stdout.contains("streams of events, ms") && said.stdout.contains("first event"), "{said:?}");
}
