//! Images that serve by themselves, in the engine of the tests with containers.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::counter::go_app;
use crate::docker::{BASE, Engine, ends_when_killed, run};
use crate::stage::{Stage, have};

/// As short as a study can be.
const SHORT: [&str; 10] =
    ["--cpus", "0.5", "--memory", "128Mi", "--duration", "1s", "--warm-up", "200ms", "--rounds", "1"];

/// What all answer but those that do not.
const SCRIPT: &str = "<?php header('Content-Type: text/plain; charset=utf-8'); echo 'hello';";

/// In the place of nginx of its makers, without what that has more.
const NGINX: &str = "EXPOSE 80\nSTOPSIGNAL SIGQUIT\nCMD [\"nginx\", \"-g\", \"daemon off;\"]\n";

/// PHP-FPM as its makers' image has it: it listens on all addresses, and nothing before it speaks HTTP.
const FPM: &str = "RUN printf '[global]\\nerror_log = /dev/stderr\\ndaemonize = no\\n[www]\\nuser = www-data\\ngroup = \
    www-data\\nlisten = 9000\\npm = static\\npm.max_children = 4\\n' >/fpm.conf\nCOPY index.php \
    /var/www/html/public/index.php\nWORKDIR /var/www/html\nSTOPSIGNAL SIGQUIT\nCMD [\"php-fpm8.2\", \"-y\", \"/fpm.conf\"]\n";

/// A web server and PHP-FPM, as they are usually written down, with the code in a volume of both, and something beside them.
const COMPOSE: &str = "services:
  web:
    image: nginx:stable
    depends_on: [php]
    ports: ['8080:80']
    volumes: ['./nginx.conf:/etc/nginx/nginx.conf:ro', 'code:/var/www/html']
  php:
    build: .
    depends_on: [cache]
    volumes: ['code:/var/www/html']
  cache: {image: 'redis:test'}
volumes: {code: {}}
";

const NGINX_CONF: &str = r"events {}
http {
    access_log off;
    server {
        listen 80;
        root /var/www/html/public;
        location / { try_files $uri /index.php; }
        location ~ \.php$ {
            include /etc/nginx/fastcgi_params;
            fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
            fastcgi_pass php:9000;
        }
    }
}
";

/// Makes the images of [`are_compared`], beside whatever else is done meanwhile.
pub(crate) fn made(engine: &Engine) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let alone = at("alone");
    static_program(&alone);
    fs::write(
        alone.join("Dockerfile"),
        "FROM scratch\nCOPY server /server\nENV LISTEN=:8080\nEXPOSE 80\nHEALTHCHECK CMD [\"/nothing\"]\nCMD [\"/server\"]\n",
    )
    .unwrap();
    // PHP's own server ends by this signal alone where it is the first process.
    let php =
        "COPY index.php /srv/index.php\nSTOPSIGNAL SIGINT\nCMD [\"php\", \"-S\", \"0.0.0.0:80\", \"/srv/index.php\"]\n";
    let listens =
        "CMD [\"php\", \"-r\", \"$s = stream_socket_server('tcp://0.0.0.0:6379'); while (true) sleep(9);\"]\n";
    build(engine, &at("php"), "test/app:php", SCRIPT, php);
    build(engine, &at("loop"), "test/app:loop", SCRIPT, &php.replace("0.0.0.0:80", "127.0.0.1:80"));
    let ends = "CMD [\"php\", \"-r\", \"echo 'no luck'; exit(7);\"]\n";
    build(engine, &at("ends"), "test/app:ends", SCRIPT, ends);
    build(engine, &at("nginx"), "nginx:stable", SCRIPT, NGINX);
    build(engine, &at("redis"), "redis:test", SCRIPT, &format!("EXPOSE 6379\n{listens}"));
    build(engine, &at("fpm"), "test/app:fpm", SCRIPT, FPM);
    fs::write(at("fpm/compose.yaml"), COMPOSE).unwrap();
    fs::write(at("fpm/nginx.conf"), NGINX_CONF).unwrap();
    folder
}

/// A static program alone, which listens where it does not say, PHP upon Debian, which runs as root, PHP-FPM, which gets a web server,
/// and the same with a web server of its own.
pub(crate) fn are_compared(stage: &Stage, engine: &Engine, folder: &Path) {
    let (alone, compose) = (folder.join("alone"), folder.join("fpm/compose.yaml"));
    let dockerfile = alone.to_str().unwrap();
    let images = ["compare", "--dockerfile", dockerfile, "--image", "php=test/app:php", "--image", "fpm=test/app:fpm"];
    // It is read by Compose, which a machine need not have.
    let together = format!("both={}", compose.display());
    let has_compose = have("compose", &["docker-compose"]);
    let together = if has_compose { vec!["--compose", &together] } else { Vec::new() };
    let rest = [&SHORT[..], &["--load", "closed:4", "--json", "-"]].concat();
    let said = run(stage, engine, &[&images[..], &together, &rest].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let study: Value = serde_json::from_str(&said.stdout).unwrap();
    let cases = study["cases"].as_array().unwrap();
    let ids: Vec<&str> = cases.iter().map(|case| case["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [&["php", "fpm", "alone"][..], if has_compose { &["both"] } else { &[] }].concat());
    for case in cases {
        let (id, trial) = (&case["id"], &case["trials"][0]);
        assert_eq!((&case["platform"], &trial["outcome"]), (&"docker".into(), &"measured".into()), "{id}: {trial}");
        assert_eq!(case["enforced"]["memory_bytes"], 128u64 << 20, "{id}");
        assert_eq!(trial["requests"]["sent"], trial["requests"]["ok"], "{id}: {trial}");
        // All containers of a case are held together: what they use is within one quota.
        let (used, window) = (trial["cpu_seconds"].as_f64().unwrap(), trial["window_s"].as_f64().unwrap());
        assert!((0.01..0.55).contains(&(used / window)) && case["enforced"]["cpus"] == 0.5, "{id}: {trial}");
        let stopped: Vec<&str> =
            trial["stops"].as_array().unwrap().iter().map(|stop| stop["unit"].as_str().unwrap()).collect();
        let image = case["base_image"].as_str().unwrap();
        match id.as_str().unwrap() {
            "both" => {
                assert_eq!(stopped, ["php", "web"], "{trial}");
                assert!(
                    image.starts_with(&format!("{}@sha256:", compose.canonicalize().unwrap().display())),
                    "{image}"
                );
                continue;
            }
            "fpm" => assert_eq!(stopped, ["image", "nginx"], "{trial}"),
            _ => assert_eq!(stopped, ["image"], "{trial}"),
        }
        let (name, image_id) = image.rsplit_once('@').unwrap();
        assert_eq!(engine.ask(&["image", "inspect", "-f", "{{.Id}}", name]), [image_id], "{id}");
        assert!(trial["stops"].as_array().unwrap().iter().all(|stop| stop["killed"] == false), "{id}: {trial}");
    }
    assert!(said.stderr.contains("answers on port 8080"), "{}", said.stderr);
    let front = "speaks FastCGI on port 9000: nginx:stable goes before it, within the same limits, with the files in /var/www/html/public";
    assert!(said.stderr.contains(front), "{}", said.stderr);
    let which = "under test, within one total: php, web; beside, without limits: cache";
    assert!(!has_compose || said.stderr.contains(which), "{}", said.stderr);

    // Where port and folder are written down, those are taken.
    let plan = folder.join("front.yaml");
    let front = "image: {name: 'test/app:fpm', front: nginx, port: 9000, root: /var/www/html/public}";
    let text = format!("app: {{dir: ., requests: [{{path: /}}]}}\ncases: [{{id: fpm, runtime: image, {front}}}]\n");
    fs::write(&plan, text).unwrap();
    let said = run(stage, engine, &[&["compare", plan.to_str().unwrap()], &rest[..]].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let study: Value = serde_json::from_str(&said.stdout).unwrap();
    let trial = &study["cases"][0]["trials"][0];
    let stopped: Vec<&str> =
        trial["stops"].as_array().unwrap().iter().filter_map(|stop| stop["unit"].as_str()).collect();
    assert_eq!((&trial["outcome"], stopped), (&"measured".into(), vec!["image", "nginx"]), "{trial}");

    // One that answers otherwise, ends, listens for itself alone or is not there, each beside one that can be compared.
    let typed = |image: &'static str| ["--image", image];
    let all = [typed("ends=test/app:ends"), typed("loop=test/app:loop"), typed("gone=test/app:gone")].concat();
    let said = run(stage, engine, &[&["compare", "--image", "php=test/app:php"], &all[..], &SHORT].concat());
    let told = format!("{}\n{}", said.stderr, said.words());
    for part in [
        "gone needs the image test/app:gone, which the engine does not have",
        "it ended with status 7",
        "no luck",
        "it listens on 127.0.0.1 alone (port 80)",
    ] {
        assert!(told.split_whitespace().collect::<Vec<_>>().join(" ").contains(part), "{part}: {told}");
    }
    engine.assert_nothing_left();

    let long = ["compare", "--image", "test/app:php", "--duration", "10m", "--load", "closed:4"];
    // Their warden leaves nothing.
    ends_when_killed(stage, engine, &long, "php -S", 1, "nothing to clean");
    stage.assert_nothing_left();
}

/// An image upon the base image, with a script in its folder.
fn build(engine: &Engine, folder: &Path, name: &str, script: &str, steps: &str) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("index.php"), script).unwrap();
    fs::write(folder.join("Dockerfile"), format!("FROM {BASE}\n{steps}")).unwrap();
    let built = engine.docker(&["build", "-t", name, folder.to_str().unwrap()]).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

/// A program that needs nothing of an image.
fn static_program(folder: &Path) {
    go_app(folder);
    let mut go = Command::new("go");
    go.args(["build", "-o", "server", "."]).current_dir(folder).env("CGO_ENABLED", "0").stdout(Stdio::null());
    assert!(go.status().unwrap().success());
}
