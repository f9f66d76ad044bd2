//! The scripts that load an application into a worker, under the real PHP and without a server.

#![expect(clippy::expect_used, reason = "a step that fails is a test that fails")]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use stampede_core::{
    App, AppKind, Bytes, Cpus, DefaultsContext, Found, Limits, Load, PhpBuild, Places, Programs, RenderContext, Tuning,
};
use tempfile::TempDir;

const NYHOLM: &str = "/usr/share/php/Nyholm/Psr7/autoload.php";

/// A run's folder with the bridge to a handler of this text, or nothing where PHP or its libraries are missing.
fn bridge(handler: &str) -> Option<TempDir> {
    let php = Command::new("php").arg("-v").output().is_ok_and(|output| output.status.success());
    if !php || !Path::new(NYHOLM).exists() {
        let _ = writeln!(std::io::stderr(), "SKIP bridge: needs php and {NYHOLM} (php-nyholm-psr7)");
        return None;
    }
    let run = TempDir::new().expect("make a folder");
    let handler = format!("<?php\nrequire_once '{NYHOLM}';\n{handler}\n");
    fs::create_dir(run.path().join("app")).expect("make a folder");
    fs::write(run.path().join("app/handler.php"), handler).expect("write the handler");
    let mut places = Places::new();
    places.insert("run", run.path().display().to_string());
    places.insert("app", run.path().join("app").display().to_string());
    places.insert("front.host", "127.0.0.1");
    places.insert("front.port", "1");
    places.insert("swoole-status", run.path().join("swoole-status").display().to_string());
    for file in deployment_files() {
        let path = run.path().join(&file.path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("make a folder");
        fs::write(path, places.resolve(&file.text).expect("known places")).expect("write a file");
    }
    Some(run)
}

fn deployment_files() -> Vec<stampede_core::RunFile> {
    let runtime = stampede_runtimes::by_id("swoole").expect("listed");
    let app = App { ..App::new("plain", AppKind::Psr15Handler { handler: PathBuf::from("handler.php") }) };
    let limits = Limits { cpus: Cpus::from_millis(1000), memory: Bytes::from_mib(256) };
    let load = Load::Closed { connections: 4 };
    let tuning = runtime.defaults(&DefaultsContext { app: &app, limits: &limits, load: &load, given: &Tuning::new() });
    let build = PhpBuild {
        version: "8.2".to_owned(),
        thread_safe: false,
        debug: false,
        libc: String::new(),
        configure: String::new(),
        extension_dir: PathBuf::new(),
        built_in: Vec::new(),
        loadable: Vec::new(),
        setup: None,
    };
    let php = Found { path: PathBuf::from("php"), version: "8.2".to_owned(), php: Some(build) };
    let programs = Programs::from([("php".to_owned(), php)]);
    let cx = RenderContext { app: &app, limits: &limits, load: &load, tuning: &tuning, programs: &programs };
    let deployment = runtime.deployment(&cx).expect("render");
    deployment.units.into_iter().next().expect("a unit").files
}

fn php(script: &Path) -> Output {
    Command::new("php").arg("-n").arg(script).output().expect("run php")
}

#[test]
fn an_application_that_cannot_start_is_told_with_its_words() {
    for (name, handler, told) in [
        ("a callable", "return fn ($request) => new Nyholm\\Psr7\\Response();", None),
        ("ends", "exit(0);", Some("handler.php ended before it returned a handler")),
        ("throws", "throw new Exception('no database');", Some("no database")),
        ("returns nothing", "$x = 1;", Some("returns neither a PSR-15 request handler nor a callable, but int")),
        ("does not parse", "return function (;", Some("syntax error")),
    ] {
        let Some(run) = bridge(handler) else { return };
        let output = php(&run.path().join("bridge/check.php"));
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert_eq!(output.status.success(), told.is_none(), "{name}: {text}");
        assert!(text.contains(told.unwrap_or_default()), "{name}: {text}");
    }
}

#[test]
fn a_request_is_what_php_itself_would_give() {
    const HANDLER: &str = r#"return function ($request) {
        if ($request->getUri()->getPath() === '/throws') {
            throw new RuntimeException('not caught');
        }
        $files = array_map(fn ($file) => is_array($file)
            ? array_map(fn ($one) => $one->getClientFilename() . ' ' . $one->getStream(), $file)
            : $file->getClientFilename() . ' ' . $file->getError(), $request->getUploadedFiles());
        return new Nyholm\Psr7\Response(200, [], json_encode([
            'method' => $request->getMethod(),
            'uri' => (string) $request->getUri(),
            'query' => $request->getQueryParams(),
            'cookies' => $request->getCookieParams(),
            'type' => $request->getHeaderLine('Content-Type'),
            'body' => (string) $request->getBody(),
            'form' => $request->getParsedBody(),
            'files' => $files,
        ]));
    };"#;
    const ASK: &str = r#"<?php
        require __DIR__ . '/bridge/application.php';
        $application = new Stampede\Application(__DIR__ . '/app/handler.php');
        file_put_contents(__DIR__ . '/upload', 'content');
        $file = fn (string $name, int $error = 0) =>
            ['tmp_name' => __DIR__ . '/upload', 'size' => 7, 'error' => $error, 'name' => $name, 'type' => 'text/plain'];
        $several = [];
        foreach (['b', 'c'] as $name) {
            foreach ($file($name) as $property => $value) {
                $several[$property][] = $value;
            }
        }
        $ask = fn (string $type) => $application->answer($application->request(
            'POST', '/p?a=1', ['Host' => 'h:1', 'content-type' => $type], 'x=2', ['a' => '1'], ['k' => 'v'], ['x' => '2'],
            ['lost' => $file('a', 4), 'several' => $several, 'list' => [$file('d')]],
        ))->body;
        $status = $application->answer($application->request('GET', '/throws', [], ''))->status;
        echo '[', $ask('multipart/form-data; boundary=x'), ',', $ask('application/json'), ',', $status, ']';
    "#;
    let Some(run) = bridge(HANDLER) else { return };
    let script = run.path().join("ask.php");
    fs::write(&script, ASK).expect("write the script");
    let output = php(&script);
    let text = String::from_utf8_lossy(&output.stdout);
    let start = text.find("[{").unwrap_or_else(|| panic!("no answer in {text}"));
    let answers: Value = serde_json::from_str(&text[start..]).unwrap_or_else(|error| panic!("{error}: {text}"));
    let common = json!({
        "method": "POST", "uri": "http://h:1/p?a=1", "query": {"a": "1"}, "cookies": {"k": "v"}, "body": "x=2",
    });
    let with = |rest: Value| {
        let mut all = common.clone();
        let map = all.as_object_mut().expect("an object");
        map.extend(rest.as_object().expect("an object").clone());
        all
    };
    let files = json!({"lost": "a 4", "several": ["b content", "c content"], "list": ["d content"]});
    let form = with(json!({"type": "multipart/form-data; boundary=x", "form": {"x": "2"}, "files": files}));
    let other = with(json!({"type": "application/json", "form": null, "files": []}));
    assert_eq!(answers, json!([form, other, 500]));
}
