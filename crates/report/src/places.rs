//! Where things lay on the machine that measured. A report is given to others, who need to know no more of it than what every
//! machine has.

use std::borrow::Cow;
use std::collections::BTreeMap;

use stampede_core::{PhpBuild, PhpModule, PhpReadBack, PhpSetup};

/// A run's folder, as deployments name it.
const RUN: &str = "@{run}";
/// What stands between the folder that runs are in, which the user may choose, and the name of a run.
const RUNS: &str = "/r/";
/// How the name of that folder begins where none was chosen; a number follows.
const STATE: &str = "/stampede-";
/// Where the system keeps programs and their settings.
const SYSTEM: [&str; 6] = ["/usr", "/etc", "/lib", "/opt", "/dev", "/nix"];

/// A text without the folders of runs: each trial has another one, and all are gone. A record does not say which folder they
/// were in, so that they are known by their shape.
pub(crate) fn without_runs(text: &str) -> Cow<'_, str> {
    if !text.contains(RUNS) {
        return Cow::Borrowed(text);
    }
    let (mut told, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(RUNS) {
        let folder = folder_at_end(before);
        match after_run(folder, after) {
            Some(after) => {
                told.push_str(before.strip_suffix(folder).unwrap_or(before));
                told.push_str(RUN);
                rest = after;
            }
            None => {
                told.push_str(before);
                told.push_str(RUNS);
                rest = after;
            }
        }
    }
    Cow::Owned(told + rest)
}

/// The absolute path that a text ends with; empty where it ends with none.
fn folder_at_end(text: &str) -> &str {
    let is_of_path = |c: char| c.is_alphanumeric() || "/._-+@~%".contains(c);
    let path = &text[text.trim_end_matches(is_of_path).len()..];
    path.find('/').map_or("", |start| &path[start..])
}

/// What follows the name of a run, `1262-3f`: the numbers of a process and of its run.
fn after_run<'a>(folder: &str, text: &'a str) -> Option<&'a str> {
    let is_of_name = |c: char| c.is_ascii_hexdigit() || c == '-';
    let after = text.trim_start_matches(is_of_name);
    let name = &text[..text.len() - after.len()];
    let user = folder.rsplit_once(STATE).map_or("", |(_, user)| user);
    let is_default = !user.is_empty() && user.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_name = name.split_once('-').is_some_and(|(process, count)| is_number(process) && is_number(count));
    let ends = !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    ((is_default && !name.is_empty()) || (!folder.is_empty() && is_name && ends)).then_some(after)
}

/// A value that may be a path, of which the name alone is left where it is somebody's own.
pub(crate) fn value(text: &str) -> Cow<'_, str> {
    let text = without_runs(text);
    let is_own = text.starts_with('/') && !SYSTEM.iter().any(|begin| text.starts_with(begin));
    match text.trim_end_matches('/').rsplit_once('/') {
        Some((_, name)) if is_own => Cow::Owned(format!(".../{name}")),
        _ => text,
    }
}

pub(crate) fn build(php: &PhpBuild) -> PhpBuild {
    let option = |option: &str| match option.split_once('=') {
        Some((name, path)) => {
            let end = path.find(['\'', '"', ' ']).unwrap_or(path.len());
            format!("{name}={}{}", value(&path[..end]), &path[end..])
        }
        None => option.to_owned(),
    };
    PhpBuild {
        configure: php.configure.split_inclusive(' ').map(option).collect(),
        setup: php.setup.as_deref().map(|setup| Box::new(self::setup(setup))),
        extension_dir: value(&php.extension_dir.to_string_lossy()).into_owned().into(),
        ..php.clone()
    }
}

fn setup(setup: &PhpSetup) -> PhpSetup {
    let values = |settings: &BTreeMap<String, String>| {
        settings.iter().map(|(name, text)| (name.clone(), value(text).into_owned())).collect()
    };
    let module = |module: &PhpModule| PhpModule { file: value(&module.file).into_owned(), ..module.clone() };
    PhpSetup {
        source: value(&setup.source).into_owned(),
        modules: setup.modules.iter().map(module).collect(),
        left_out: setup.left_out.clone(),
        settings: values(&setup.settings),
        not_taken: values(&setup.not_taken),
    }
}

pub(crate) fn read_back(php: &PhpReadBack) -> PhpReadBack {
    let settings = php.settings.iter().map(|(name, text)| (name.clone(), value(text).into_owned()));
    PhpReadBack { settings: settings.collect(), ..php.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_runs_have_one_name() {
        for (text, told) in [
            ("", ""),
            ("no path", "no path"),
            ("/var/tmp/stampede-0/r/1262-3/php/tmp", "@{run}/php/tmp"),
            ("in /var/tmp/stampede-1000/r/a-1:3, and /tmp/stampede-7/r/b-2.", "in @{run}:3, and @{run}."),
            ("unix:/var/tmp/stampede-0/r/1262-3f/s/fpm.sock failed", "unix:@{run}/s/fpm.sock failed"),
            ("/opt/stampede-docs/r/x /stampede-0/r/", "/opt/stampede-docs/r/x /stampede-0/r/"),
            ("ü/var/stampede-0/r/1ü", "ü@{run}ü"),
        ] {
            assert_eq!(without_runs(text), told, "{text}");
        }
    }

    #[test]
    fn runs_are_known_in_a_folder_that_the_user_chose() {
        for (text, told) in [
            ("/home/alice/st/r/1262-3f/php/tmp", "@{run}/php/tmp"),
            ("open \"/home/J\u{f6}rg_2/.st@work/r/a-1\": denied", "open \"@{run}\": denied"),
            ("unix:/s/r/1262-3f/s/fpm.sock, /s/r/1262-40.", "unix:@{run}/s/fpm.sock, @{run}."),
            ("/r/1262-3f/x", "/r/1262-3f/x"),
            (
                "GET /r/12-3 and /a/r/, /a/r/12, /a/r/x-1, /a/r/12-3x",
                "GET /r/12-3 and /a/r/, /a/r/12, /a/r/x-1, /a/r/12-3x",
            ),
        ] {
            assert_eq!(without_runs(text), told, "{text}");
        }
    }

    #[test]
    fn paths_of_ones_own_are_told_by_their_names() {
        for (text, told) in [
            ("128M", "128M"),
            ("/", "/"),
            ("/usr/lib/php/20220829", "/usr/lib/php/20220829"),
            ("/home/alice/php/extensions/", ".../extensions"),
            ("/var/tmp/stampede-0/r/1262-3/php/tmp", "@{run}/php/tmp"),
        ] {
            assert_eq!(value(text), told, "{text}");
        }
    }

    #[test]
    fn a_build_tells_its_options_without_whose_they_are() {
        let php = PhpBuild {
            version: "8.2.29".to_owned(),
            thread_safe: false,
            debug: false,
            libc: "glibc".to_owned(),
            configure: " '--prefix=/home/alice/php' '--enable-mbstring' '--sysconfdir=/etc' CFLAGS=-O2".to_owned(),
            extension_dir: "/home/alice/php/lib/20220829".into(),
            built_in: Vec::new(),
            loadable: Vec::new(),
            setup: None,
        };
        let told = build(&php);
        assert_eq!(told.configure, " '--prefix=.../php' '--enable-mbstring' '--sysconfdir=/etc' CFLAGS=-O2");
        assert_eq!(told.extension_dir.to_string_lossy(), ".../20220829");
    }
}
