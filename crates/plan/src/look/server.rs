//! Applications that bring their server: a script or a program that listens by itself.
//!
//! One whose address and number of workers are taken from its command line can be run as it is. Of others they stand in the code:
//! in the copy that is served they are replaced, where the line is as the makers write it; otherwise the message shows the lines
//! and what to write there.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::composer::Composer;
use crate::command::{CommandEntry, ReplaceEntry, SignalEntry};
use crate::document::Text;

/// What is known of a server.
#[derive(Debug)]
pub(super) struct Server {
    /// What programs call it: `webman`.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// Packages of which any gives it away, beside its start.
    packages: &'static [&'static str],
    /// Files that give it away where all are there.
    files: &'static [&'static str],
    start: Start,
    run: &'static [&'static str],
    signal: SignalEntry,
    /// What to write where its address and number of workers stand in its code; none where its command line takes them.
    edits: &'static [Edit],
    /// Whether it has no number of workers.
    is_one_process: bool,
    pub(super) env: &'static [(&'static str, &'static str)],
    pub(super) keys: &'static [&'static str],
    pub(super) logs: &'static [&'static str],
}

/// What must be there to start it.
#[derive(Debug)]
enum Start {
    /// This file.
    File(&'static str),
    /// A script with any of these texts in it, which `run` names as `SCRIPT`.
    Script(&'static [&'static str]),
}

/// A line of code to change.
#[derive(Debug)]
struct Edit {
    /// Whether it is part of every application of its kind.
    is_always: bool,
    /// Its file; the script that starts it where none is named.
    file: Option<&'static str>,
    /// What finds it: the first line with any of these.
    finds: &'static [&'static str],
    /// What to write in it.
    write: &'static str,
    /// How the copy is changed.
    value: Value,
}

/// What of a line is replaced in the copy.
#[derive(Clone, Copy, Debug)]
enum Value {
    /// What stands behind `=>`, up to the comma at the end of the line.
    Item(&'static str),
    /// What is assigned, up to the semicolon at the end of the line.
    Assigned(&'static str),
    /// The address in a text: `http://0.0.0.0:2345`.
    Address,
    /// Host and port as the first two arguments: `('0.0.0.0', 9501`.
    HostAndPort,
}

/// A server that was found.
#[derive(Debug)]
pub(super) struct Brought {
    pub(super) server: &'static Server,
    /// What starts it, from the application's folder.
    pub(super) start: PathBuf,
}

const fn edit(file: Option<&'static str>, finds: &'static [&'static str], write: &'static str, value: Value) -> Edit {
    Edit { is_always: true, file, finds, write, value }
}

/// The number of workers in PHP's code.
const WORKERS: &str = "(int) getenv('WORKERS')";

const PHP: Server = Server {
    name: "",
    title: "",
    packages: &[],
    files: &[],
    start: Start::Script(&[]),
    run: &["php", "SCRIPT"],
    signal: SignalEntry::Term,
    edits: &[],
    is_one_process: false,
    env: &[],
    keys: &[],
    logs: &[],
};

const WEBMAN: Option<&str> = Some("config/process.php");
const HYPERF: Option<&str> = Some("config/autoload/server.php");

/// The first that fits counts: webman runs on Workerman.
static SERVERS: [Server; 7] = [
    Server {
        name: "webman",
        title: "webman application",
        packages: &["workerman/webman-framework"],
        files: &["config/process.php", "support/bootstrap.php"],
        start: Start::File("start.php"),
        run: &["php", "SCRIPT", "start"],
        signal: SignalEntry::Int,
        edits: &[
            edit(
                WEBMAN,
                &["'listen' =>"],
                "'listen' => 'http://' . getenv('HOST') . ':' . getenv('PORT'),",
                Value::Address,
            ),
            edit(WEBMAN, &["'count' =>"], "'count' => (int) getenv('WORKERS'),", Value::Item(WORKERS)),
            Edit {
                is_always: false,
                file: WEBMAN,
                finds: &["'enable_file_monitor' =>"],
                write: "'enable_file_monitor' => false,",
                value: Value::Item("false"),
            },
        ],
        logs: &["runtime/logs/webman-DATE.log", "runtime/logs/workerman.log", "runtime/logs/stdout.log"],
        ..PHP
    },
    Server {
        name: "hyperf",
        title: "Hyperf application",
        packages: &["hyperf/framework"],
        files: &["bin/hyperf.php"],
        start: Start::File("bin/hyperf.php"),
        run: &["php", "-d", "swoole.use_shortname=Off", "SCRIPT", "start"],
        edits: &[
            edit(HYPERF, &["'host' =>"], "'host' => getenv('HOST') ?: '0.0.0.0',", Value::Item("'@{front.host}'")),
            edit(HYPERF, &["'port' =>"], "'port' => (int) (getenv('PORT') ?: 9501),", Value::Item("@{front.port}")),
            edit(
                HYPERF,
                &["OPTION_WORKER_NUM", "'worker_num'"],
                "Constant::OPTION_WORKER_NUM => (int) getenv('WORKERS'),",
                Value::Item(WORKERS),
            ),
        ],
        env: &[("APP_ENV", "prod"), ("SCAN_CACHEABLE", "(true)")],
        keys: &[
            "DB_DRIVER",
            "DB_HOST",
            "DB_PORT",
            "DB_DATABASE",
            "DB_USERNAME",
            "DB_PASSWORD",
            "REDIS_HOST",
            "REDIS_PORT",
        ],
        logs: &["runtime/logs/hyperf.log"],
        ..PHP
    },
    Server {
        name: "roadrunner",
        title: "RoadRunner application",
        files: &[".rr.yaml"],
        start: Start::File(".rr.yaml"),
        // It puts variables of the environment into values of -o too.
        // <https://github.com/roadrunner-server/config/blob/master/plugin.go>
        run: &[
            "rr",
            "serve",
            "-c",
            "SCRIPT",
            "-o",
            "http.address=@{front}",
            "-o",
            "http.pool.num_workers=${WORKERS}",
            "-o",
            "rpc.listen=unix://@{app}/rr.sock",
        ],
        keys: &["APP_ENV", "DEBUG", "ENCRYPTER_KEY", "DB_CONNECTION"],
        ..PHP
    },
    Server {
        name: "workerman",
        title: "Workerman application",
        packages: &["workerman/workerman"],
        start: Start::Script(&["Worker::runAll("]),
        run: &["php", "SCRIPT", "start"],
        signal: SignalEntry::Int,
        edits: &[
            edit(
                None,
                &["new Worker("],
                "new Worker('http://' . getenv('HOST') . ':' . getenv('PORT'))",
                Value::Address,
            ),
            edit(None, &["->count"], "->count = (int) getenv('WORKERS');", Value::Assigned(WORKERS)),
        ],
        ..PHP
    },
    Server {
        name: "swoole",
        title: "Swoole server",
        start: Start::Script(&[
            "Swoole\\Http\\Server",
            "Swoole\\HTTP\\Server",
            "Swoole\\Coroutine\\Http\\Server",
            "Swoole\\Coroutine\\HTTP\\Server",
            "swoole_http_server(",
        ]),
        edits: &[
            edit(
                None,
                &["new Server(", "Http\\Server(", "HTTP\\Server(", "new swoole_http_server("],
                "new Swoole\\Http\\Server(getenv('HOST'), (int) getenv('PORT'))",
                Value::HostAndPort,
            ),
            edit(None, &["worker_num"], "'worker_num' => (int) getenv('WORKERS'),", Value::Item(WORKERS)),
        ],
        ..PHP
    },
    Server {
        name: "amphp",
        title: "AMPHP server",
        packages: &["amphp/http-server"],
        start: Start::Script(&["SocketHttpServer"]),
        edits: &[edit(None, &["->expose("], "->expose(getenv('HOST') . ':' . getenv('PORT'));", Value::Address)],
        is_one_process: true,
        ..PHP
    },
    Server {
        name: "reactphp",
        title: "ReactPHP server",
        packages: &["react/http"],
        start: Start::Script(&["React\\Http\\HttpServer", "React\\Http\\Server"]),
        edits: &[edit(
            None,
            &["SocketServer("],
            "new React\\Socket\\SocketServer(getenv('HOST') . ':' . getenv('PORT'));",
            Value::Address,
        )],
        is_one_process: true,
        ..PHP
    },
];

/// Where scripts that start a server are.
const SCRIPT_FOLDERS: [&str; 2] = ["", "bin"];
/// A larger script starts no server.
const MOST_BYTES: u64 = 1 << 18;

/// The server that the application brings. Those with a script of any name only count where `by_scripts` says so.
pub(super) fn brought(folder: &Path, composer: &Composer, by_scripts: bool) -> Option<Brought> {
    let is_package = |server: &Server| server.packages.iter().any(|name| composer.versions.contains_key(*name));
    let has_files = |server: &Server| server.files.iter().all(|name| folder.join(name).is_file());
    SERVERS.iter().find_map(|server| match server.start {
        Start::File(file) => {
            let is_sign = is_package(server) || has_files(server);
            let start = (is_sign && folder.join(file).is_file()).then(|| PathBuf::from(file))?;
            Some(Brought { server, start })
        }
        Start::Script(texts) => {
            let start = by_scripts.then(|| script(folder, texts)).flatten()?;
            Some(Brought { server, start })
        }
    })
}

/// The first script by name, in the first folder, with any of these texts.
fn script(folder: &Path, texts: &[&str]) -> Option<PathBuf> {
    SCRIPT_FOLDERS.iter().find_map(|below| {
        let entries = fs::read_dir(folder.join(below)).into_iter().flatten().filter_map(Result::ok);
        let mut paths: Vec<_> = entries.map(|entry| entry.path()).filter(|path| is_script(path)).collect();
        paths.sort();
        let has_text = |path: &PathBuf| {
            let text = fs::read(path).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            texts.iter().any(|part| text.contains(part))
        };
        paths.into_iter().find(has_text).and_then(|path| path.strip_prefix(folder).ok().map(Path::to_owned))
    })
}

fn is_script(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "php")
        && path.metadata().is_ok_and(|file| file.is_file() && file.len() <= MOST_BYTES)
}

impl Brought {
    /// Whether its command line takes address and number of workers, so that it can be run as it is.
    pub(super) fn is_ready(&self) -> bool {
        self.server.edits.is_empty()
    }

    /// How it is run, with what is replaced in the copy; nothing where a line is not as its makers write it.
    pub(super) fn command(&self, folder: &Path) -> Option<CommandEntry> {
        let mut replace = Vec::new();
        for edit in self.server.edits {
            match self.replacement(edit, folder) {
                None if edit.is_always => return None,
                replacement => replace.extend(replacement),
            }
        }
        Some(self.with(replace))
    }

    fn with(&self, replace: Vec<ReplaceEntry>) -> CommandEntry {
        let start = self.start.display().to_string();
        let run = self.server.run.iter().map(|word| word.replace("SCRIPT", &start)).collect();
        CommandEntry::of_server(run, replace, self.server.signal, !self.server.is_one_process)
    }

    /// The first line that an edit is of, and its number from 1.
    fn line(&self, edit: &Edit, folder: &Path) -> Option<(usize, String)> {
        let file = edit.file.map_or(self.start.as_path(), Path::new);
        let whole = fs::read_to_string(folder.join(file)).unwrap_or_default();
        let mut lines = (1..).zip(whole.lines()).filter(|(_, line)| !line.trim_start().starts_with(['/', '*', '#']));
        let (number, line) = lines.find(|(_, line)| edit.finds.iter().any(|part| line.contains(part)))?;
        Some((number, line.trim().to_owned()))
    }

    fn replacement(&self, edit: &Edit, folder: &Path) -> Option<ReplaceEntry> {
        let (_, line) = self.line(edit, folder)?;
        let with = edit.value.put_into(&line)?;
        let file = edit.file.map_or_else(|| self.start.clone(), PathBuf::from);
        Some(ReplaceEntry { file, text: Text(line), with: Text(with) })
    }

    /// What to change in it and to write in a plan, line by line.
    pub(super) fn instructions(&self, folder: &Path) -> String {
        let mut text = "change it so that it takes its address and number of workers from the environment:".to_owned();
        for edit in self.server.edits {
            let Edit { is_always, file, write, .. } = edit;
            let file = file.map_or(self.start.as_path(), Path::new);
            let line = self.line(edit, folder);
            if line.is_some() || *is_always {
                let line = line.map(|(number, _)| format!(":{number}")).unwrap_or_default();
                let _ = write!(text, "\n  {}{line}: {write}", file.display());
            }
        }
        let _ =
            write!(text, "\n  then write a stampede.yaml there:\n  app:\n    dir: .\n    kind: command\n    command:");
        for (key, value) in self.with(Vec::new()).keys() {
            let _ = write!(text, "\n      {key}: {value}");
        }
        if !self.server.env.is_empty() {
            let env: Vec<_> = self.server.env.iter().map(|(name, value)| format!("{name}: {value:?}")).collect();
            let _ = write!(text, "\n    env: {{{}}}", env.join(", "));
        }
        text
    }
}

impl Value {
    /// A line with the value put in; nothing where it has another form.
    fn put_into(self, line: &str) -> Option<String> {
        match self {
            Self::Item(value) => behind(line, "=>", ',').map(|before| format!("{before}=> {value},")),
            Self::Assigned(value) => behind(line, "=", ';').map(|before| format!("{before}= {value};")),
            Self::Address => {
                let (start, end) = quoted(line, |text| text.rsplit_once(':').is_some_and(|(_, port)| is_port(port)))?;
                let scheme =
                    line[start..end].split_once("://").map_or_else(String::new, |(scheme, _)| format!("{scheme}://"));
                Some(format!("{}{scheme}@{{front}}{}", &line[..start], &line[end..]))
            }
            Self::HostAndPort => {
                let (start, end) = quoted(line, |_| true)?;
                let rest = line[end + 1..].trim_start().strip_prefix(',')?.trim_start();
                let digits = rest.find(|letter: char| !letter.is_ascii_digit()).filter(|digits| *digits > 0)?;
                let before = &line[..start - 1];
                Some(format!("{before}'@{{front.host}}', @{{front.port}}{}", &rest[digits..]))
            }
        }
    }
}

/// What stands before a sign of a line that ends with this letter and closes what it opens.
fn behind<'a>(line: &'a str, sign: &str, end: char) -> Option<&'a str> {
    let (before, value) = line.split_once(sign)?;
    let value = value.strip_suffix(end)?;
    let count = |letter: char| value.matches(letter).count();
    let is_whole = count('(') == count(')') && count('[') == count(']') && !value.contains(';');
    is_whole.then_some(before)
}

/// Where the first quoted text lies that is as wanted, without its quotation marks.
fn quoted(line: &str, wanted: impl Fn(&str) -> bool) -> Option<(usize, usize)> {
    let mut from = 0;
    while let Some(start) = line[from..].find(['\'', '"']).map(|at| from + at) {
        let mark = &line[start..=start];
        let end = start + 1 + line[start + 1..].find(mark)?;
        if wanted(&line[start + 1..end]) {
            return Some((start + 1, end));
        }
        from = end + 1;
    }
    None
}

fn is_port(text: &str) -> bool {
    text.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gets_the_address_and_number_of_workers() {
        for (value, line, with) in [
            (Value::Address, "'listen' => 'http://0.0.0.0:8787',", Some("'listen' => 'http://@{front}',")),
            (
                Value::Address,
                "$w = new Worker(\"http://0.0.0.0:2345\");",
                Some("$w = new Worker(\"http://@{front}\");"),
            ),
            (Value::Address, "$server->expose('0.0.0.0:1337');", Some("$server->expose('@{front}');")),
            (Value::Address, "new Worker($address);", None),
            (Value::Item(WORKERS), "'count' => cpu_count() * 4,", Some("'count' => (int) getenv('WORKERS'),")),
            (Value::Item(WORKERS), "'count' => max(", None),
            (Value::Item(WORKERS), "'count' => 4", None),
            (Value::Assigned(WORKERS), "$w->count = 4;", Some("$w->count = (int) getenv('WORKERS');")),
            (
                Value::HostAndPort,
                "$server = new Swoole\\Http\\Server('0.0.0.0', 9501, SWOOLE_BASE);",
                Some("$server = new Swoole\\Http\\Server('@{front.host}', @{front.port}, SWOOLE_BASE);"),
            ),
            (Value::HostAndPort, "new Server($host, 9501);", None),
        ] {
            assert_eq!(value.put_into(line).as_deref(), with, "{line}");
        }
    }
}
