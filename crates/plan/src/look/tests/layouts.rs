//! Small folders with the layout of each framework: what they are found to be.

use super::*;

/// A row: its name, packages that are required, files, then what is found: title, kind, root, script and fallback.
type Row<'a> = (&'a str, &'a [&'a str], &'a [&'a str], &'a str, &'a str, &'a str, &'a str, Option<&'a str>);

/// `kind` is what it is without `vendor/autoload.php`.
const ROWS: &[Row<'_>] = &[
    (
        "laravel",
        &[],
        &["artisan", "bootstrap/app.php", "public/index.php"],
        "Laravel application",
        "front-controller",
        "public",
        "public/index.php",
        None,
    ),
    (
        "laravel",
        &["laravel/framework"],
        &["public/index.php"],
        "Laravel application",
        "front-controller",
        "public",
        "public/index.php",
        None,
    ),
    (
        "laravel-octane",
        &["laravel/framework", "laravel/octane"],
        &["artisan", "public/index.php", ".rr.yaml", "public/frankenphp-worker.php"],
        "Laravel application",
        "front-controller",
        "public",
        "public/index.php",
        None,
    ),
    (
        "lumen",
        &["laravel/lumen-framework"],
        &["artisan", "bootstrap/app.php", "public/index.php"],
        "Lumen application",
        "front-controller",
        "public",
        "public/index.php",
        None,
    ),
    (
        "october",
        &["october/rain", "laravel/framework"],
        &["artisan", "bootstrap/app.php", "index.php", "modules/system/a"],
        "October site",
        "front-controller",
        ".",
        "index.php",
        None,
    ),
    (
        "october",
        &[],
        &["artisan", "bootstrap/app.php", "index.php", "modules/system/a"],
        "October site",
        "front-controller",
        ".",
        "index.php",
        None,
    ),
    (
        "statamic",
        &["statamic/cms", "laravel/framework"],
        &["artisan", "bootstrap/app.php", "public/index.php"],
        "Statamic site",
        "front-controller",
        "public",
        "public/index.php",
        None,
    ),
    (
        "symfony",
        &[],
        &["config/bundles.php", "src/Kernel.php", "public/index.php", "bin/console"],
        "Symfony application",
        "front-controller",
        "public",
        "public/index.php",
        None,
    ),
    (
        "api-platform",
        &["api-platform/symfony", "symfony/framework-bundle"],
        &["config/bundles.php", "src/Kernel.php", "public/index.php"],
        "API Platform application",
        "front-controller",
        "public",
        "public/index.php",
        None,
    ),
    (
        "api-platform-laravel",
        &["api-platform/laravel", "laravel/framework"],
        &["artisan", "bootstrap/app.php", "public/index.php"],
        "API Platform application",
        "front-controller",
        "public",
        "public/index.php",
        None,
    ),
    (
        "sylius",
        &["sylius/sylius", "api-platform/symfony", "symfony/framework-bundle"],
        &["config/bundles.php", "src/Kernel.php", "public/index.php"],
        "Sylius shop",
        "front-controller",
        "public",
        "public/index.php",
        None,
    ),
    (
        "sulu",
        &["sulu/sulu", "symfony/framework-bundle"],
        &["public/index.php"],
        "Sulu site",
        "front-controller",
        "public",
        "public/index.php",
        None,
    ),
    (
        "shopware",
        &["shopware/core", "symfony/framework-bundle"],
        &["public/index.php"],
        "Shopware shop",
        "front-controller",
        "public",
        "public/index.php",
        None,
    ),
    (
        "contao",
        &["contao/manager-bundle"],
        &["public/index.php", "public/preview.php"],
        "Contao site",
        "front-controller",
        "public",
        "public/index.php",
        None,
    ),
    (
        "slim",
        &["slim/slim"],
        &["public/index.php", "public/.htaccess"],
        "Slim application",
        "front-controller",
        "public",
        "public/index.php",
        None,
    ),
    (
        "mezzio",
        &[],
        &["config/pipeline.php", "config/container.php", "public/index.php"],
        "Mezzio application",
        "front-controller",
        "public",
        "public/index.php",
        None,
    ),
    (
        "laminas-mvc",
        &["laminas/laminas-mvc"],
        &["config/modules.config.php", "public/index.php"],
        "Laminas application",
        "front-controller",
        "public",
        "public/index.php",
        None,
    ),
    (
        "cakephp",
        &["cakephp/cakephp"],
        &["bin/cake", "webroot/index.php", "index.php"],
        "CakePHP application",
        "front-controller",
        "webroot",
        "webroot/index.php",
        None,
    ),
    (
        "codeigniter4",
        &[],
        &["spark", "app/Config/App.php", "public/index.php"],
        "CodeIgniter 4 application",
        "front-controller",
        "public",
        "public/index.php",
        None,
    ),
    (
        "codeigniter3",
        &[],
        &["index.php", "system/core/CodeIgniter.php", "application/config/config.php"],
        "CodeIgniter 3 application",
        "front-controller",
        ".",
        "index.php",
        None,
    ),
    (
        "yii2-basic",
        &["yiisoft/yii2"],
        &["yii", "web/index.php", "web/index-test.php", "config/web.php"],
        "Yii 2 application",
        "front-controller",
        "web",
        "web/index.php",
        None,
    ),
    (
        "yii2-advanced",
        &["yiisoft/yii2"],
        &[
            "init",
            "environments/index.php",
            "common/config/main.php",
            "frontend/web/index.php",
            "backend/web/index.php",
        ],
        "Yii 2 application (advanced template)",
        "front-controller",
        "frontend/web",
        "frontend/web/index.php",
        None,
    ),
    (
        "drupal",
        &["drupal/core-recommended", "symfony/framework-bundle"],
        &["web/index.php", "web/update.php", "web/core/lib/Drupal.php"],
        "Drupal site",
        "scripts",
        "web",
        "web/index.php",
        Some("front"),
    ),
    (
        "drupal",
        &[],
        &["index.php", "core/lib/Drupal.php", "update.php"],
        "Drupal site",
        "scripts",
        ".",
        "index.php",
        Some("front"),
    ),
    (
        "typo3",
        &["typo3/cms-core"],
        &["public/index.php"],
        "TYPO3 site",
        "front-controller",
        "public",
        "public/index.php",
        None,
    ),
    (
        "magento2",
        &["laminas/laminas-mvc"],
        &["bin/magento", "app/etc/di.xml", "pub/index.php", "pub/get.php", "pub/static.php"],
        "Magento shop",
        "scripts",
        "pub",
        "pub/index.php",
        Some("front"),
    ),
    (
        "craft",
        &["craftcms/cms", "yiisoft/yii2"],
        &["craft", "web/index.php", "bootstrap.php"],
        "Craft site",
        "front-controller",
        "web",
        "web/index.php",
        None,
    ),
    (
        "wordpress",
        &[],
        &["wp-load.php", "wp-settings.php", "wp-includes/version.php", "index.php", "wp-login.php"],
        "WordPress site",
        "scripts",
        ".",
        "index.php",
        Some("front"),
    ),
    (
        "bedrock",
        &["roots/wordpress"],
        &["config/application.php", "web/wp-config.php", "web/index.php", "web/wp/wp-load.php"],
        "WordPress site (Bedrock)",
        "scripts",
        "web",
        "web/index.php",
        Some("front"),
    ),
    (
        "nextcloud",
        &[],
        &["occ", "remote.php", "status.php", "version.php", "index.php", "lib/base.php"],
        "Nextcloud server",
        "scripts",
        ".",
        "index.php",
        Some("path-info"),
    ),
    (
        "kirby",
        &["getkirby/cms"],
        &["kirby/bootstrap.php", "index.php"],
        "Kirby site",
        "front-controller",
        ".",
        "index.php",
        None,
    ),
    (
        "kirby",
        &["getkirby/cms"],
        &["kirby/bootstrap.php", "public/index.php"],
        "Kirby site",
        "front-controller",
        "public",
        "public/index.php",
        None,
    ),
    (
        "grav",
        &[],
        &["bin/grav", "system/a", "user/a", "index.php"],
        "Grav site",
        "front-controller",
        ".",
        "index.php",
        None,
    ),
    (
        "phpbb",
        &[],
        &["viewtopic.php", "viewforum.php", "common.php", "phpbb/a", "app.php", "index.php"],
        "phpBB forum",
        "scripts",
        ".",
        "app.php",
        Some("path-info"),
    ),
    (
        "phpbb",
        &[],
        &["viewtopic.php", "viewforum.php", "common.php", "phpbb/a", "index.php"],
        "phpBB forum",
        "scripts",
        ".",
        "index.php",
        Some("path-info"),
    ),
    (
        "joomla",
        &[],
        &["administrator/index.php", "includes/framework.php", "index.php", "api/index.php"],
        "Joomla site",
        "scripts",
        ".",
        "index.php",
        Some("front"),
    ),
    (
        "nette",
        &[],
        &["www/index.php", "app/Bootstrap.php"],
        "Nette application",
        "front-controller",
        "www",
        "www/index.php",
        None,
    ),
    (
        "thinkphp",
        &["topthink/framework"],
        &["think", "public/index.php", "public/router.php"],
        "ThinkPHP application",
        "front-controller",
        "public",
        "public/index.php",
        Some("path-info"),
    ),
    (
        "silverstripe",
        &["silverstripe/recipe-cms"],
        &["public/index.php"],
        "Silverstripe site",
        "front-controller",
        "public",
        "public/index.php",
        None,
    ),
    ("neos", &["neos/neos"], &["flow", "Web/index.php"], "Neos site", "front-controller", "Web", "Web/index.php", None),
    (
        "flarum",
        &["flarum/core"],
        &["site.php", "public/index.php"],
        "Flarum forum",
        "front-controller",
        "public",
        "public/index.php",
        None,
    ),
    (
        "tempest",
        &[],
        &["tempest", "public/index.php"],
        "Tempest application",
        "front-controller",
        "public",
        "public/index.php",
        None,
    ),
];

#[test]
fn each_framework_is_known_by_its_layout() {
    for (name, packages, files, title, kind, root, index, fallback) in ROWS {
        let app = empty(files);
        if !packages.is_empty() {
            fs::write(app.path().join("composer.json"), requires(packages)).unwrap();
        }
        let found = look(app.path(), None).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let site = (found.site.root.as_deref(), found.site.fallback.map(FallbackEntry::name));
        assert_eq!((found.framework, found.title, found.kind), (Some(*name), *title, *kind), "{files:?}");
        assert_eq!(
            (site, found.index.as_deref()),
            ((Some(Path::new(root)), *fallback), Some(Path::new(index))),
            "{name}"
        );
        assert!(
            !found.remarks.iter().any(|told| told.contains("not served as a script")),
            "{name} {:?}",
            found.remarks
        );
    }
    let tested: BTreeSet<_> = ROWS.iter().map(|row| row.0).collect();
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
