//! Who is answered, and that nothing leads anywhere else.

use std::fs;
use std::net::TcpListener;

use stampede_serve::{Access, Dashboard, ServeError};

use crate::client::{Site, named, sample};

#[test]
fn every_answer_carries_the_headers_that_keep_it_safe() {
    let site = Site::of(&[sample()]);
    for (target, status) in [
        ("/", 200),
        ("/study?id=0713-a", 200),
        ("/compare?a=0713-a&b=0713-a", 200),
        ("/history", 200),
        ("/compare", 400),
        ("/study?id=none", 404),
        ("/none", 404),
    ] {
        let said = site.get(target);
        assert_eq!(said.status, status, "{target}");
        let policy = said.header("content-security-policy").unwrap();
        for part in ["default-src 'none'", "script-src 'sha256-", "form-action 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{target}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        for (name, value) in [
            ("content-type", "text/html; charset=utf-8"),
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
        ] {
            assert_eq!(said.header(name), Some(value), "{target}: {name}");
        }
        let lower = said.body.to_lowercase();
        assert!(lower.starts_with("<!doctype html>") && !lower.contains("src=\"http"), "{target}");
    }
}

#[test]
fn no_path_leads_out_of_the_store() {
    let site = Site::of(&[sample()]);
    fs::write(site.store.path().join("secret"), "do not tell").unwrap();
    for target in [
        "/../secret",
        "/study/../../secret",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/s.db",
        "//etc/passwd",
        "/study/0713-a",
        "/study?id=../secret",
        "/study?id=%2fetc%2fpasswd",
        "/study?id=%00",
        "/study?id=",
        "/study",
        "/study?id=%27%20OR%201%3D1%20--",
        "/compare?a=../secret&b=0713-a",
        "/history?metric=../secret",
        "/\\example.com",
    ] {
        let said = site.get(target);
        assert!(matches!(said.status, 400 | 404), "{target}: {}", said.status);
        assert!(!said.body.contains("do not tell") && !said.body.contains("root:"), "{target}");
    }
    for bytes in [&b"GET http://[ HTTP/1.1\r\n\r\n"[..], b"\0\0\0\0\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"] {
        assert_eq!(site.send(bytes).status, 400);
    }
}

#[test]
fn nothing_can_be_changed() {
    let site = Site::of(&[sample()]);
    let before = fs::read(site.store.path().join("s.db")).unwrap();
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
        let said = site.ask(method, "/study?id=0713-a", &[("host", "localhost")]);
        assert_eq!((said.status, said.header("allow")), (405, Some("GET, HEAD")), "{method}");
    }
    let head = site.ask("HEAD", "/", &[("host", "localhost")]);
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(fs::read(site.store.path().join("s.db")).unwrap(), before);
}

#[test]
fn another_name_for_this_machine_is_not_answered() {
    let site = Site::of(&[sample()]);
    for headers in [&[("host", "example.com")][..], &[("host", "localhost.example.com:80")], &[]] {
        let said = site.ask("GET", "/", headers);
        assert_eq!(said.status, 421, "{headers:?}");
        assert!(!said.body.contains("0713-a"), "{headers:?}");
    }
}

#[test]
fn a_token_opens_every_page_and_nothing_else_does() {
    const TOKEN: &str = "0123456789abcdef";
    let site = Site::with(&[sample()], Some(TOKEN));
    for target in
        ["/", "/study?id=0713-a", "/compare?a=0713-a&b=0713-a", "/history", "/none", "/?token=0123456789abcdee"]
    {
        let said = site.get(target);
        assert_eq!(said.status, 401, "{target}");
        assert!(!said.body.contains("0713-a") && !said.body.contains(TOKEN), "{target}");
        assert_eq!(said.header("x-frame-options"), Some("DENY"));
    }
    let known = site.get(&format!("/study?id=0713-a&token={TOKEN}"));
    assert_eq!((known.status, known.header("location")), (303, Some("/study?id=0713-a")));
    let cookie = known.header("set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    for elsewhere in ["//example.com", "/\\example.com", "/%5cexample.com"] {
        let said = site.get(&format!("{elsewhere}?token={TOKEN}"));
        assert_eq!((said.status, said.header("location")), (303, Some("/")), "{elsewhere}");
    }
    let pair = cookie.split(';').next().unwrap();
    for header in [("cookie", pair), ("authorization", "Bearer 0123456789abcdef")] {
        let said = site.ask("GET", "/", &[("host", "example.com"), header]);
        assert!(said.status == 200 && said.body.contains("0713-a"), "{header:?}: {}", said.status);
    }
    let said = site.ask("GET", "/", &[("host", "localhost"), ("cookie", "stampede-token=0123456789abcdef0")]);
    assert_eq!(said.status, 401);
}

#[test]
fn a_port_that_is_taken_is_told_with_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let listening = Dashboard::listen(address, "none.db".into(), Access::Local);
    let error = runtime.block_on(listening).err().unwrap();
    assert!(matches!(error, ServeError::InUse { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(&address.to_string()) && text.contains("--listen") && text.contains("127.0.0.1:0"), "{text}");
}

#[test]
fn a_client_that_says_nothing_holds_up_nobody() {
    let site = Site::of(&[named("a", 0)]);
    let silent: Vec<_> = (0..20).map(|_| std::net::TcpStream::connect(site.address).unwrap()).collect();
    assert_eq!(site.get("/").status, 200);
    drop(silent);
}
