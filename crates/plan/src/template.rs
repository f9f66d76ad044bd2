//! A plan file for an application, with comments that teach the rest.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use stampede_core::{Candidate, Exchange, ExpectedHead, Load, Request};

use crate::compare::ComparePlan;
use crate::document::scalar;
use crate::look::Look;
use crate::site::SiteEntry;

/// An expected answer whose body lies in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenAnswer {
    /// The exchange's name.
    pub exchange: String,
    /// Its status.
    pub status: u16,
    /// The file of its body, from the plan file's folder.
    pub body_file: PathBuf,
    /// What stands in it for a part that varies.
    pub mask: Option<String>,
    /// What its head must be.
    pub head: ExpectedHead,
}

/// What the file says of the rest, by examples.
const REST: &str = "\
# Settings, in place of runtimes: several cases of one runtime need an id each.
# What there is to set: stampede show runtime NAME
# cases:
#   - {id: static, runtime: nginx-fpm, set: {pm: static, pm.max_children: 8}}
#   - {id: ondemand, runtime: nginx-fpm, set: {pm: ondemand}}

# For each whole deployment: nginx and PHP-FPM share it.
# limits: {cpus: 1, memory: 512Mi}

# Copies of the runtime behind a balancer, and services beside them, under the same limits together.
# topology: {replicas: 2, balancer: nginx, services: {postgres: {cpus: 0.35, memory: 256Mi}}}

# Builds of PHP, each a case for each runtime.
# php: ['8.2', '8.4']

# closed: so many connections, each with one request in flight.
# open: so many requests a second, whatever the server does.
# load: closed:16
# load: {model: open, rate: 50..100/60s, arrivals: poisson, connections: 256}

# Rounds until the verdicts are clear, or a number: fewer than 3 give none. With seed: 1 cases come
# in the same order again.
# study: {rounds: auto, max_time: 10m, precision: 3%, duration: 8s, warm_up: 1s, ready_timeout: 30s}

# platform: local
# platform: docker
";

/// Writes the plan of an application that was looked at. `dump` is the file that its database begins with, from the plan's folder.
pub fn write_plan(plan: &ComparePlan, look: &Look, answers: &[WrittenAnswer], dump: Option<&Path>) -> String {
    let Look {
        framework: _,
        title,
        kind,
        index,
        site,
        command,
        packages,
        extensions,
        env,
        keys,
        logs,
        writable,
        prepare,
        migrations: _,
        wants_database: _,
        wants_redis: _,
        redis: _,
        database: _,
        remarks,
        ini,
        root: _,
        entry: _,
        install: _,
    } = look;
    let mut text = format!("# What `stampede compare` does in this folder: PHP runtimes, compared on this {title}.\n");
    text.push_str("# A flag overrides what is said here. Editors complete it by the schema that\n");
    text.push_str("# `stampede show schema` prints.\n\n");
    for remark in packages.iter().chain(remarks) {
        let _ = writeln!(text, "# {remark}");
    }
    for (what, paths) in [("It logs to", logs), ("It writes to", writable)] {
        let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        if !paths.is_empty() {
            let _ = writeln!(text, "# {what} {}.", paths.join(", "));
        }
    }
    let _ = writeln!(text, "app:\n  dir: .\n  kind: {kind}");
    put(&mut text, "  index", index.as_deref().map(path));
    if let Some(command) = command {
        text.push_str("  command:\n");
        for (key, value) in command.keys() {
            let _ = writeln!(text, "    {key}: {value}");
        }
    }
    text.push_str(&site_keys(site));
    match plan.workload.apps.first().and_then(|app| app.site.host.as_deref()) {
        Some(host) => _ = writeln!(text, "  host: {}", scalar(host)),
        None => text.push_str("  # The name that it is asked by, where it knows its own; and how its visitors reach it:\n  # host: shop.example\n  # scheme: https\n"),
    }
    put(&mut text, "  extensions", list(extensions));
    put(&mut text, "  ini", map(ini));
    put(&mut text, "  env", map(env));
    if env.is_empty() {
        text.push_str("  # env: {APP_ENV: prod}\n");
    }
    for (at, keys) in keys.chunks(6).enumerate() {
        let lead = if at == 0 { "Other variables that it reads: " } else { "" };
        let _ = writeln!(text, "  # {lead}{}", keys.join(", "));
    }
    text.push_str("  # Run once a study, in a copy of this folder that all trials are then copied from.\n");
    match prepare.is_empty() {
        true => text.push_str("  # prepare: [[composer, install, --no-dev]]\n"),
        false => {
            text.push_str("  prepare:\n");
            prepare.iter().for_each(|command| {
                let _ = writeln!(text, "    - {}", words(command));
            });
        }
    }
    match &plan.workload.play {
        Some(play) => {
            let _ = writeln!(
                text,
                "  # What the load is; the requests below are verified only.\n  scenario: {}",
                path(&play.scenario)
            );
        }
        None if plan.workload.cookies => text.push_str("  cookies: true\n"),
        None => text.push_str(
            "  # Each connection is one visitor and keeps its cookies; otherwise every request is a new visitor.\n  # cookies: true\n",
        ),
    }
    text.push_str("  requests:\n");
    for exchange in &plan.workload.exchanges {
        let answer = answers.iter().find(|answer| answer.exchange == exchange.name);
        text.push_str(&request(exchange, answer));
    }
    text.push_str("    # load: false only verifies. Without expect, the answer is recorded before each study.\n");
    text.push_str("    # - {method: POST, path: /api, body: '{\"a\": 1}', load: false, expect: {status: 201}}\n\n");
    let runtimes: Vec<_> = plan.candidates.iter().map(|Candidate { id, .. }| id.to_string()).collect();
    text.push_str("# By default, all that are installed and can serve it.\n");
    let lines: Vec<_> = runtimes.chunks(5).map(|runtimes| runtimes.join(", ")).collect();
    let _ = writeln!(text, "# runtimes: [{}]\n", lines.join(",\n#   "));
    text.push_str(&services(plan, dump));
    if let Load::Open { .. } = plan.load {
        let _ = writeln!(text, "# What load is driven, stage by stage.\nload: {}\n", scalar(&plan.load.to_string()));
    }
    text.push_str(REST);
    text
}

/// The databases beside the application.
fn services(plan: &ComparePlan, dump: Option<&Path>) -> String {
    let services = &plan.topology.services;
    if services.is_empty() {
        return String::new();
    }
    let mut text = "# Beside each runtime, under the same limits. Each trial begins with what is in init.\ntopology:\n  services:\n".to_owned();
    for service in services {
        let begins = plan.services.iter().any(|need| need.kind == service.kind && need.init.is_some());
        let init = dump.filter(|_| begins).map(|dump| format!(" {{init: {}}}", path(dump))).unwrap_or_default();
        let _ = writeln!(text, "    {}:{init}", service.kind.id());
    }
    text.push('\n');
    text
}

/// The keys of the public folder that are not as they are by default.
fn site_keys(site: &SiteEntry) -> String {
    // A look finds no address.
    let SiteEntry { host: _, scheme: _, root, files, fallback, deny } = site;
    let mut text = String::new();
    put(&mut text, "  root", root.as_deref().map(path));
    match files {
        Some(files) => _ = writeln!(text, "  static: {files}"),
        None => text.push_str(
            "  # Without the web server's own answers for the files of the public folder:\n  # static: false\n",
        ),
    }
    put(&mut text, "  fallback", fallback.map(|fallback| fallback.name().to_owned()));
    put(&mut text, "  deny", list(deny));
    text
}

fn request(exchange: &Exchange, answer: Option<&WrittenAnswer>) -> String {
    let Exchange { name, request, weight, .. } = exchange;
    let Request { method, path: target, headers, body } = request;
    let mut text = format!("    - name: {}\n", scalar(name));
    put(&mut text, "      method", (method != "GET").then(|| scalar(method)));
    put(&mut text, "      path", Some(scalar(target)));
    put(&mut text, "      weight", (*weight > 1).then(|| weight.to_string()));
    put(&mut text, "      headers", map(headers));
    put(&mut text, "      body", std::str::from_utf8(body).ok().filter(|body| !body.is_empty()).map(scalar));
    if let Some(WrittenAnswer { exchange: _, status, body_file, mask, head }) = answer {
        let ExpectedHead { content_type, location, cookies } = head;
        let _ = writeln!(text, "      expect:\n        status: {status}");
        put(&mut text, "        content_type", content_type.as_deref().map(scalar));
        put(&mut text, "        location", location.as_deref().map(scalar));
        put(&mut text, "        cookies", cookies.as_ref().map(words));
        put(&mut text, "        body_file", Some(path(body_file)));
        if let Some(mask) = mask {
            text.push_str(
                "        # What varies is masked in the file: ⟨duration⟩ stands for any duration, ⟨…⟩ for anything.\n",
            );
            let _ = writeln!(text, "        mask: {}", scalar(mask));
        }
    }
    text
}

/// Writes a key, with the blanks before it, where it has a value.
fn put(text: &mut String, key: &str, value: Option<String>) {
    if let Some(value) = value {
        let _ = writeln!(text, "{key}: {value}");
    }
}

/// Nothing of none.
fn list(of: &[String]) -> Option<String> {
    (!of.is_empty()).then(|| words(of))
}

fn words<'a>(of: impl IntoIterator<Item = &'a String>) -> String {
    format!("[{}]", of.into_iter().map(|word| scalar(word)).collect::<Vec<_>>().join(", "))
}

/// Nothing of none.
fn map(of: &BTreeMap<String, String>) -> Option<String> {
    let entries: Vec<_> = of.iter().map(|(name, value)| format!("{}: {}", scalar(name), scalar(value))).collect();
    (!of.is_empty()).then(|| format!("{{{}}}", entries.join(", ")))
}

fn path(path: &Path) -> String {
    scalar(&path.display().to_string())
}
