//! The action for pull requests (`action.yml`): its steps, run with the environment that runners set, beside an API that is made up.
//! What gates measure is tested in `gate`; here a program stands for Stampede that ends as a gate would.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::answerer::{Asked, answer};
use crate::release::{root, script};
use crate::stage::have;

/// Ends as the variable `ENDS` says, with what `stampede gate` writes then.
const GATE: &str = r#"#!/bin/bash
[ "$1" = gate ] || { echo "stampede 0.0.0"; exit; }
echo "$@" >"$RUNNER_TEMP/arguments"
while [ $# -gt 0 ]; do
    case $1 in
        --markdown) comment=$2 ;;
        --junit) junit=$2 ;;
        --html) html=$2 ;;
    esac
    shift
done
IFS=: read -r code word <<<"$ENDS"
if [ "$word" = broken ]; then echo "error: no runtime that serves both sides is installed" >&2; exit "$code"; fi
printf '### Performance: %s\n\nratio 1.00\n' "$word" >"$comment"
echo '<testsuites/>' >"$junit"
echo '<html>' >"$html"
level=notice
[ "$word" = passed ] || level=error
echo "::$level title=stampede gate::head: $word"
exit "$code"
"#;

const BASE: &str = "1111111111111111111111111111111111111111";
const HEAD: &str = "2222222222222222222222222222222222222222";

/// An API of one pull request with comments.
#[derive(Clone, Default)]
struct Api(Arc<Mutex<Comments>>);

#[derive(Default)]
struct Comments {
    bodies: Vec<String>,
    /// The token may not write.
    is_read_only: bool,
    asked: Vec<String>,
}

impl Api {
    fn serve(&self) -> String {
        let api = self.clone();
        answer(move |asked| api.answer(asked))
    }

    fn answer(&self, Asked { method, path, authorization, body }: &Asked) -> (u16, Vec<u8>) {
        let mut comments = self.0.lock().unwrap();
        comments.asked.push(format!("{method} {path}"));
        let body = || serde_json::from_str::<Value>(body).unwrap()["body"].as_str().unwrap().to_owned();
        let found = match (method.as_str(), path.as_str()) {
            _ if authorization.as_deref() != Some("Bearer secret") => (401, json!({})),
            ("GET", "/repos/me/shop/pulls/7") => (200, json!({"head": {"sha": HEAD}})),
            ("GET", "/repos/me/shop/issues/7/comments?per_page=100&page=1") => {
                (200, (0..100).map(|id| json!({"id": id, "body": "a remark"})).collect())
            }
            ("GET", "/repos/me/shop/issues/7/comments?per_page=100&page=2") => {
                let all = comments.bodies.iter().enumerate();
                (200, all.map(|(id, body)| json!({"id": 1000 + id, "body": body})).collect())
            }
            ("POST" | "PATCH", _) if comments.is_read_only => (403, json!({"message": "Resource not accessible"})),
            ("POST", "/repos/me/shop/issues/7/comments") => {
                comments.bodies.push(body());
                (201, json!({}))
            }
            ("PATCH", "/repos/me/shop/issues/comments/1000") => {
                comments.bodies[0] = body();
                (200, json!({}))
            }
            _ => (404, json!({})),
        };
        (found.0, found.1.to_string().into_bytes())
    }

    fn bodies(&self) -> Vec<String> {
        self.0.lock().unwrap().bodies.clone()
    }
}

/// A runner with its files, and a checkout of the pull request.
struct Runner {
    folder: tempfile::TempDir,
    api: String,
    /// What a workflow gives the action.
    inputs: BTreeMap<String, String>,
    env: BTreeMap<String, String>,
}

/// What a run of an action left.
#[derive(Debug)]
struct Ran {
    /// Whether all steps ended well.
    passed: bool,
    /// What the steps printed.
    log: String,
    outputs: BTreeMap<String, String>,
    summary: String,
}

impl Runner {
    fn new(api: &Api, event: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for place in ["temp", "workspace"] {
            fs::create_dir(folder.path().join(place)).unwrap();
        }
        fs::write(folder.path().join("event.json"), event.to_string()).unwrap();
        script(&folder.path().join("stampede"), GATE);
        // Commits that are there: nothing is fetched.
        script(&folder.path().join("bin/git"), "#!/bin/sh\ntrue\n");
        let program = folder.path().join("stampede").display().to_string();
        let inputs = [("program".to_owned(), program), ("token".to_owned(), "secret".to_owned())].into();
        Self { folder, api: api.serve(), inputs, env: BTreeMap::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the steps of an action that are commands, as runners do; what others upload or download is not moved.
    fn run(&self, action: &str) -> Ran {
        let file = root().join(action);
        let action: Value = serde_saphyr::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let mut inputs = self.inputs.clone();
        for (name, input) in action["inputs"].as_object().unwrap() {
            inputs.entry(name.clone()).or_insert_with(|| input["default"].as_str().unwrap().to_owned());
        }
        let mut steps: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        let mut ran = Ran { passed: true, log: String::new(), outputs: BTreeMap::new(), summary: String::new() };
        let (summary, path) = (self.path("summary"), self.path("path"));
        for file in [&summary, &path] {
            fs::write(file, "").unwrap();
        }
        for step in action["runs"]["steps"].as_array().unwrap() {
            let evaluated = |text: &str| self.evaluated(text, &inputs, &steps);
            let applies = step["if"].as_str().is_none_or(|condition| {
                let (left, right) = condition.split_once(" == ").unwrap();
                evaluated(&format!("${{{{ {left} }}}}")) == right.trim_matches('\'')
            });
            let Some(run) = step["run"].as_str().filter(|_| applies) else { continue };
            let output = self.path("output");
            fs::write(&output, "").unwrap();
            let added = fs::read_to_string(&path).unwrap();
            let search = added.lines().chain([self.path("bin").to_str().unwrap()]).collect::<Vec<_>>().join(":");
            let mut command = Command::new("bash");
            command
                .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &evaluated(run)])
                .current_dir(self.path("workspace"))
                .env("PATH", format!("{search}:{}", std::env::var("PATH").unwrap()))
                .env("GITHUB_ACTION_PATH", file.parent().unwrap())
                .env("GITHUB_API_URL", &self.api)
                .env("GITHUB_SERVER_URL", &self.api)
                .env("GITHUB_REPOSITORY", "me/shop")
                .env("GITHUB_EVENT_PATH", self.path("event.json"))
                .env("GITHUB_STEP_SUMMARY", &summary)
                .env("GITHUB_OUTPUT", &output)
                .env("GITHUB_PATH", &path)
                .env("RUNNER_TEMP", self.path("temp"))
                .envs(&self.env);
            for (name, value) in step["env"].as_object().into_iter().flatten() {
                command.env(name, evaluated(value.as_str().unwrap()));
            }
            let said = command.output().unwrap();
            ran.log += &String::from_utf8_lossy(&[&said.stdout[..], &said.stderr].concat());
            let lines = fs::read_to_string(&output).unwrap();
            let outputs = lines.lines().filter_map(|line| line.split_once('='));
            let outputs: BTreeMap<_, _> = outputs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            ran.outputs.extend(outputs.clone());
            steps.insert(step["id"].as_str().unwrap_or_default().to_owned(), outputs);
            if !said.status.success() {
                ran.passed = false;
                break;
            }
        }
        ran.summary = fs::read_to_string(summary).unwrap();
        ran
    }

    /// A text with its expressions replaced.
    fn evaluated(
        &self,
        text: &str,
        inputs: &BTreeMap<String, String>,
        steps: &BTreeMap<String, BTreeMap<String, String>>,
    ) -> String {
        let Some((before, rest)) = text.split_once("${{ ") else { return text.to_owned() };
        let (expression, after) = rest.split_once(" }}").unwrap();
        let words: Vec<&str> = expression.split('.').collect();
        let value = match words[..] {
            ["inputs", name] => inputs[name].clone(),
            ["steps", step, "outputs", name] => steps[step].get(name).cloned().unwrap_or_default(),
            ["runner", "temp"] => self.path("temp").display().to_string(),
            ["github", "action_repository"] => "me/stampede".to_owned(),
            ["github", "action_ref"] => "v0.2.0".to_owned(),
            ["github", "event", "workflow_run", "id"] => "99".to_owned(),
            ["github", "token"] => "secret".to_owned(),
            _ => panic!("unknown expression: {expression}"),
        };
        format!("{before}{value}{}", self.evaluated(after, inputs, steps))
    }
}

fn pull_request() -> Value {
    json!({"pull_request": {"number": 7, "base": {"sha": BASE}, "head": {"sha": HEAD}}})
}

fn can_run(test: &str) -> bool {
    have(test, &["bash", "curl", "jq"])
}

#[test]
fn a_pull_request_has_verdict_summary_annotation_and_one_comment() {
    if !can_run("a_pull_request_has_verdict_summary_annotation_and_one_comment") {
        return;
    }
    let api = Api::default();
    let mut runner = Runner::new(&api, &pull_request());
    runner.inputs.insert("args".to_owned(), "--max-time 60s --strict".to_owned());
    // One run after another, as of a pull request that is pushed to.
    for (name, ends, verdict, code, annotation) in [
        ("faster", "0:passed", "passed", "0", "::notice title=stampede gate::head: passed"),
        ("slower", "1:failed", "failed", "1", "::error title=stampede gate::head: failed"),
        ("equal", "0:passed", "passed", "0", "::notice"),
        ("undecided", "0:undecided", "undecided", "0", "head: undecided"),
        ("undecided and strict", "1:undecided", "undecided", "1", "head: undecided"),
        ("a failed trial", "5:not valid", "not valid", "5", "head: not valid"),
        (
            "broken",
            "3:broken",
            "broken",
            "3",
            "::error title=stampede gate::nothing was measured (exit code 3): no runtime that serves",
        ),
    ] {
        runner.env.insert("ENDS".to_owned(), ends.to_owned());
        let ran = runner.run("action.yml");
        assert_eq!(
            (ran.outputs["verdict"].as_str(), ran.outputs["exit-code"].as_str()),
            (verdict, code),
            "{name}: {ran:?}"
        );
        assert_eq!(ran.passed, code == "0", "{name}: {ran:?}");
        assert!(ran.log.contains(annotation), "{name}: {ran:?}");
        assert!(ran.summary.starts_with(&format!("### Performance: {verdict}\n")), "{name}: {ran:?}");
        let bodies = api.bodies();
        assert_eq!(bodies.len(), 1, "{name}: {bodies:?}");
        assert!(
            bodies[0].starts_with(&format!("<!-- stampede gate -->\n### Performance: {verdict}\n")),
            "{name}: {bodies:?}"
        );
        let report = Path::new(&ran.outputs["report"]);
        assert_eq!(fs::read_to_string(report.join("pull-request")).unwrap(), "7\n", "{name}");
        assert!(report.join("log").is_file() && report.join("comment.md").is_file(), "{name}");
    }
    let arguments = fs::read_to_string(runner.path("temp/arguments")).unwrap();
    assert!(arguments.starts_with(&format!("gate {BASE} {HEAD} --github --junit ")), "{arguments}");
    assert!(arguments.ends_with(" --max-time 60s --strict\n"), "{arguments}");
}

#[test]
fn a_fork_is_commented_by_the_second_workflow_and_only_on_its_own_pull_request() {
    if !can_run("a_fork_is_commented_by_the_second_workflow_and_only_on_its_own_pull_request") {
        return;
    }
    let api = Api::default();
    api.0.lock().unwrap().is_read_only = true;
    let mut runner = Runner::new(&api, &pull_request());
    runner.env.insert("ENDS".to_owned(), "1:failed".to_owned());
    let ran = runner.run("action.yml");
    assert_eq!(ran.outputs["exit-code"], "1", "{ran:?}");
    assert!(ran.log.contains("::notice::no comment: this token may not write here"), "{ran:?}");
    let comment = fs::read(Path::new(&ran.outputs["report"]).join("comment.md")).unwrap();

    for (name, number, measured, passed, comments, said) in [
        ("its own", "7\n", HEAD, true, 1, "commented on pull request 7"),
        ("again", "7\n", HEAD, true, 1, "updated comment 1000"),
        ("another commit", "7\n", BASE, true, 1, "another commit than was measured"),
        ("no number", "7/../../x\n", HEAD, false, 1, "is no number"),
        ("no pull request", "", HEAD, true, 1, "no pull request"),
    ] {
        api.0.lock().unwrap().is_read_only = false;
        let mut second = Runner::new(&api, &json!({"workflow_run": {"id": 99, "head_sha": measured}}));
        second.inputs.insert("token".to_owned(), "secret".to_owned());
        let folder = second.path("temp/stampede-gate");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("pull-request"), number).unwrap();
        fs::write(folder.join("comment.md"), &comment).unwrap();
        let ran = second.run("action/comment/action.yml");
        assert_eq!(ran.passed, passed, "{name}: {ran:?}");
        assert!(ran.log.contains(said), "{name}: {ran:?}");
        assert_eq!(api.bodies().len(), comments, "{name}: {:?}", api.0.lock().unwrap().asked);
    }
}

#[test]
fn what_cannot_begin_is_reported_at_once() {
    if !can_run("what_cannot_begin_is_reported_at_once") {
        return;
    }
    let api = Api::default();
    for (name, event, input, said) in [
        ("no such program", pull_request(), Some(("program", "nowhere")), "::error::program: nowhere is no program"),
        ("no release", pull_request(), Some(("program", "")), "::error::Stampede could not be installed from http://"),
        ("an event without sides", json!({}), None, "no base and head are known of this event"),
        (
            "a folder that is not there",
            pull_request(),
            Some(("folder", "nowhere")),
            "nowhere: No such file or directory",
        ),
    ] {
        let mut runner = Runner::new(&api, &event);
        runner.env.insert("ENDS".to_owned(), "0:passed".to_owned());
        if let Some((input, value)) = input {
            runner.inputs.insert(input.to_owned(), value.to_owned());
        }
        let ran = runner.run("action.yml");
        assert!(!ran.passed, "{name}: {ran:?}");
        assert!(ran.log.contains(said), "{name}: {ran:?}");
    }
}
