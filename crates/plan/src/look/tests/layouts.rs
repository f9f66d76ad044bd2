//! Small folders with the layout of each framework: what they are found to be.

use serde::Deserialize;

use super::*;

/// Real servers serve them too: `crates/runtimes/tests/real_servers/layouts.rs`.
const LAYOUTS: &str = include_str!("layouts.yaml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Layout {
    name: String,
    #[serde(default)]
    packages: Vec<String>,
    files: Vec<String>,
    title: String,
    kind: Option<String>,
    index: PathBuf,
    fallback: Option<String>,
}

#[test]
fn each_framework_is_known_by_its_layout() {
    let layouts: Vec<Layout> = serde_saphyr::from_str(LAYOUTS).unwrap();
    for Layout { name, packages, files, title, kind, index, fallback } in &layouts {
        let app = empty(&files.iter().map(String::as_str).collect::<Vec<_>>());
        if !packages.is_empty() {
            let packages: Vec<_> = packages.iter().map(String::as_str).collect();
            fs::write(app.path().join("composer.json"), requires(&packages)).unwrap();
        }
        let found = look(app.path(), None).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let kind = kind.as_deref().unwrap_or("front-controller");
        assert_eq!(
            (found.framework, found.title, found.kind),
            (Some(name.as_str()), title.as_str(), kind),
            "{files:?}"
        );
        let root = index.parent().filter(|root| *root != Path::new("")).unwrap_or(Path::new("."));
        let site = (found.site.root.as_deref(), found.site.fallback.map(FallbackEntry::name));
        assert_eq!((site, found.index.as_ref()), ((Some(root), fallback.as_deref()), Some(index)), "{name}");
        assert!(
            !found.remarks.iter().any(|told| told.contains("not served as a script")),
            "{name} {:?}",
            found.remarks
        );
    }
    let tested: BTreeSet<_> = layouts.iter().map(|layout| layout.name.as_str()).collect();
    let known: BTreeSet<_> = FRAMEWORKS.iter().map(|row| row.name).collect();
    assert_eq!(tested, known);
}

#[test]
fn an_application_of_no_known_framework_is_served_from_its_public_folder() {
    for (files, kind, root, index, fallback) in [
        (&[("public/index.php", ""), ("index.php", "")][..], "front-controller", "public", "public/index.php", None),
        (&[("web/index.php", "")], "front-controller", "web", "web/index.php", None),
        (&[("webroot/index.php", "")], "front-controller", "webroot", "webroot/index.php", None),
        (&[("pub/index.php", "")], "front-controller", "pub", "pub/index.php", None),
        (&[("public_html/index.php", "")], "front-controller", "public_html", "public_html/index.php", None),
        (&[("htdocs/index.php", "")], "front-controller", "htdocs", "htdocs/index.php", None),
        (&[("docroot/index.php", "")], "front-controller", "docroot", "docroot/index.php", None),
        (&[("www/index.php", "")], "front-controller", "www", "www/index.php", None),
        (&[("index.php", ""), ("composer.json", "{}")], "front-controller", ".", "index.php", None),
        (
            &[
                ("composer.json", r#"{"extra": {"public-dir": "dist"}}"#),
                ("dist/index.php", ""),
                ("public/index.php", ""),
            ],
            "front-controller",
            "dist",
            "dist/index.php",
            None,
        ),
        (&[("index.php", ""), ("about.php", ""), ("sub/a.php", "")], "scripts", ".", "index.php", Some("none")),
        (&[("index.php", ""), ("sub/a.php", "")], "front-controller", ".", "index.php", None),
        (
            &[("public/index.php", ""), ("public/index-test.php", "")],
            "front-controller",
            "public",
            "public/index.php",
            None,
        ),
        (
            &[("index.php", ""), ("a.php", ""), (".htaccess", "RewriteEngine On\n  RewriteRule ^ index.php [L]\n")],
            "scripts",
            ".",
            "index.php",
            Some("front"),
        ),
        (
            &[("www/index.php", ""), ("www/a.php", ""), ("www/.htaccess", "FallbackResource /index.php\n")],
            "scripts",
            "www",
            "www/index.php",
            Some("front"),
        ),
        (
            &[
                ("index.php", ""),
                ("a.php", ""),
                (".htaccess", "RewriteRule ^index.php$ - [L]\nRewriteRule ^old$ /new [R]\n"),
            ],
            "scripts",
            ".",
            "index.php",
            Some("none"),
        ),
        (
            &[("index.php", ""), (".htaccess", "RewriteRule ^(.*)$ index.php?url=$1 [QSA,L]\n")],
            "front-controller",
            ".",
            "index.php",
            None,
        ),
        (
            &[("index.php", ""), (".htaccess", "rewriterule ^(.*)$ /index.php/$1 [L]\n")],
            "front-controller",
            ".",
            "index.php",
            Some("path-info"),
        ),
    ] {
        let found = look(folder(files).path(), None).unwrap();
        assert_eq!((found.framework, found.title, found.kind), (None, "PHP application", kind), "{files:?}");
        let site = (found.site.root, found.site.fallback.map(FallbackEntry::name));
        assert_eq!((site, found.index), ((Some(root.into()), fallback), Some(index.into())), "{files:?}");
    }
    let go = folder(&[("go.mod", "module m\n"), ("main.go", "package main\n\nfunc main() {}\n")]);
    assert_eq!(look(go.path(), None).unwrap().kind, "go-program");
}

#[test]
fn composer_json_names_the_public_folder() {
    for (composer, files, framework, index) in [
        (
            r#"{"require": {"symfony/framework-bundle": "7"}, "extra": {"public-dir": "./html/"}}"#,
            &["html/index.php", "public/index.php"][..],
            "symfony",
            "html/index.php",
        ),
        (
            r#"{"require": {"drupal/core": "11"}, "extra": {"drupal-scaffold": {"locations": {"web-root": "docs/"}}}}"#,
            &["docs/index.php"],
            "drupal",
            "docs/index.php",
        ),
        (
            r#"{"require": {"drupal/core": "11"}, "extra": {"drupal-scaffold": {"locations": {"web-root": "./"}}}}"#,
            &["index.php"],
            "drupal",
            "index.php",
        ),
        (
            r#"{"require": {"typo3/cms-core": "13"}, "extra": {"typo3/cms": {"web-dir": "www"}}}"#,
            &["www/index.php"],
            "typo3",
            "www/index.php",
        ),
        (
            r#"{"require": {"contao/manager-bundle": "5"}, "extra": {"public-dir": "web"}}"#,
            &["web/index.php"],
            "contao",
            "web/index.php",
        ),
        (
            r#"{"require": {"roots/wordpress": "6"}, "extra": {"wordpress-install-dir": "site/wp"}}"#,
            &["site/index.php"],
            "bedrock",
            "site/index.php",
        ),
    ] {
        let app = empty(files);
        fs::write(app.path().join("composer.json"), composer).unwrap();
        let found = look(app.path(), None).unwrap();
        assert_eq!((found.framework, found.index), (Some(framework), Some(index.into())), "{composer}");
    }
    let neos = empty(&["Web/index.php", "flow"]);
    fs::write(neos.path().join("composer.json"), r#"{"config": {"vendor-dir": "Packages/Libraries"}}"#).unwrap();
    let installed = neos.path().join("Packages/Libraries/composer/installed.json");
    fs::create_dir_all(installed.parent().unwrap()).unwrap();
    fs::write(installed, r#"[{"name": "neos/flow", "version": "8.3.0"}]"#).unwrap();
    assert_eq!(look(neos.path(), None).unwrap().packages, ["neos/flow 8.3.0"]);
}
