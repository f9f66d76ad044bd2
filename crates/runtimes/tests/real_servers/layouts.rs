//! Small folders with the layouts of the frameworks and servers that are known, each found by a look and served as it was found.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use stampede_core::{App, Bytes, Denied, Fallback, Runtime};
use stampede_plan::{Catalogue, ComparePlan, DatabaseFlags, MachineSize, SiteFlags};
use tempfile::TempDir;

use crate::paths::{Expected, SCRIPT, ask, assert_none, problem};
use crate::start;

/// What a look finds in them is tested where it looks.
const LAYOUTS: &str = include_str!("../../../plan/src/look/tests/layouts.yaml");

/// A web server with rules for paths, and one with a script for that.
const SERVERS: [&str; 2] = ["nginx-fpm", "php-cli-server"];

const MACHINE: MachineSize = MachineSize { cpus: 2, memory: Bytes::from_mib(4096), connections: 1024 };

/// So many layouts are served at once.
const THREADS: usize = 2;

const HIDDEN: &str = "never sent";

#[derive(Deserialize)]
struct Layout {
    name: String,
    #[serde(default)]
    packages: Vec<String>,
    files: Vec<String>,
    index: PathBuf,
}

/// All runtimes, and no workload.
struct Runtimes;

impl Catalogue for Runtimes {
    fn runtimes(&self) -> &[&'static dyn Runtime] {
        stampede_runtimes::all()
    }

    fn workloads(&self) -> Vec<String> {
        Vec::new()
    }

    fn workload_folder(&self, name: &str) -> Result<PathBuf, String> {
        Err(name.to_owned())
    }

    fn generated(&self, _: &Path, command: &[String]) -> Result<PathBuf, String> {
        Err(command.join(" "))
    }
}

/// The application that a look finds in a folder, which must be of this framework or server. What its maker's packages need is
/// not here, and neither are they.
fn found(name: &str, folder: &Path) -> App {
    let plan =
        ComparePlan::of_application(folder, &SiteFlags::default(), &DatabaseFlags::default(), MACHINE, &Runtimes);
    let plan = plan.unwrap_or_else(|mistakes| panic!("{name}: {mistakes}"));
    assert_eq!(plan.look.expect("a look").framework, Some(name));
    let app = plan.workload.apps.into_iter().next().expect("an application");
    App { extensions: Vec::new(), prepare: Vec::new(), ..app }
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("make a folder");
    fs::write(path, text).expect("write a file");
}

/// A folder with a layout, and with a style sheet in its public folder.
fn folder(Layout { name: _, packages, files, index }: &Layout) -> TempDir {
    let folder = TempDir::new().expect("make a folder");
    let packages: Vec<_> = packages.iter().map(|name| format!("\"{name}\": \"*\"")).collect();
    write(folder.path(), "composer.json", &format!("{{\"require\": {{{}}}}}", packages.join(", ")));
    files.iter().for_each(|file| write(folder.path(), file, SCRIPT));
    write(&folder.path().join(index.parent().expect("a folder")), "style.css", "a { color: red }\n");
    folder
}

/// Files of the public folder that its maker's rules never send, one of each kind, by their paths.
fn denied(app: &App, public: &Path) -> Vec<String> {
    let example = |denied: &Denied| match denied {
        Denied::Folder(folder) => format!("{folder}/x.css"),
        Denied::Ending(ending) => format!("x.{ending}"),
        Denied::Name(name) => name.clone(),
    };
    let mut kinds = Vec::new();
    let new = app.site.denied.iter().filter(|denied| {
        let is_new = !kinds.contains(&std::mem::discriminant(*denied));
        kinds.push(std::mem::discriminant(*denied));
        is_new
    });
    let names: Vec<String> = new.map(example).filter(|name| !name.ends_with(".php")).collect();
    names.iter().for_each(|name| write(public, name, HIDDEN));
    names.into_iter().map(|name| format!("/{name}")).collect()
}

/// What is wrong with the answers to a layout's paths.
fn problems(layout: &Layout) -> Vec<String> {
    let Layout { name, index, .. } = layout;
    let folder = folder(layout);
    let app = found(name, folder.path());
    let public = index.parent().expect("a folder");
    let denied = denied(&app, &folder.path().join(public));
    let script = index.strip_prefix(public).expect("a script of the folder").to_str().expect("a name");
    let info = (app.site.fallback == Fallback::PathInfo).then_some("/some/page");
    let table = [
        ("/index.php", Expected::Script("index.php", None)),
        ("/style.css", Expected::File(b"a { color", "css")),
        ("/some/page", Expected::Script(script, info)),
    ];
    let mut problems = Vec::new();
    for id in SERVERS {
        let Some(server) = start(id, &app, &[]) else { continue };
        let wrong = table.iter().filter_map(|(path, expected)| problem(*expected, path, &ask(&server, "GET", path)));
        let home = ask(&server, "GET", "/");
        let is_home = home.status == 200 && String::from_utf8_lossy(&home.body).contains("\"script\":\"index.php\"");
        let sent = denied.iter().filter(|path| ask(&server, "GET", path).body == HIDDEN.as_bytes());
        let all =
            wrong.chain((!is_home).then(|| format!("/ {home:?}"))).chain(sent.map(|path| format!("{path} is sent")));
        problems.extend(all.map(|problem| format!("{name}, {id}: {problem}")));
        server.stop();
    }
    problems
}

#[test]
fn each_layout_is_served_as_it_was_found() {
    let layouts: Vec<Layout> = serde_saphyr::from_str(LAYOUTS).expect("parse the layouts");
    // Servers are waited for more than they compute.
    let parts = layouts.chunks(layouts.len().div_ceil(THREADS));
    let problems = std::thread::scope(|scope| {
        let threads: Vec<_> =
            parts.map(|part| scope.spawn(|| part.iter().flat_map(problems).collect::<Vec<_>>())).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a thread that ends")).collect()
    });
    assert_none(problems);
}

/// In place of the packages that applications with a server of their own are made with: each class listens where it is told, and
/// answers with its number of workers.
const PACKAGES: &str = r#"<?php

namespace {
    function serve(string $address, int $workers): never
    {
        $server = stream_socket_server("tcp://$address", $code, $problem) ?: exit("$problem\n");
        while (true) {
            $connection = @stream_socket_accept($server, -1);
            if ($connection === false) {
                continue;
            }
            do {
                $line = fgets($connection);
            } while ($line !== false && trim($line) !== '');
            fwrite($connection, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n$workers");
            fclose($connection);
        }
    }

    class Worker
    {
        public int $count = 1;
        private static self $last;

        public function __construct(private string $address)
        {
            self::$last = $this;
        }

        public static function runAll(): void
        {
            serve(substr(self::$last->address, strlen('http://')), self::$last->count);
        }
    }

    class SocketHttpServer
    {
        public function expose(string $address): void
        {
            serve($address, 1);
        }
    }
}

namespace Hyperf {
    class Constant
    {
        public const OPTION_WORKER_NUM = 'worker_num';
    }
}

namespace React\Socket {
    class SocketServer
    {
        public function __construct(public readonly string $address)
        {
        }
    }
}

namespace React\Http {
    class HttpServer
    {
        public function listen(\React\Socket\SocketServer $socket): void
        {
            serve($socket->address, 1);
        }
    }
}

namespace Swoole\Http {
    if (!class_exists(Server::class)) {
        class Server
        {
            public array $setting;

            public function __construct(private string $host, private int $port)
            {
            }

            public function set(array $setting): void
            {
                $this->setting = $setting;
            }

            public function on(string $event, callable $answer): void
            {
            }

            public function start(): void
            {
                serve("$this->host:$this->port", $this->setting['worker_num']);
            }
        }
    }
}
"#;

const SWOOLE: &str = r"<?php
require __DIR__ . '/../lib/packages.php';

use Swoole\Http\Server;

$server = new Server('0.0.0.0', 9501);
$server->set([
    'worker_num' => 9,
]);
$server->on('request', fn ($request, $response) => $response->end((string) $server->setting['worker_num']));
$server->start();
";

const REACT: &str = r"<?php
require __DIR__ . '/lib/packages.php';
$socket = new React\Socket\SocketServer('0.0.0.0:8080');
$http = new React\Http\HttpServer();
$http->listen($socket);
";

/// RoadRunner, whose address and workers are taken from its command line, is not among them: it needs its program.
#[test]
fn each_application_that_brings_its_server_listens_where_it_is_told() {
    for (name, files, workers) in [
        (
            "webman",
            &[
                (
                    "start.php",
                    "<?php require 'lib/packages.php'; $process = (require 'config/process.php')['webman'];\n\
                     serve(substr($process['listen'], 7), $process['count']);\n",
                ),
                (
                    "config/process.php",
                    "<?php\nreturn ['webman' => [\n    'listen' => 'http://0.0.0.0:8787',\n    'count' => 9,\n]];\n",
                ),
                ("support/bootstrap.php", "<?php\n"),
            ][..],
            "3",
        ),
        (
            "workerman",
            &[(
                "start.php",
                "<?php require 'lib/packages.php';\n$worker = new Worker('http://0.0.0.0:2345');\n$worker->count = 9;\n\
                 Worker::runAll();\n",
            )],
            "3",
        ),
        (
            "hyperf",
            &[
                (
                    "bin/hyperf.php",
                    "<?php require 'lib/packages.php'; $config = require 'config/autoload/server.php';\n\
                     $server = $config['servers'][0];\n\
                     serve(\"$server[host]:$server[port]\", $config['settings']['worker_num']);\n",
                ),
                (
                    "config/autoload/server.php",
                    "<?php\nuse Hyperf\\Constant;\nreturn ['servers' => [[\n    'host' => '0.0.0.0',\n    'port' => 9501,\n]], \
                     'settings' => [\n    Constant::OPTION_WORKER_NUM => 9,\n]];\n",
                ),
            ],
            "3",
        ),
        ("swoole", &[("bin/server.php", SWOOLE)], "3"),
        (
            "amphp",
            &[(
                "server.php",
                "<?php require 'lib/packages.php';\n$server = new SocketHttpServer();\n$server->expose('0.0.0.0:1337');\n",
            )],
            "1",
        ),
        ("reactphp", &[("server.php", REACT)], "1"),
    ] {
        let folder = TempDir::new().expect("make a folder");
        write(folder.path(), "lib/packages.php", PACKAGES);
        files.iter().for_each(|(file, text)| write(folder.path(), file, text));
        let app = found(name, folder.path());
        let settings = if workers == "1" { &[][..] } else { &[("WORKERS", workers)] };
        let Some(server) = start("custom", &app, settings) else { continue };
        let answer = ask(&server, "GET", "/");
        assert_eq!(
            (answer.status, &*String::from_utf8_lossy(&answer.body)),
            (200, workers),
            "{name}: {}",
            server.log()
        );
        server.stop();
    }
}
