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
fn files_of_the_public_folder_are_loaded_beside_pages() {
    const NAME: &str = "files_of_the_public_folder_are_loaded_beside_pages";
    if !have(NAME, &["nginx", "apache2", "caddy", "php-fpm", "php"]) {
        return;
    }
    let stage = Stage::new();
    let plan = "app:\n  dir: .\n  requests: [{path: /}, {path: /style.css}, {path: /img/logo.svg}, {path: /about}]\n";
    let app = folder(&[
        ("stampede.yaml", plan),
        ("public/index.php", "<?php echo '<p>page of ', $_SERVER['REQUEST_URI'], '</p>';"),
        ("public/style.css", "a { color: red }\n"),
        ("public/img/logo.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>\n"),
    ]);
    let runtimes = "nginx-fpm,apache-fpm,caddy-fpm,php-cli-server";
    let said = compare(&stage, app.path(), &["--runtimes", runtimes, "--json", "-"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let study = json(&said);
    assert_measured(&study, &runtimes.split(',').collect::<Vec<_>>());
    assert_eq!(study["cases"][0]["public_folder"], "public: its files, the rest to the front controller");
    for part in
        ["GET /style.css: status 200 OK, 17 bytes", "GET /img/logo.svg: status 200 OK", "GET /about: status 200 OK"]
    {
        assert!(said.stderr.contains(part), "{part}\n{}", said.stderr);
    }
}

#[test]
fn a_plain_folder_is_compared_with_nothing_typed_but_its_name() {
    if !have("a_plain_folder_is_compared_with_nothing_typed_but_its_name", &["nginx", "php-fpm", "php"]) {
        return;
    }
    let stage = Stage::new();
    let app = folder(&[("shop/public/index.php", PLAIN)]);
    let said = compare(&stage, app.path(), &["shop", "--runtimes", "php-cli-server,nginx-fpm", "--json", "-"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_measured(&json(&said), &["php-cli-server", "nginx-fpm"]);
    for part in [
        "shop is a PHP application: front-controller public/index.php",
        "its PHP extensions: ctype, fileinfo, iconv, mbstring, tokenizer",
        "recorded on nginx-fpm",
        "GET /: status 200 OK, ",
        "varies: time, token",
        "bytes between them are looked for",
    ] {
        assert!(said.stderr.contains(part), "{part}\n{}", said.stderr);
    }
    assert!(!said.stderr.lines().any(|line| line.chars().count() > 80), "{}", said.stderr);
    // Nothing was written where the application is.
    assert_eq!(fs::read_dir(app.path().join("shop")).unwrap().count(), 1);

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
fn init_writes_a_plan_that_runs_unchanged_and_holds_the_answers() {
    if !have("init_writes_a_plan_that_runs_unchanged_and_holds_the_answers", &["php"]) {
        return;
    }
    let stage = Stage::new();
    let app = folder(&[("index.php", PLAIN)]);
    let said = stage.run_in(app.path(), &["init"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("wrote ./stampede.yaml and ./stampede.expected/"), "{}", said.stdout);
    assert!(
        said.stderr.contains("not by webman, which serves psr-15-handler\n")
            && said.stderr.contains("not by roadrunner, swoole, which serve psr-15-handler, symfony, laravel\n"),
        "{}",
        said.stderr
    );
    let plan = fs::read_to_string(app.path().join("stampede.yaml")).unwrap();
    assert!(plan.lines().all(|line| line.chars().count() <= 100), "{plan}");
    let answer = app.path().join("stampede.expected/get.html");
    let expected = fs::read_to_string(&answer).unwrap();
    assert_eq!(
        expected,
        "<p>Served at ⟨time⟩</p><input name=\"_token\" value=\"⟨token⟩\"><p>A word has 3 letters</p>\n"
    );

    let again = stage.run_in(app.path(), &["init"]);
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.stderr.contains("stampede.yaml is there already; add --force"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(app.path().join("stampede.yaml")).unwrap(), plan);

    let flags = ["--runtimes", "php-cli-server", "--json", "-"];
    let said = compare(&stage, app.path(), &flags);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_measured(&json(&said), &["php-cli-server"]);
    assert!(!said.stderr.contains("recorded on"), "{}", said.stderr);

    fs::write(&answer, expected.replace("3 letters", "4 letters")).unwrap();
    let said = compare(&stage, app.path(), &flags);
    assert_eq!(said.code, Some(5), "{said:?}");
    let reason = json(&said)["cases"][0]["trials"][0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("wrong answer to `GET /`") && reason.contains("4 letters"), "{reason}");

    let said = stage.run_in(app.path(), &["init", "--force"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(fs::read_to_string(&answer).unwrap(), expected);
    stage.assert_nothing_left();
}

#[test]
fn an_application_may_write_in_its_folder_and_is_told_when_it_may_not_elsewhere() {
    if !have(
        "an_application_may_write_in_its_folder_and_is_told_when_it_may_not_elsewhere",
        &["nginx", "php-fpm", "php"],
    ) {
        return;
    }
    let stage = Stage::new();
    let app = |target: &str| {
        let script = format!(
            "<?php\n$old = @file_get_contents({target}) ?: 'none';\n\
             file_put_contents({target}, 'x') or http_response_code(500);\necho 'done';\n"
        );
        let plan = "app:\n  dir: .\n  kind: front-controller\n  index: index.php\n  requests:\n  \
            - {path: /, expect: {status: 200, body: done}}\nruntimes: [php-cli-server, nginx-fpm]\n";
        folder(&[("index.php", &script), ("stampede.yaml", plan)])
    };
    let inside = app("__DIR__ . '/cache.txt'");
    let said = compare(&stage, inside.path(), &["--json", "-"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_measured(&json(&said), &["php-cli-server", "nginx-fpm"]);
    assert!(!inside.path().join("cache.txt").exists());
    // The folder of the application itself, which is not where its copy is.
    let own = tempfile::tempdir().unwrap();
    let outside = app(&format!("'{}/cache.txt'", own.path().display()));
    let said = compare(&stage, outside.path(), &["--json", "-"]);
    assert_eq!(said.code, Some(5), "{}", said.stderr);
    for case in json(&said)["cases"].as_array().unwrap() {
        let reason = case["trials"][0]["reason"].as_str().unwrap();
        for part in ["wrong answer to `GET /`", "a program was refused access", "may write in its own folder"] {
            assert!(reason.contains(part), "{part}\n{reason}");
        }
    }
    stage.assert_nothing_left();
}

#[test]
fn an_application_is_prepared_once_with_its_environment() {
    if !have("an_application_is_prepared_once_with_its_environment", &["nginx", "php-fpm", "php"]) {
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
        echo ', ', count(file(\"$dir/times\"));\n";
    let app = folder(&[("index.php", index), ("warm.php", warm), ("stampede.yaml", plan)]);
    let said = compare(&stage, app.path(), &["--json", "-"]);
    assert_eq!(said.code, Some(0), "{} {}", said.stderr, said.stdout);
    assert_measured(&json(&said), &["php-cli-server", "nginx-fpm"]);
    assert!(!app.path().join("warm").exists());
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
    let flags = [".", "--runtimes", "php-cli-server,nginx-fpm", "--load", "closed:2", "--warm-up", "2s", "--json", "-"];
    let said = compare(&stage, app.path(), &flags);
    assert_eq!(said.code, Some(0), "{} {}", said.stderr, said.stdout);
    assert_measured(&json(&said), &["php-cli-server", "nginx-fpm"]);
    for part in ["is a Symfony application with symfony/framework-bundle ^5.4", "GET /: status 200 OK, 15 bytes\n"] {
        assert!(said.stderr.contains(part), "{part}\n{}", said.stderr);
    }
    stage.assert_nothing_left();
}

#[test]
fn a_laravel_application_is_compared() {
    let test = "a_laravel_application_is_compared";
    let library = "/usr/share/php/Illuminate/autoload.php";
    if !have(test, &["nginx", "php-fpm", "php"]) || !has_file(test, library) {
        return;
    }
    let bootstrap = format!(
        "<?php\nrequire_once '{library}';\n\
         $app = new Illuminate\\Foundation\\Application(dirname(__DIR__));\n\
         $app->singleton(Illuminate\\Contracts\\Http\\Kernel::class, Illuminate\\Foundation\\Http\\Kernel::class);\n\
         $app->singleton(Illuminate\\Contracts\\Debug\\ExceptionHandler::class, Illuminate\\Foundation\\Exceptions\\Handler::class);\n\
         $app->booted(fn ($app) => $app['router']->get('/', fn () => 'Hello from ' . $app->environment()));\n\
         return $app;\n"
    );
    let index = "<?php\n$app = require __DIR__ . '/../bootstrap/app.php';\n\
        $kernel = $app->make(Illuminate\\Contracts\\Http\\Kernel::class);\n\
        $request = Illuminate\\Http\\Request::capture();\n\
        $response = $kernel->handle($request);\n$response->send();\n$kernel->terminate($request, $response);\n";
    let config = "<?php\nreturn ['name' => 'Hello', 'env' => env('APP_ENV'), 'debug' => false, 'timezone' => 'UTC',\n\
        'locale' => 'en', 'fallback_locale' => 'en', 'key' => 'base64:U3RhbXBlZGUncyBoZWxsbyB3b3JrbG9hZCwgbm8ga2U=',\n\
        'cipher' => 'AES-256-CBC', 'providers' => [Illuminate\\View\\ViewServiceProvider::class,\n\
        Illuminate\\Filesystem\\FilesystemServiceProvider::class], 'aliases' => []];\n";
    let app = folder(&[
        ("artisan", ""),
        ("bootstrap/app.php", &bootstrap),
        ("bootstrap/cache/.gitignore", ""),
        ("storage/framework/views/.gitignore", ""),
        ("config/app.php", config),
        ("config/view.php", "<?php\nreturn ['paths' => [], 'compiled' => storage_path('framework/views')];\n"),
        (
            "config/logging.php",
            "<?php\nreturn ['default' => 'errorlog', 'channels' => ['errorlog' => ['driver' => 'errorlog']]];\n",
        ),
        ("public/index.php", index),
    ]);
    let stage = Stage::new();
    let flags = [".", "--runtimes", "php-cli-server,nginx-fpm", "--load", "closed:2", "--warm-up", "2s", "--json", "-"];
    let said = compare(&stage, app.path(), &flags);
    assert_eq!(said.code, Some(0), "{} {}", said.stderr, said.stdout);
    assert_measured(&json(&said), &["php-cli-server", "nginx-fpm"]);
    for part in ["is a Laravel application: front-controller public/index.php", "GET /: status 200 OK, 21 bytes\n"] {
        assert!(said.stderr.contains(part), "{part}\n{}", said.stderr);
    }
    stage.assert_nothing_left();
}
