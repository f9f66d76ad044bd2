//! `stampede compare DIR` and `stampede init`: with nothing typed but the folder.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::stage::{Said, Stage, have};

/// What keeps a test short.
const SHORT: [&str; 9] =
    ["--cpus", "0.5", "--memory", "128Mi", "--duration", "500ms", "--rounds", "1", "--no-yard-stick"];

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn compare(stage: &Stage, folder: &Path, flags: &[&str]) -> Said {
    let warm_up = if flags.contains(&"--warm-up") { &[][..] } else { &["--warm-up", "200ms"] };
    stage.run_in(folder, &[&["compare"], flags, &SHORT, warm_up].concat())
}

fn json(said: &Said) -> Value {
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

fn assert_measured(study: &Value, cases: &[&str]) {
    let found = study["cases"].as_array().unwrap();
    assert_eq!(found.iter().map(|case| case["id"].as_str().unwrap()).collect::<Vec<_>>(), cases);
    for case in found {
        for trial in case["trials"].as_array().unwrap() {
            assert_eq!(trial["outcome"], "measured", "{trial}");
            assert!(trial["requests"]["ok"].as_u64() > Some(0), "{trial}");
        }
    }
}

fn has_file(test: &str, path: &str) -> bool {
    let found = Path::new(path).is_file();
    if !found {
        let _ = writeln!(std::io::stderr(), "SKIP {test}: needs {path}");
    }
    found
}

/// An application that answers with a token, the time and the number of letters of a word.
const PLAIN: &str = "<?php\n\
    header('Content-Type: text/html');\n\
    if ($_SERVER['REQUEST_URI'] !== '/') { http_response_code(404); exit('nothing'); }\n\
    echo '<p>Served at ', date('D, d M Y H:i:s'), ' GMT</p><input name=\"_token\" value=\"', bin2hex(random_bytes(8)), '\">';\n\
    echo '<p>A word has ', mb_strlen('häh'), ' letters</p>', \"\\n\";\n";

#[test]
fn a_plain_folder_is_compared_and_its_plan_written_with_nothing_typed_but_its_name() {
    const NAME: &str = "a_plain_folder_is_compared_and_its_plan_written_with_nothing_typed_but_its_name";
    if !have(NAME, &["nginx", "php-fpm", "php"]) {
        return;
    }
    let stage = Stage::new();
    let app = folder(&[("shop/public/index.php", PLAIN)]);
    let said = compare(&stage, app.path(), &["shop", "--runtimes", "php-cli-server,nginx-fpm", "--json", "-"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_measured(&json(&said), &["php-cli-server", "nginx-fpm"]);
    for part in [
        "shop is a PHP application: front-controller public/index.php",
        "requires the PHP extensions ctype, fileinfo, iconv, mbstring, tokenizer",
        "recorded on nginx-fpm",
        "GET /: status 200 OK, ",
        "varies: time, token",
        "bytes between them",
    ] {
        assert!(said.stderr.contains(part), "{part}\n{}", said.stderr);
    }
    assert!(!said.stderr.lines().any(|line| line.chars().count() > 80), "{}", said.stderr);
    // Nothing was written where the application is.
    assert_eq!(fs::read_dir(app.path().join("shop")).unwrap().count(), 1);

    // The plan that is written runs unchanged.
    let said = stage.run_in(app.path(), &["init", "shop"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("wrote shop/stampede.yaml and shop/stampede.expected/"), "{}", said.stdout);
    let said = compare(&stage, app.path(), &["shop", "--runtimes", "php-cli-server", "--json", "-"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_measured(&json(&said), &["php-cli-server"]);
    assert!(!said.stderr.contains("recorded on"), "{}", said.stderr);

    // What a study was of is found where it lies, and from within.
    let elsewhere = folder(&[]);
    let export = |from: &Path, to: &str| {
        let to = elsewhere.path().join(to);
        stage.run_in(from, &["export", "config", "--study", "latest", "-o", to.to_str().unwrap()])
    };
    for (from, to) in [(app.path().to_owned(), "beside"), (app.path().join("shop"), "within")] {
        let said = export(&from, to);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
    }
    let said = export(elsewhere.path(), "nowhere");
    let told = "was of shop, which is not here; go to where it is, or name its folder or plan";
    assert!(said.code == Some(2) && said.stderr.contains(told), "{}", said.stderr);
    stage.assert_nothing_left();
}

#[test]
fn an_application_is_prepared_once_with_its_environment_and_may_write_in_its_folder() {
    const NAME: &str = "an_application_is_prepared_once_with_its_environment_and_may_write_in_its_folder";
    if !have(NAME, &["nginx", "php-fpm", "php"]) {
        return;
    }
    let stage = Stage::new();
    let plan = "app:\n  dir: .\n  env: {GREETING: 'good day', WIDE: 7}\n  prepare:\n  \
        - [php, warm.php, 'a b']\n  \
        - [sh, -c, 'echo $HOME > home; echo $$ >> times']\n  requests:\n  \
        - {path: /, expect: {status: 200, body: 'good day 7, a b, not root, 1'}}\nruntimes: [php-cli-server, nginx-fpm]\n";
    let warm = "<?php\nfile_put_contents('warm', getenv('GREETING') . ' ' . getenv('WIDE') . ', ' . $argv[1]);\n";
    let index = "<?php\n$dir = dirname(__FILE__);\n\
        echo file_get_contents(\"$dir/warm\"), fileowner(\"$dir/warm\") === 0 ? ', root' : ', not root';\n\
        echo ', ', count(file(\"$dir/times\"));\n\
        file_put_contents(\"$dir/cache\", 'x') or http_response_code(500);\n";
    let app = folder(&[("index.php", index), ("warm.php", warm), ("stampede.yaml", plan)]);
    let said = compare(&stage, app.path(), &["--json", "-"]);
    assert_eq!(said.code, Some(0), "{} {}", said.stderr, said.stdout);
    assert_measured(&json(&said), &["php-cli-server", "nginx-fpm"]);
    assert!(!app.path().join("warm").exists() && !app.path().join("cache").exists());
    stage.assert_nothing_left();

    let failing = plan.replace("warm.php, 'a b'", "cold.php");
    fs::write(app.path().join("stampede.yaml"), failing).unwrap();
    let said = compare(&stage, app.path(), &[]);
    assert_eq!(said.code, Some(5), "{said:?}");
    for part in ["run `php cold.php` to prepare the application", "ended with status 1", "cold.php"] {
        assert!(said.stderr.contains(part), "{part}\n{}", said.stderr);
    }
    stage.assert_nothing_left();
}

#[test]
fn a_go_module_is_compared() {
    if !have("a_go_module_is_compared", &["go"]) {
        return;
    }
    let stage = Stage::new();
    let main = "package main\n\nimport (\n\t\"fmt\"\n\t\"net/http\"\n\t\"os\"\n)\n\nfunc main() {\n\
        \thttp.HandleFunc(\"/\", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, \"hi\") })\n\
        \thttp.ListenAndServe(os.Getenv(\"LISTEN\"), nil)\n}\n";
    let app = folder(&[("go.mod", "module example.org/hi\n\ngo 1.19\n"), ("main.go", main)]);
    let said = compare(&stage, app.path(), &[".", "--json", "-"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_measured(&json(&said), &["go"]);
    assert!(said.stderr.contains("is a Go program: go-program"), "{}", said.stderr);
    assert!(said.stderr.contains("GET /: status 200 OK, 2 bytes\n"), "{}", said.stderr);
    stage.assert_nothing_left();
}

#[test]
fn a_symfony_application_is_compared() {
    let test = "a_symfony_application_is_compared";
    let library = "/usr/share/php/Symfony/Bundle/FrameworkBundle/autoload.php";
    if !have(test, &["nginx", "php-fpm", "php"]) || !has_file(test, library) {
        return;
    }
    let kernel = "<?php\nnamespace App;\n\
        use Symfony\\Bundle\\FrameworkBundle\\Kernel\\MicroKernelTrait;\n\
        use Symfony\\Component\\DependencyInjection\\Loader\\Configurator\\ContainerConfigurator;\n\
        use Symfony\\Component\\HttpFoundation\\Response;\n\
        use Symfony\\Component\\HttpKernel\\Kernel as BaseKernel;\n\
        use Symfony\\Component\\Routing\\Loader\\Configurator\\RoutingConfigurator;\n\
        class Kernel extends BaseKernel {\n\
        use MicroKernelTrait;\n\
        public function registerBundles(): iterable { foreach (require __DIR__ . '/../config/bundles.php' as $class => $on) { yield new $class(); } }\n\
        public function getProjectDir(): string { return dirname(__DIR__); }\n\
        protected function configureContainer(ContainerConfigurator $c): void { $c->extension('framework', ['secret' => 's', 'http_method_override' => false]); }\n\
        protected function configureRoutes(RoutingConfigurator $r): void { $r->add('home', '/')->controller([self::class, 'home']); }\n\
        public function home(): Response { return new Response('Hello from ' . $this->getEnvironment()); }\n}\n";
    let load = format!("<?php\nrequire_once '{library}';\nrequire_once __DIR__ . '/src/Kernel.php';\n");
    let index = "<?php\nrequire_once __DIR__ . '/../load.php';\n\
        $kernel = new App\\Kernel($_ENV['APP_ENV'], (bool) $_ENV['APP_DEBUG']);\n\
        $request = Symfony\\Component\\HttpFoundation\\Request::createFromGlobals();\n\
        $response = $kernel->handle($request);\n$response->send();\n$kernel->terminate($request, $response);\n";
    let app = folder(&[
        (
            "config/bundles.php",
            "<?php\nreturn [Symfony\\Bundle\\FrameworkBundle\\FrameworkBundle::class => ['all' => true]];\n",
        ),
        ("src/Kernel.php", kernel),
        ("load.php", &load),
        ("public/index.php", index),
        ("composer.json", "{\"require\": {\"symfony/framework-bundle\": \"^5.4\"}}"),
    ]);
    let stage = Stage::new();
    let flags =
        [".", "--runtimes", "php-cli-server,nginx-fpm", "--load", "closed:2", "--warm-up", "500ms", "--json", "-"];
    let said = compare(&stage, app.path(), &flags);
    assert_eq!(said.code, Some(0), "{} {}", said.stderr, said.stdout);
    assert_measured(&json(&said), &["php-cli-server", "nginx-fpm"]);
    for part in ["is a Symfony application with symfony/framework-bundle ^5.4", "GET /: status 200 OK, 15 bytes\n"] {
        assert!(said.stderr.contains(part), "{part}\n{}", said.stderr);
    }
    stage.assert_nothing_left();
}

#[test]
fn settings_beside_scripts_are_in_force_on_every_runtime() {
    let test = "settings_beside_scripts_are_in_force_on_every_runtime";
    if !have(test, &["nginx", "php-fpm", "apache2", "php"]) {
        return;
    }
    let shows =
        "<?php header('Content-Type: text/plain'); echo ini_get('memory_limit'), ' ', ini_get('upload_max_filesize');";
    let ini = "memory_limit = 201M\nupload_max_filesize = \"64M\" ; of the shop\nerror_log = /var/log/shop.log\n";
    let app = folder(&[("public/index.php", shows), ("public/.user.ini", ini)]);
    let stage = Stage::new();
    let flags = [".", "--runtimes", "nginx-fpm,apache-mod-php,php-cli-server", "--json", "-"];
    let said = compare(&stage, app.path(), &flags);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_measured(&json(&said), &["nginx-fpm", "apache-mod-php", "php-cli-server"]);
    let words = said.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "public/.user.ini, which PHP-FPM alone reads, is for every runtime: memory_limit, upload_max_filesize; not taken of \
         public/.user.ini: error_log",
        "GET /: status 200 OK, 8 bytes",
    ] {
        assert!(words.contains(part), "{part}\n{}", said.stderr);
    }
    stage.assert_nothing_left();
}
