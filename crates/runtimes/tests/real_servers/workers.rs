//! What long-lived workers have in common, whatever server they belong to: PHP's surroundings, a state that stays, a
//! connection that stays, and a request that brings nothing of the one before it.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use stampede_core::{App, AppKind, Site};

use crate::http::Connection;
use crate::{REQUESTS_ON_ONE_CONNECTION, php_app, start};

const HANDLER: &str = r#"<?php
    $vendor = __DIR__ . '/vendor/autoload.php';
    require_once is_file($vendor) ? $vendor : '/usr/share/php/Nyholm/Psr7/autoload.php';
    $count = 0;
    return function ($request) use (&$count) {
        $settings = [];
        foreach ([
            'opcache.enable', 'opcache.validate_timestamps', 'opcache.jit', 'opcache.preload', 'realpath_cache_size',
            'memory_limit', 'display_errors', 'log_errors', 'expose_php', 'variables_order', 'zend.assertions',
        ] as $name) {
            $settings[$name] = ini_get($name);
        }
        return new Nyholm\Psr7\Response(200, [], json_encode([
            'settings' => $settings,
            'cached' => opcache_get_status(false)['opcache_enabled'] ?? false,
            'jit' => opcache_get_status(false)['jit']['on'] ?? false,
            'environment' => getenv('APP_ENV'),
            'uri' => $request->getUri()->getPath() . '?' . $request->getUri()->getQuery(),
            'query' => $request->getQueryParams(),
            'cookies' => $request->getCookieParams(),
            'form' => $request->getParsedBody(),
            'count' => ++$count,
        ]));
    };
"#;

#[test]
fn workers_are_the_same_everywhere() {
    let folder = tempfile::TempDir::new().expect("make a folder");
    fs::write(folder.path().join("handler.php"), HANDLER).expect("write the handler");
    let app = App {
        kind: AppKind::Psr15Handler { handler: PathBuf::from("handler.php") },
        site: Site::default(),
        ..php_app(folder.path().to_owned(), &[])
    };
    for (id, settings) in [
        ("frankenphp", vec![("worker.num", "1")]),
        ("roadrunner", vec![("http.pool.num_workers", "1")]),
        ("swoole", vec![("worker_num", "1")]),
        ("swoole", vec![("worker_num", "1"), ("mode", "process")]),
        ("workerman", vec![("count", "1")]),
        ("webman", vec![("count", "1")]),
    ] {
        let Some(server) = start(id, &app, &settings) else {
            continue;
        };
        let mut connection = Connection::open(server.front).expect("connect");
        let mut ask = |method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]| -> Value {
            let answer = connection.exchange(method, path, headers, body).expect("an answer");
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            assert_eq!(answer.status, 200, "{id}: {text}; {}", server.log());
            assert!(!answer.closes() && !answer.headers.contains_key("x-powered-by"), "{id}: {answer:?}");
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{id}: {error}: {text}"))
        };
        let form = [("Content-Type", "application/x-www-form-urlencoded"), ("Cookie", "k=v")];
        let first = ask("POST", "/some/path?a=1", &form, b"x=2");
        let settings = json!({
            "opcache.enable": "1", "opcache.validate_timestamps": "0", "opcache.jit": "disable", "opcache.preload": "",
            "realpath_cache_size": "4096K", "memory_limit": "134217728", "display_errors": "", "log_errors": "1",
            "expose_php": "", "variables_order": "EGPCS", "zend.assertions": "-1",
        });
        assert_eq!(first["settings"], settings, "{id}");
        assert_eq!((&first["cached"], &first["jit"]), (&json!(true), &json!(false)), "{id}");
        assert_eq!(first["environment"], "prod", "{id}");
        assert_eq!(first["uri"], "/some/path?a=1", "{id}");
        let sent = (&first["query"], &first["cookies"], &first["form"]);
        assert_eq!(sent, (&json!({"a": "1"}), &json!({"k": "v"}), &json!({"x": "2"})), "{id}");

        let second = ask("GET", "/", &[], b"");
        let left = (&second["query"], &second["cookies"], &second["form"]);
        assert_eq!(left, (&json!([]), &json!([]), &Value::Null), "{id}");
        assert_eq!(second["count"].as_u64(), first["count"].as_u64().map(|count| count + 1), "{id}");
        for _ in 0..REQUESTS_ON_ONE_CONNECTION {
            ask("GET", "/", &[], b"");
        }
    }
}
