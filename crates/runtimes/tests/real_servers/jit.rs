//! What becomes of JIT where an application sets one of its two settings alone: what that PHP makes of it elsewhere.

use serde_json::Value;

use crate::http::Connection;
use crate::{php_app, script, start};

const SCRIPT: &str = "<?php\necho json_encode([PHP_VERSION_ID >= 80400, opcache_get_status(false)['jit']['on']]);\n";

#[test]
fn a_setting_of_jit_alone_means_what_it_means_to_the_php_that_serves() {
    let folder = script(SCRIPT);
    for id in ["nginx-fpm", "php-cli-server", "apache-mod-php"] {
        for (ini, on_before_8_4, on_since) in [
            (&[][..], false, false),
            (&[("opcache.jit_buffer_size", "8M")], true, false),
            (&[("opcache.jit", "tracing")], false, true),
            (&[("opcache.jit", "tracing"), ("opcache.jit_buffer_size", "8M")], true, true),
        ] {
            let mut app = php_app(folder.path().to_owned(), &[]);
            app.ini = ini.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let Some(server) = start(id, &app, &[]) else {
                break;
            };
            let answer = Connection::open(server.front)
                .and_then(|mut open| open.exchange("GET", "/", &[], b""))
                .expect("an answer");
            let told: (bool, Value) = serde_json::from_slice(&answer.body).expect("what PHP is");
            let expected = if told.0 { on_since } else { on_before_8_4 };
            assert_eq!(told.1, expected, "{id} {ini:?}: {}", server.log());
        }
    }
}
