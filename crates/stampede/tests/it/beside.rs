//! Stampede in a container that shares the engine's socket and the application's folder with the machine, and nothing else.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::docker::{BASE, Engine};
use crate::stage::{Stage, wait_until};

/// Stampede's own image.
pub(crate) const IMAGE: &str = "stampede:tested";

/// The label of a Stampede beside the engine, and of all that it makes.
const LABEL: &str = "io.stampede.beside";

#[test]
fn a_keeper_tells_how_its_command_ended_and_ends_it_with_the_line() {
    let stage = Stage::new();
    let kept = |args: &[&str]| {
        let mut command = stage.command(&[&["__beside", "--"], args].concat());
        let mut keeper = stage.spawn(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()));
        keeper.stdin.as_mut().unwrap().write_all(b".b").unwrap();
        keeper
    };
    let mut wrong = kept(&["load", "--rounds", "1"]);
    let mut said = Vec::new();
    BufReader::new(wrong.stderr.as_mut().unwrap()).read_until(0, &mut said).unwrap();
    assert!(String::from_utf8_lossy(&said).contains("unexpected argument '--rounds'"), "{said:?}");
    wrong.stdin.take().unwrap().write_all(b"..e").unwrap();
    assert_eq!(wrong.wait().unwrap().code(), Some(2));

    let mut served = kept(&["serve", "--listen", "127.0.0.1:0"]);
    let mut address = String::new();
    BufReader::new(served.stdout.as_mut().unwrap()).read_line(&mut address).unwrap();
    assert!(address.starts_with("http://"), "{address}");
    served.stdin.as_mut().unwrap().write_all(b".i").unwrap();
    let (mut text, mut code) = (Vec::new(), String::new());
    let mut stderr = BufReader::new(served.stderr.as_mut().unwrap());
    stderr.read_until(0, &mut text).unwrap();
    stderr.read_line(&mut code).unwrap();
    assert_eq!(code, "0\n");
    drop(served.stdin.take());
    assert_eq!(served.wait().unwrap().code(), Some(0));

    // Nobody is there any more, who could be told.
    let mut left = kept(&["serve", "--listen", "127.0.0.1:0"]);
    BufReader::new(left.stdout.as_mut().unwrap()).read_line(&mut address).unwrap();
    drop(left.stdin.take());
    let mut said = String::new();
    left.stderr.as_mut().unwrap().read_to_string(&mut said).unwrap();
    assert!(left.wait().is_ok() && !said.contains('\0'), "{said}");
}

/// A comparison from such a container, with its files in the folder that is mounted; and its end, whatever kills it.
pub(crate) fn measures(engine: &Engine) {
    let folder = tempfile::Builder::new().prefix("shop").tempdir_in("/var/tmp").unwrap();
    let app = folder.path();
    fs::write(app.join("index.php"), "<?php echo 'hello';").unwrap();
    let base = ["compare", "/app", "--platform", "docker", "--base-image", BASE, "--runtimes", "php-cli-server"];
    let limits = ["--cpus", "0.5", "--memory", "128Mi", "--rounds", "1", "--no-yard-stick", "--load", "closed:2"];
    let base = [&base[..], &limits].concat();

    let short = ["--duration", "1s", "--warm-up", "300ms", "--json", "/app/out/study.json", "--store", "/app/out/s.db"];
    fs::create_dir(app.join("out")).unwrap();
    let output = outer(engine, app, "study", &[&base[..], &short].concat()).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(stderr.contains("Stampede is started in a container beside them"), "{stderr}");
    // A busy machine may hold a trial up, which is told as well: what limits and answers were does not depend on it.
    assert!(matches!(output.status.code(), Some(0 | 4)), "{:?}\n{stderr}\n{stdout}", output.status);
    assert!(stdout.contains("php-cli-server"), "{stdout}\n{stderr}");
    let study: Value = serde_json::from_str(&fs::read_to_string(app.join("out/study.json")).unwrap()).unwrap();
    let (case, trial) = (&study["cases"][0], &study["cases"][0]["trials"][0]);
    assert_eq!((&case["enforced"]["cpus"], &case["enforced"]["memory_bytes"]), (&0.5.into(), &(128 << 20).into()));
    assert!(trial["requests"]["ok"].as_u64().unwrap() > 0, "{trial}");
    assert_eq!(trial["requests"]["sent"], trial["requests"]["ok"], "{trial}");
    assert!(app.join("out/s.db").is_file());
    assert_nothing_left(engine);

    let long = [&base[..], &["--duration", "10m", "--quiet"]].concat();
    for (signal, code) in [("TERM", Some(130)), ("KILL", None)] {
        let mut running: Child = outer(engine, app, "long", &long).stderr(Stdio::null()).spawn().unwrap();
        wait_until("a server runs in a container", || {
            let found = engine.ask(&["ps", "--filter", &format!("label={LABEL}"), "--filter", "label=io.stampede.run"]);
            if found.len() > 1 { Ok(()) } else { Err(found.join("\n")) }
        });
        engine.ask(&["kill", "--signal", signal, "long"]);
        let status = running.wait().unwrap();
        assert!(code.is_none_or(|code| status.code() == Some(code)), "{status}");
        wait_until("all of it ends by itself", || {
            let left = left(engine);
            if left.is_empty() { Ok(()) } else { Err(left.join("\n")) }
        });
        assert_nothing_left(engine);
    }

    let unknown = outer(engine, app, "wrong", &[&base[..], &["--runtimes", "nowhere"]].concat()).output().unwrap();
    assert_eq!(unknown.status.code(), Some(2), "{}", String::from_utf8_lossy(&unknown.stderr));
    let mut stranger = engine.docker(&["run", "--rm", "--network", "none", "--user", "stampede"]);
    stranger.args(shown(engine, app)).arg(IMAGE).args(&base);
    let refused = stranger.output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(3) && said.contains("docker run --user 0"), "{said}");
}

/// What is shown to Stampede's container.
fn shown(engine: &Engine, app: &Path) -> Vec<String> {
    let socket = format!("{}:/var/run/docker.sock", engine.socket().display());
    vec!["-v".to_owned(), socket, "-v".to_owned(), format!("{}:/app", app.display())]
}

fn outer(engine: &Engine, app: &Path, name: &str, args: &[&str]) -> Command {
    let mut command = engine.docker(&["run", "--rm", "--network", "none", "--name", name]);
    command.args(shown(engine, app)).arg(IMAGE).args(args).stdin(Stdio::null());
    command
}

/// Containers, networks and volumes of Stampedes beside the engine.
fn left(engine: &Engine) -> Vec<String> {
    let filter = format!("label={LABEL}");
    let lists = [
        &["ps", "-aq", "--filter", &filter][..],
        &["network", "ls", "-q", "--filter", &filter],
        &["volume", "ls", "-q"],
    ];
    lists.iter().flat_map(|list| engine.ask(list)).collect()
}

fn assert_nothing_left(engine: &Engine) {
    assert_eq!(left(engine), Vec::<String>::new());
    engine.assert_nothing_left();
}
