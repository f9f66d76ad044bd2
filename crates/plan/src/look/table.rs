//! The frameworks that are known, the first that fits before all after it: what builds on another stands before that.
//!
//! Values are from the makers' own skeletons and server files, read in 2026. What every build of PHP has (json, hash, pcre, session, ...)
//! is not among the extensions.

use super::framework::{Extra, Framework, MadeUp, Migration, Remark};
use crate::drivers;
use crate::site::FallbackEntry;
use crate::workload::KindEntry;

const BASE: Framework = Framework {
    name: "",
    title: "",
    packages: &[],
    beside: &[],
    files: &[],
    roots: &["public"],
    extra: None,
    fronts: &["index.php"],
    kind: KindEntry::FrontController,
    unserved: &[],
    fallback: FallbackEntry::Front,
    deny: &[],
    env: &[],
    keys: &[],
    logs: &[],
    writable: &[],
    extensions: &["mbstring"],
    prepare: &[],
    migrations: &[],
    wants: None,
    database: None,
    made_by: None,
    remarks: &[],
};

/// <https://laravel.com/docs/12.x/deployment>
const LARAVEL: Framework = Framework {
    name: "laravel",
    title: "Laravel application",
    packages: &["laravel/framework"],
    files: &["artisan", "bootstrap/app.php", "public/index.php"],
    kind: KindEntry::Laravel,
    env: &[("APP_ENV", "production"), ("APP_DEBUG", "false")],
    keys: &[
        "APP_KEY",
        "APP_URL",
        "DB_CONNECTION",
        "DB_HOST",
        "DB_PORT",
        "DB_DATABASE",
        "DB_USERNAME",
        "DB_PASSWORD",
        "SESSION_DRIVER",
        "CACHE_STORE",
        "QUEUE_CONNECTION",
        "REDIS_HOST",
        "REDIS_CLIENT",
        "LOG_CHANNEL",
        "LOG_STACK",
    ],
    logs: &["storage/logs/laravel.log", "storage/logs/laravel-DATE.log"],
    writable: &["storage", "bootstrap/cache", "database"],
    extensions: &["curl", "dom", "mbstring", "pdo", "xml"],
    // <https://laravel.com/docs/12.x/migrations#running-migrations>, <https://laravel.com/docs/12.x/seeding>
    migrations: &[
        Migration {
            package: "laravel/framework",
            path: "database/migrations",
            made_up: None,
            command: &["php", "artisan", "migrate", "--force", "--no-interaction"],
        },
        Migration {
            package: "laravel/framework",
            path: "database/seeders/DatabaseSeeder.php",
            made_up: Some(MadeUp { folder: "database/seeders", word: "factory", needs: "vendor/fakerphp/faker" }),
            command: &["php", "artisan", "db:seed", "--force", "--no-interaction"],
        },
    ],
    remarks: &[
        Remark::With("storage/framework/maintenance.php", "it is in maintenance mode: run php artisan up"),
        Remark::Without(".env", "it has no .env: it needs APP_KEY and the rest under env in a stampede.yaml"),
    ],
    ..BASE
};

/// <https://symfony.com/doc/current/deployment.html>
const SYMFONY: Framework = Framework {
    name: "symfony",
    title: "Symfony application",
    packages: &["symfony/framework-bundle"],
    beside: &["symfony/runtime"],
    files: &["config/bundles.php", "src/Kernel.php", "public/index.php"],
    extra: Some(Extra { keys: &["public-dir"], is_below: false }),
    kind: KindEntry::Symfony,
    env: &[("APP_ENV", "prod"), ("APP_DEBUG", "0")],
    keys: &[
        "APP_SECRET",
        "DATABASE_URL",
        "MESSENGER_TRANSPORT_DSN",
        "MAILER_DSN",
        "LOCK_DSN",
        "TRUSTED_PROXIES",
        "DEFAULT_URI",
        "APP_RUNTIME",
    ],
    logs: &["var/log/prod.log"],
    writable: &["var"],
    prepare: &[("bin/console", &["php", "bin/console", "cache:clear", "--no-interaction"])],
    // <https://symfony.com/doc/current/doctrine.html#migrations-creating-the-database-tables-schema>,
    // <https://symfony.com/bundles/DoctrineFixturesBundle/current/index.html>
    migrations: &[
        Migration {
            package: "doctrine/doctrine-migrations-bundle",
            path: "migrations",
            made_up: None,
            command: &["php", "bin/console", "doctrine:migrations:migrate", "--no-interaction", "--allow-no-migration"],
        },
        Migration {
            package: "doctrine/doctrine-fixtures-bundle",
            path: "src/DataFixtures",
            made_up: None,
            command: &["php", "bin/console", "doctrine:fixtures:load", "--no-interaction"],
        },
    ],
    ..BASE
};

/// Of what makes its kernel by the request, by a factory or with a cache around it, so that a kept one would do other work.
const OWN_KERNEL: Remark = Remark::Always(
    "no worker can keep it, as its front controller builds its kernel for each request: it starts afresh for each",
);

/// A command of sed that has a constant of a script defined by an expression, wherever in its line that is; a quoted value may have
/// semicolons.
macro_rules! from_environment {
    ($name:literal, $value:literal) => {
        concat!(
            "s/\\bdefine\\( *['\"]",
            $name,
            "['\"] *,( *'([^'\\\\]|\\\\.)*' *| *\"([^\"\\\\]|\\\\.)*\" *|[^;]*)\\) *;/define('",
            $name,
            "', ",
            $value,
            ");/g"
        )
    };
}

const WORDPRESS: Framework = Framework {
    name: "wordpress",
    title: "WordPress site",
    packages: &["johnpbloch/wordpress-core"],
    files: &["wp-load.php", "wp-settings.php", "wp-includes/version.php"],
    roots: &["."],
    kind: KindEntry::Scripts,
    extensions: &["mbstring", "mysqli", "xml"],
    // <https://developer.wordpress.org/plugins/cron/hooking-wp-cron-into-the-system-task-scheduler/>
    prepare: &[(
        "wp-config.php",
        &[
            "sh",
            "-c",
            "grep -q DISABLE_WP_CRON wp-config.php || sed -i \"1s/<?php/<?php define('DISABLE_WP_CRON', true);/\" wp-config.php",
        ],
    )],
    wants: Some(drivers::MYSQL),
    // <https://developer.wordpress.org/advanced-administration/wordpress/wp-config/#configure-database-settings>
    database: Some((
        "wp-config.php",
        &[
            "sed",
            "-i",
            "-E",
            "-e",
            from_environment!("DB_NAME", "getenv('MYSQL_DATABASE')"),
            "-e",
            from_environment!("DB_USER", "getenv('MYSQL_USER')"),
            "-e",
            from_environment!("DB_PASSWORD", "getenv('MYSQL_PASSWORD')"),
            "-e",
            from_environment!("DB_HOST", "getenv('MYSQL_HOST') . ':' . getenv('MYSQL_PORT')"),
            "wp-config.php",
        ],
    )),
    remarks: &[
        Remark::With("wp-config.php", "it needs its database, as wp-config.php says"),
        Remark::With("wp-config.php", "wp-cron is off in the copies, since it sends requests to the site itself"),
        Remark::Without(
            "wp-config.php",
            "it has no wp-config.php: it redirects to its installer unless the folder above has one",
        ),
    ],
    ..BASE
};

const YII: Framework = Framework {
    name: "yii2-basic",
    title: "Yii 2 application",
    packages: &["yiisoft/yii2"],
    files: &["yii", "web/index.php", "config/web.php"],
    roots: &["web"],
    unserved: &["index-test.php"],
    writable: &["runtime", "web/assets"],
    remarks: &[Remark::Holding(
        "web/index.php",
        "define('YII_DEBUG', true)",
        "web/index.php sets YII_DEBUG and YII_ENV for development: the copies have these two lines commented out, as production should",
    )],
    // Its own words: "comment out the following two lines when deployed to production".
    prepare: &[("web/index.php", &["sed", "-i", "/^defined(.YII_/s,^,// ,", "web/index.php"])],
    ..BASE
};

const LAMINAS: Framework = Framework {
    name: "laminas-mvc",
    title: "Laminas application",
    packages: &["laminas/laminas-mvc"],
    files: &["config/modules.config.php", "public/index.php"],
    writable: &["data/cache"],
    extensions: &["intl", "mbstring", "zip"],
    remarks: &[Remark::With(
        "config/development.config.php",
        "its development mode is on: remove config/development.config.php for what production does",
    )],
    ..BASE
};

pub(super) static FRAMEWORKS: [Framework; 37] = [
    Framework {
        name: "lumen",
        title: "Lumen application",
        packages: &["laravel/lumen-framework"],
        files: &[],
        kind: KindEntry::FrontController,
        logs: &["storage/logs/lumen.log", "storage/logs/lumen-DATE.log"],
        ..LARAVEL
    },
    Framework {
        name: "october",
        title: "October site",
        packages: &["october/rain"],
        files: &["artisan", "bootstrap/app.php", "index.php", "modules"],
        roots: &["."],
        kind: KindEntry::FrontController,
        // Its .htaccess shows assets and uploads alone. What is left out here would hide those too.
        deny: &[
            "bootstrap/",
            "config/",
            "storage/cms/",
            "storage/framework/",
            "storage/logs/",
            "vendor/",
            "*.htm",
            "*.yaml",
            "*.md",
            "artisan",
            "composer.json",
            "composer.lock",
        ],
        logs: &["storage/logs/system.log"],
        ..LARAVEL
    },
    Framework { name: "statamic", title: "Statamic site", packages: &["statamic/cms"], files: &[], ..LARAVEL },
    Framework {
        name: "api-platform-laravel",
        title: "API Platform application",
        packages: &["api-platform/laravel"],
        files: &[],
        ..LARAVEL
    },
    Framework {
        name: "laravel-octane",
        packages: &["laravel/octane"],
        beside: &["laravel/framework"],
        files: &["artisan", "bootstrap/app.php", "public/index.php", "config/octane.php"],
        ..LARAVEL
    },
    LARAVEL,
    Framework {
        name: "sulu",
        title: "Sulu site",
        packages: &["sulu/sulu"],
        files: &[],
        kind: KindEntry::FrontController,
        env: &[("APP_ENV", "prod")],
        keys: &["DATABASE_URL", "LOCK_DSN", "SULU_MAINTENANCE", "SULU_ADMIN_EMAIL"],
        prepare: &[],
        remarks: &[OWN_KERNEL],
        ..SYMFONY
    },
    Framework {
        name: "shopware",
        title: "Shopware shop",
        packages: &["shopware/core"],
        files: &[],
        kind: KindEntry::FrontController,
        env: &[("APP_ENV", "prod")],
        keys: &[
            "APP_URL",
            "APP_SECRET",
            "INSTANCE_ID",
            "DATABASE_URL",
            "BLUE_GREEN_DEPLOYMENT",
            "SHOPWARE_SKIP_WEBINSTALLER",
        ],
        logs: &[],
        prepare: &[],
        remarks: &[
            OWN_KERNEL,
            Remark::Without("install.lock", "it has no install.lock: / redirects to its installer"),
            Remark::Always("APP_URL must be the address that it is asked at"),
        ],
        ..SYMFONY
    },
    Framework {
        name: "contao",
        title: "Contao site",
        packages: &["contao/manager-bundle"],
        files: &[],
        kind: KindEntry::FrontController,
        unserved: &["preview.php"],
        env: &[("APP_ENV", "prod")],
        keys: &[],
        logs: &["var/logs/prod-DATE.log"],
        prepare: &[],
        made_by: Some("php vendor/bin/contao-setup"),
        remarks: &[
            OWN_KERNEL,
            Remark::With("var/maintenance.html", "it is in maintenance mode: var/maintenance.html is there"),
        ],
        ..SYMFONY
    },
    Framework { name: "sylius", title: "Sylius shop", packages: &["sylius/sylius"], files: &[], ..SYMFONY },
    Framework {
        name: "api-platform",
        title: "API Platform application",
        packages: &["api-platform/symfony", "api-platform/core"],
        beside: &["symfony/framework-bundle", "symfony/runtime"],
        files: &[],
        ..SYMFONY
    },
    Framework {
        name: "drupal",
        title: "Drupal site",
        packages: &["drupal/core", "drupal/core-recommended"],
        files: &["core/lib/Drupal.php", "index.php"],
        roots: &["web", "docroot", "."],
        extra: Some(Extra { keys: &["drupal-scaffold", "locations", "web-root"], is_below: false }),
        kind: KindEntry::Scripts,
        deny: &[
            "vendor/",
            "*.engine",
            "*.inc",
            "*.install",
            "*.make",
            "*.module",
            "*.profile",
            "*.po",
            "*.sh",
            "*.sql",
            "*.theme",
            "*.twig",
            "*.tpl",
            "*.xtmpl",
            "*.yml",
            "composer.json",
            "composer.lock",
            "web.config",
            "package.json",
            "yarn.lock",
            "autoload.php",
        ],
        writable: &["sites/default/files", "web/sites/default/files"],
        extensions: &["dom", "gd", "mbstring", "pdo", "simplexml", "xml"],
        remarks: &[
            OWN_KERNEL,
            Remark::Without("sites/default/settings.php", "it has no sites/default/settings.php: install it first"),
        ],
        ..BASE
    },
    SYMFONY,
    Framework {
        name: "mezzio",
        title: "Mezzio application",
        packages: &["mezzio/mezzio"],
        files: &["config/pipeline.php", "config/container.php", "public/index.php"],
        extensions: &["mbstring"],
        ..LAMINAS
    },
    Framework {
        name: "magento2",
        title: "Magento shop",
        files: &["bin/magento", "app/etc/di.xml", "pub/index.php"],
        roots: &["pub"],
        kind: KindEntry::Scripts,
        deny: &["cron.php", "media/customer/", "media/downloadable/", "media/import/"],
        env: &[("MAGE_MODE", "production")],
        extensions: &[
            "bcmath",
            "curl",
            "dom",
            "gd",
            "intl",
            "mbstring",
            "pdo_mysql",
            "simplexml",
            "soap",
            "xsl",
            "zip",
        ],
        remarks: &[
            Remark::Without("app/etc/env.php", "it has no app/etc/env.php: install it first"),
            Remark::Always("it needs ini: {memory_limit: 768M} or more, its database and its search engine"),
        ],
        ..BASE
    },
    LAMINAS,
    Framework {
        name: "cakephp",
        title: "CakePHP application",
        packages: &["cakephp/cakephp"],
        files: &["bin/cake", "webroot/index.php"],
        roots: &["webroot"],
        env: &[("DEBUG", "false")],
        keys: &["SECURITY_SALT", "DATABASE_URL", "LOG_DEBUG_URL", "LOG_ERROR_URL"],
        logs: &["logs/error.log", "logs/debug.log"],
        writable: &["tmp", "logs"],
        remarks: &[Remark::Holding(
            "templates/Pages/home.php",
            "NotFoundException",
            "its home page is an error with DEBUG false (templates/Pages/home.php throws): name a path that exists under requests \
             in a stampede.yaml",
        )],
        ..BASE
    },
    Framework {
        name: "codeigniter4",
        title: "CodeIgniter 4 application",
        packages: &["codeigniter4/framework"],
        files: &["spark", "app/Config/App.php", "public/index.php"],
        env: &[("CI_ENVIRONMENT", "production")],
        keys: &[
            "app.baseURL",
            "database.default.hostname",
            "database.default.database",
            "database.default.username",
            "database.default.password",
            "database.default.DBDriver",
            "encryption.key",
            "session.driver",
        ],
        logs: &["writable/logs/log-DATE.log"],
        writable: &["writable"],
        extensions: &["intl", "mbstring"],
        ..BASE
    },
    Framework {
        name: "codeigniter3",
        title: "CodeIgniter 3 application",
        packages: &["codeigniter/framework"],
        files: &["index.php", "system/core/CodeIgniter.php", "application/config/config.php"],
        roots: &["."],
        deny: &["application/", "system/"],
        env: &[("CI_ENV", "production")],
        logs: &["application/logs/log-DATE.php"],
        ..BASE
    },
    Framework {
        name: "craft",
        title: "Craft site",
        packages: &["craftcms/cms"],
        files: &["craft", "web/index.php", "bootstrap.php"],
        roots: &["web"],
        env: &[
            ("CRAFT_ENVIRONMENT", "production"),
            ("CRAFT_DEV_MODE", "false"),
            ("CRAFT_ALLOW_ADMIN_CHANGES", "false"),
        ],
        keys: &[
            "CRAFT_APP_ID",
            "CRAFT_SECURITY_KEY",
            "CRAFT_DB_DRIVER",
            "CRAFT_DB_SERVER",
            "CRAFT_DB_PORT",
            "CRAFT_DB_DATABASE",
            "CRAFT_DB_USER",
            "CRAFT_DB_PASSWORD",
            "CRAFT_DB_SCHEMA",
            "CRAFT_DB_TABLE_PREFIX",
        ],
        writable: &["storage", "web/cpresources"],
        remarks: &[Remark::With(".env", "its .env overrides the environment: write production's values there")],
        ..BASE
    },
    YII,
    Framework {
        name: "yii2-advanced",
        title: "Yii 2 application (advanced template)",
        files: &["init", "environments/index.php", "common/config/main.php"],
        roots: &["frontend/web", "backend/web"],
        writable: &[
            "frontend/runtime",
            "frontend/web/assets",
            "backend/runtime",
            "backend/web/assets",
            "console/runtime",
        ],
        prepare: &[],
        made_by: Some("php init --env=Production --overwrite=All"),
        remarks: &[],
        ..YII
    },
    Framework {
        name: "typo3",
        title: "TYPO3 site",
        packages: &["typo3/cms-core"],
        extra: Some(Extra { keys: &["typo3/cms", "web-dir"], is_below: false }),
        deny: &["vendor/", "typo3temp/var/", "typo3_src/"],
        env: &[("TYPO3_CONTEXT", "Production")],
        extensions: &["dom", "gd", "intl", "mbstring", "mysqli", "pdo", "xml", "zip"],
        remarks: &[Remark::Without(
            "config/system/settings.php",
            "it has no config/system/settings.php: install it first",
        )],
        ..BASE
    },
    Framework {
        name: "bedrock",
        title: "WordPress site (Bedrock)",
        packages: &["roots/wordpress", "roots/bedrock-autoloader"],
        files: &["config/application.php", "web/wp-config.php", "web/index.php"],
        roots: &["web"],
        extra: Some(Extra { keys: &["wordpress-install-dir"], is_below: true }),
        env: &[("WP_ENV", "production"), ("DISABLE_WP_CRON", "true")],
        keys: &[
            "WP_HOME",
            "WP_SITEURL",
            "DATABASE_URL",
            "DB_NAME",
            "DB_USER",
            "DB_PASSWORD",
            "DB_HOST",
            "DB_PREFIX",
            "WP_DEBUG_LOG",
        ],
        extensions: &["mbstring", "mysqli", "xml"],
        wants: Some(drivers::MYSQL),
        remarks: &[
            Remark::Always("it needs its database"),
            Remark::Always("wp-cron is off, since it sends requests to the site itself"),
            Remark::Without(
                ".env",
                "it has no .env: it needs WP_HOME, WP_SITEURL and the rest under env in a stampede.yaml",
            ),
        ],
        ..WORDPRESS
    },
    WORDPRESS,
    Framework {
        name: "nextcloud",
        title: "Nextcloud server",
        files: &["occ", "remote.php", "status.php", "version.php", "index.php"],
        roots: &["."],
        kind: KindEntry::Scripts,
        fallback: FallbackEntry::PathInfo,
        deny: &["build/", "tests/", "config/", "lib/", "3rdparty/", "templates/", "data/", "occ", "console.php"],
        extensions: &["gd", "intl", "mbstring", "zip"],
        remarks: &[Remark::Without("config/config.php", "it has no config/config.php: it answers with its installer")],
        ..BASE
    },
    Framework {
        name: "phpbb",
        title: "phpBB forum",
        files: &["viewtopic.php", "viewforum.php", "common.php", "phpbb"],
        roots: &["."],
        // Version 3.3 has an app.php, later ones do its work in index.php.
        fronts: &["app.php", "index.php"],
        kind: KindEntry::Scripts,
        fallback: FallbackEntry::PathInfo,
        deny: &[
            "config/",
            "cache/",
            "files/",
            "images/avatars/upload/",
            "includes/",
            "phpbb/",
            "store/",
            "vendor/",
            "vendor-ext/",
            "config.php",
            "common.php",
            "composer.json",
            "composer.lock",
        ],
        extensions: &["mbstring", "pdo", "zip"],
        remarks: &[Remark::Without("config.php", "it has no config.php: install it first")],
        ..BASE
    },
    Framework {
        name: "joomla",
        title: "Joomla site",
        files: &["administrator/index.php", "includes/framework.php", "index.php"],
        roots: &["."],
        kind: KindEntry::Scripts,
        ..BASE
    },
    Framework {
        name: "kirby",
        title: "Kirby site",
        packages: &["getkirby/cms"],
        files: &["kirby/bootstrap.php", "index.php"],
        roots: &["public", "."],
        deny: &["content/", "site/", "kirby/", "composer.json", "composer.lock"],
        writable: &["content", "media", "site/accounts", "site/cache", "site/sessions"],
        extensions: &["curl", "dom", "mbstring", "simplexml"],
        ..BASE
    },
    Framework {
        name: "grav",
        title: "Grav site",
        packages: &["getgrav/grav"],
        files: &["bin/grav", "system", "user", "index.php"],
        roots: &["."],
        deny: &[
            "cache/",
            "bin/",
            "logs/",
            "backup/",
            "tests/",
            "user/config/",
            "user/env/",
            "user/accounts/",
            "user/data/",
            "*.md",
            "*.twig",
            "*.yaml",
            "*.yml",
            "composer.json",
            "composer.lock",
        ],
        extensions: &["curl", "dom", "gd", "mbstring", "zip"],
        ..BASE
    },
    Framework {
        name: "nette",
        title: "Nette application",
        packages: &["nette/application"],
        files: &["www/index.php", "app/Bootstrap.php"],
        roots: &["www"],
        logs: &["log/*.log"],
        writable: &["temp", "log"],
        remarks: &[Remark::Always(
            "it takes a visitor from 127.0.0.1 for its developer, unless X-Forwarded-For is sent",
        )],
        ..BASE
    },
    Framework {
        name: "thinkphp",
        title: "ThinkPHP application",
        packages: &["topthink/framework"],
        files: &["think", "public/index.php"],
        unserved: &["router.php"],
        fallback: FallbackEntry::PathInfo,
        keys: &["APP_DEBUG", "DB_TYPE", "DB_HOST", "DB_NAME", "DB_USER", "DB_PASS", "DB_PORT"],
        writable: &["runtime"],
        ..BASE
    },
    Framework {
        name: "silverstripe",
        title: "Silverstripe site",
        packages: &["silverstripe/framework", "silverstripe/recipe-cms"],
        env: &[("SS_ENVIRONMENT_TYPE", "live")],
        keys: &[
            "SS_DATABASE_CLASS",
            "SS_DATABASE_SERVER",
            "SS_DATABASE_USERNAME",
            "SS_DATABASE_PASSWORD",
            "SS_DATABASE_NAME",
        ],
        ..BASE
    },
    Framework {
        name: "neos",
        title: "Neos site",
        packages: &["neos/flow", "neos/neos"],
        files: &["flow", "Web/index.php"],
        roots: &["Web"],
        env: &[("FLOW_CONTEXT", "Production"), ("FLOW_REWRITEURLS", "1")],
        ..BASE
    },
    Framework {
        name: "flarum",
        title: "Flarum forum",
        packages: &["flarum/core"],
        files: &["site.php", "public/index.php"],
        writable: &["storage", "public/assets"],
        remarks: &[Remark::Without("config.php", "it has no config.php: its installer answers, with status 200")],
        ..BASE
    },
    Framework {
        name: "tempest",
        title: "Tempest application",
        packages: &["tempest/framework"],
        files: &["tempest", "public/index.php"],
        prepare: &[("tempest", &["php", "tempest", "discovery:generate", "--no-interaction"])],
        ..BASE
    },
    Framework {
        name: "slim",
        title: "Slim application",
        packages: &["slim/slim"],
        logs: &["logs/app.log"],
        writable: &["logs", "var/cache"],
        extensions: &[],
        remarks: &[Remark::Holding(
            "public/index.php",
            "if (false) { // Should be set to true in production",
            "its container is made for each request: public/index.php says how production compiles it",
        )],
        ..BASE
    },
];
