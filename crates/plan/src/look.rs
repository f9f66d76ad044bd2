//! What a folder holds: which kind of application, of which framework, and what it needs.
//!
//! Each kind is a row of a table: the files that give it away, and how it is then served.

mod composer;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use self::composer::Composer;
use crate::site::SiteEntry;
use crate::workload::KindEntry;

/// One kind of application that can be told by its files.
struct Sign {
    title: &'static str,
    /// Files that are all there.
    files: &'static [&'static str],
    kind: KindEntry,
    /// The script that answers every request, one of `files`; none where the kind has none.
    index: Option<&'static str>,
    /// Composer packages that say which version it is. The first gives it away too, beside `index`.
    packages: &'static [&'static str],
    /// Extensions that it needs although it has no `composer.json` that says so.
    extensions: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
    /// Commands that prepare it where it is served as a front controller, each with the file that it needs; a framework's kind
    /// prepares itself.
    prepare: &'static [(&'static str, &'static [&'static str])],
    remark: Option<&'static str>,
}

/// What PHP has unless it is left out when it is built, and some distributions keep in files of their own.
/// <https://www.php.net/manual/en/extensions.membership.php#extensions.membership.bundled>
const BUNDLED: [&str; 4] = ["ctype", "fileinfo", "iconv", "tokenizer"];

/// What makes a framework's classes known to those who load its kernel.
const AUTOLOAD: &str = "vendor/autoload.php";

const NO_WORKERS: &str = "without vendor/autoload.php its kernel cannot be kept by a worker: it is served through its front \
                          controller, which starts the framework afresh for each request";

/// The first row whose files are there counts.
const SIGNS: [Sign; 7] = [
    Sign {
        title: "Laravel application",
        files: &["artisan", "bootstrap/app.php", "public/index.php"],
        kind: KindEntry::Laravel,
        index: Some("public/index.php"),
        packages: &["laravel/framework", "laravel/octane"],
        extensions: &["mbstring"],
        env: &[("APP_ENV", "production"), ("APP_DEBUG", "false")],
        prepare: &[],
        remark: None,
    },
    Sign {
        title: "Symfony application",
        files: &["config/bundles.php", "src/Kernel.php", "public/index.php"],
        kind: KindEntry::Symfony,
        index: Some("public/index.php"),
        packages: &["symfony/framework-bundle", "symfony/runtime"],
        extensions: &["mbstring"],
        env: &[("APP_ENV", "prod"), ("APP_DEBUG", "0")],
        prepare: &[("bin/console", &["php", "bin/console", "cache:warmup", "--no-interaction"])],
        remark: None,
    },
    Sign {
        title: "WordPress site",
        files: &["wp-load.php", "index.php"],
        kind: KindEntry::FrontController,
        index: Some("index.php"),
        packages: &[],
        extensions: &["mysqli", "mbstring", "xml"],
        env: &[],
        prepare: &[],
        remark: Some("it needs its database, as wp-config.php says"),
    },
    plain("PHP application", &["public/index.php"]),
    plain("PHP application", &["web/index.php"]),
    plain("PHP application", &["index.php"]),
    Sign {
        title: "Go program",
        files: &["go.mod"],
        kind: KindEntry::GoProgram,
        index: None,
        packages: &[],
        extensions: &[],
        env: &[],
        prepare: &[],
        remark: Some("it must listen on the address in the environment variable LISTEN"),
    },
];

/// A front controller of no known framework.
const fn plain(title: &'static str, files: &'static [&'static str; 1]) -> Sign {
    let kind = KindEntry::FrontController;
    let index = Some(files[0]);
    Sign { title, files, kind, index, packages: &[], extensions: &[], env: &[], prepare: &[], remark: None }
}

/// What was found in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// `Symfony application`.
    pub title: &'static str,
    /// Its kind, as plans write it: `front-controller`.
    pub kind: &'static str,
    /// The script that answers every request, where its kind has one.
    pub index: Option<PathBuf>,
    /// What is known of its public folder beside that.
    pub(crate) site: SiteEntry,
    /// Packages of its framework with their versions: `symfony/framework-bundle v7.1.2`.
    pub packages: Vec<String>,
    /// PHP extensions that it needs.
    pub extensions: Vec<String>,
    /// Environment that makes it what it is in production.
    pub env: BTreeMap<String, String>,
    /// Commands that prepare it.
    pub prepare: Vec<Vec<String>>,
    /// What else a reader should know.
    pub remarks: Vec<String>,
    pub(crate) entry: KindEntry,
}

/// Looks at a folder.
///
/// # Errors
///
/// Why it is nothing that could be served, as the end of a sentence that begins with the folder.
pub fn look(folder: &Path) -> Result<Look, String> {
    let is_file = |name: &str| folder.join(name).is_file();
    let composer = Composer::read(folder).unwrap_or_default();
    let has_framework = |sign: &Sign| {
        sign.packages.first().is_some_and(|name| composer.versions.contains_key(*name))
            && sign.index.is_some_and(is_file)
    };
    let sign = SIGNS.iter().find(|sign| sign.files.iter().all(|name| is_file(name)) || has_framework(sign));
    let Some(sign) = sign else {
        let files: BTreeSet<_> = SIGNS.iter().filter_map(|sign| sign.index.or(sign.files.first().copied())).collect();
        let files = files.into_iter().collect::<Vec<_>>().join(", ");
        return Err(format!("holds no application that is known by its files (one of {files})"));
    };
    let Sign { title, files: _, kind, index, packages, extensions, env, prepare, remark } = sign;
    if *kind == KindEntry::GoProgram && !has_main(folder) {
        return Err("holds a Go module without a main package".to_owned());
    }
    let mut remarks: Vec<String> = remark.iter().map(|remark| (*remark).to_owned()).collect();
    let is_framework = matches!(kind, KindEntry::Symfony | KindEntry::Laravel);
    let kind = if is_framework && !is_file(AUTOLOAD) {
        remarks.push(NO_WORKERS.to_owned());
        &KindEntry::FrontController
    } else {
        kind
    };
    if composer.needs_packages && !is_file(AUTOLOAD) {
        remarks.push("its composer.json names packages and there is no vendor folder: run composer install".to_owned());
    }
    remarks.extend(composer.php.iter().map(|versions| format!("it asks for PHP {versions}")));
    let bundled = BUNDLED.iter().filter(|_| index.is_some());
    let mut needed: BTreeSet<String> = extensions.iter().chain(bundled).map(|name| (*name).to_owned()).collect();
    needed.extend(composer.extensions);
    if index.is_some() && extensions.is_empty() && !composer.is_there {
        needed.extend(source::extensions(folder));
    }
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Ok(Look {
        title,
        kind: kind.name(),
        index: index.filter(|_| kind.fields().contains(&"index")).map(PathBuf::from),
        site: SiteEntry::default(),
        packages: packages
            .iter()
            .filter_map(|name| Some(format!("{name} {}", composer.versions.get(*name)?)))
            .collect(),
        extensions: needed.into_iter().collect(),
        env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        prepare: prepare
            .iter()
            .filter(|(file, _)| *kind == KindEntry::FrontController && is_file(file))
            .map(|(_, command)| words(command))
            .collect(),
        remarks,
        entry: *kind,
    })
}

/// Whether a Go file in the folder is of the package `main`, which makes a program.
/// <https://go.dev/ref/spec#Program_execution>
fn has_main(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|ending| ending == "go")).any(|path| {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().any(|line| line.trim_end() == "package main")
    })
}

#[cfg(test)]
mod tests;
