//! Extensions that must be loaded before others, and those that servers' packages call without a word of it.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::stage::{Said, Stage, have};

/// An extension of PHP, by `zend_module_entry` of PHP 8, that refers to what pdo has, as Swoole refers to curl's `curl_share_ce`.
/// <https://github.com/php/php-src/blob/PHP-8.2/Zend/zend_modules.h>
const EXTENSION: &str = r"
extern int php_pdo_register_driver(const void *);
int (*needed)(const void *) = php_pdo_register_driver;
static int start(int type, int number) { return 0; }
static struct {
    unsigned short size; unsigned int api; unsigned char debug, zts; const void *ini, *deps; const char *name;
    const void *functions; int (*startup)(int, int); void *shutdown, *request_startup, *request_shutdown, *info;
    const char *version; unsigned long globals_size; void *globals, *ctor, *dtor, *post; int started;
    unsigned char type; void *handle; int number; const char *build;
} module = {sizeof module, API, 0, 0, 0, 0, NAME, 0, start, 0, 0, 0, 0, VERSION, 0, 0, 0, 0, 0, 0, 0, 0, 0, BUILD};
void *get_module(void) { return &module; }
";

/// In the place of RoadRunner: it becomes its worker, which is told the address.
const RR: &str = r#"#!/usr/bin/env php
<?php
if ($argv[1] === '--version') {
    exit("rr version 2025.1.15 (build time: none)\n");
}
$config = file_get_contents($argv[array_search('-c', $argv, true) + 1]);
preg_match('~command: (\[.*\])~', $config, $command);
preg_match('~address: "(.+)"~', $config, $address);
putenv("RR_ADDRESS=$address[1]");
$words = json_decode($command[1]);
pcntl_exec(array_shift($words), $words);
"#;

/// In the place of its packages for PHP. What reads protocol buffers calls `ctype_lower`, as google/protobuf does.
const PACKAGES: &str = r#"<?php
namespace {
    require_once '/usr/share/php/Nyholm/Psr7/autoload.php';
}

namespace Spiral\RoadRunner {
    class Worker
    {
        public static function create(): self
        {
            return new self();
        }
    }
}

namespace Spiral\RoadRunner\Http {
    class PSR7Worker
    {
        private mixed $server;
        private mixed $connection;

        public function __construct(object $worker, private object $requests)
        {
            $this->server = stream_socket_server('tcp://' . getenv('RR_ADDRESS')) ?: exit(1);
        }

        public function waitRequest(): ?object
        {
            do {
                $this->connection = @stream_socket_accept($this->server, -1);
                $line = $this->connection === false ? false : fgets($this->connection);
            } while ($line === false);
            while (trim(fgets($this->connection) ?: '') !== '') {
            }
            [$method, $target] = explode(' ', $line);
            return ctype_lower('proto') ? $this->requests->createServerRequest($method, $target) : null;
        }

        public function respond(object $answer): void
        {
            $body = (string) $answer->getBody();
            $head = "HTTP/1.1 {$answer->getStatusCode()} OK\r\nConnection: close\r\nContent-Length: " . strlen($body) . "\r\n";
            foreach ($answer->getHeaders() as $name => $values) {
                $head .= "$name: $values[0]\r\n";
            }
            fwrite($this->connection, "$head\r\n$body");
            fclose($this->connection);
        }
    }
}
"#;

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// A folder that whoever serves may read.
fn readable() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    folder
}

/// Compiles it for the PHP of the command line.
fn extension(folder: &Path) {
    let output = Command::new("php").args(["-n", "-i"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let value = |name: &str| told.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" => ")).unwrap();
    let source = folder.join("needy.c");
    fs::write(&source, EXTENSION).unwrap();
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-w", "-DNAME=\"needy\""])
        .arg(format!("-DAPI={}", value("PHP Extension")))
        .arg(format!("-DBUILD=\"{}\"", value("PHP Extension Build")))
        .arg(format!("-DVERSION=\"{}\"", value("PHP Version")))
        .arg("-o")
        .arg(folder.join("needy.so"))
        .arg(&source);
    let output = compiler.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn compare(stage: &Stage, folder: &Path, env: &[(&str, &str)], runtimes: &str) -> Said {
    let args = ["compare", ".", "--runtimes", runtimes, "--no-yard-stick", "--load", "closed:1"];
    let short = ["--cpus", "0.5", "--memory", "128Mi", "--duration", "500ms", "--warm-up", "200ms", "--rounds", "1"];
    stage.run_in_with(folder, env, &[&args[..], &short].concat())
}

fn words(said: &Said) -> String {
    said.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_an_extension_needs_is_loaded_before_it_where_its_owner_has_it_after() {
    const TEST: &str = "what_an_extension_needs_is_loaded_before_it_where_its_owner_has_it_after";
    if !have(TEST, &["nginx", "php-fpm", "php", "cc"]) {
        return;
    }
    let owner = readable();
    extension(owner.path());
    let needy = format!("extension={}\n", owner.path().join("needy.so").display());
    let scanned = owner.path().join("conf.d");
    write(&scanned, &[("10-needy.ini", &needy), ("20-pdo.ini", "extension=pdo\n")]);
    let folder = tempfile::tempdir().unwrap();
    let page = "<?php echo implode(' ', array_filter(['pdo', 'needy'], 'extension_loaded'));";
    write(folder.path(), &[("public/index.php", page)]);
    let stage = Stage::new();
    let scan = scanned.display().to_string();
    let said = compare(&stage, folder.path(), &[("PHP_INI_SCAN_DIR", &scan)], "nginx-fpm,php-cli-server");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(words(&said).contains("GET /: status 200 OK, 9 bytes"), "{}", said.stderr);
    stage.assert_nothing_left();
}

#[test]
fn a_package_that_calls_an_extension_has_it_in_its_worker() {
    if !have("a_package_that_calls_an_extension_has_it_in_its_worker", &["php"]) {
        return;
    }
    let programs = readable();
    write(programs.path(), &[("rr", RR)]);
    fs::set_permissions(programs.path().join("rr"), PermissionsExt::from_mode(0o755)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let installed = r#"{"packages": [{"name": "spiral/roadrunner-http", "version": "3.5.0"}]}"#;
    let handler = "<?php require_once __DIR__ . '/vendor/autoload.php';\n\
                   return fn ($request) => new Nyholm\\Psr7\\Response(200, [], 'hello');";
    // Its worker sends files, too, as the server itself would send what is denied.
    let plan = "app: {dir: ., kind: psr-15-handler, handler: handler.php, extensions: minimal, deny: [private/], \
                requests: [{path: /}, {path: /style.css}, {path: /private/x.css}]}\n";
    write(
        folder.path(),
        &[
            ("stampede.yaml", plan),
            ("handler.php", handler),
            ("public/style.css", "a {}"),
            ("public/private/x.css", "not shown"),
            ("vendor/autoload.php", PACKAGES),
            ("vendor/composer/installed.json", installed),
            ("vendor/spiral/roadrunner-http/composer.json", "{}"),
        ],
    );
    let stage = Stage::new();
    let path = OsString::from(format!("{}:{}", programs.path().display(), std::env::var("PATH").unwrap_or_default()));
    let said = compare(&stage, folder.path(), &[("PATH", path.to_str().unwrap())], "roadrunner");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for (path, bytes) in [("/", 5), ("/style.css", 4), ("/private/x.css", 5)] {
        let answer = format!("GET {path}: status 200 OK, {bytes} bytes");
        assert!(words(&said).contains(&answer), "{answer}: {}", said.stderr);
    }
    stage.assert_nothing_left();
}
