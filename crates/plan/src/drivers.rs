//! Which PHP extensions an application's configuration asks for: each framework names its drivers in its own words.
//!
//! It knows values, not files: what a `.env` file holds is read from its text, and who has other configuration adds to that.

use std::collections::{BTreeMap, BTreeSet};

/// What a key's value is compared with.
enum Means {
    /// The value is a driver's name.
    Driver,
    /// What stands before `://`, `:` or the end is a driver's name; a `+` and what follows says how it is reached.
    Scheme,
}

/// Keys that name what kind of database is used, and how PHP reaches it.
///
/// Laravel (`config/database.php`), Hyperf and Craft 3, Craft 4, ThinkPHP (a section `[DATABASE]`), Yii (`dsn`), Symfony, CakePHP
/// and Bedrock (`DATABASE_URL`), CodeIgniter 4 (`app/Config/Database.php`).
const DATABASES: [(&str, Means); 11] = [
    ("DB_CONNECTION", Means::Driver),
    ("DB_DRIVER", Means::Driver),
    ("DB_TYPE", Means::Driver),
    ("DATABASE_TYPE", Means::Driver),
    ("CRAFT_DB_DRIVER", Means::Driver),
    ("CRAFT_DB_DSN", Means::Scheme),
    ("DB_DSN", Means::Scheme),
    ("DB_URL", Means::Scheme),
    ("DATABASE_DSN", Means::Scheme),
    ("DATABASE_URL", Means::Scheme),
    ("MONGODB_URL", Means::Scheme),
];

/// Databases, and what reaches them through PDO or by themselves.
const BY_DATABASE: [(&str, &str); 18] = [
    ("sqlite", "pdo_sqlite"),
    ("sqlite3", "pdo_sqlite"),
    ("pdo-sqlite", "pdo_sqlite"),
    ("mysql", "pdo_mysql"),
    ("mysql2", "pdo_mysql"),
    ("mariadb", "pdo_mysql"),
    ("pdo-mysql", "pdo_mysql"),
    ("mysqli", "mysqli"),
    ("pgsql", "pdo_pgsql"),
    ("pgsql-swoole", "pdo_pgsql"),
    ("postgres", "pdo_pgsql"),
    ("postgresql", "pdo_pgsql"),
    ("pdo-pgsql", "pdo_pgsql"),
    ("sqlsrv", "pdo_sqlsrv"),
    ("mssql", "pdo_sqlsrv"),
    ("pdo-sqlsrv", "pdo_sqlsrv"),
    ("oci8", "oci8"),
    ("mongodb", "mongodb"),
];

/// CodeIgniter's names, which are other extensions than PDO's. <https://codeigniter.com/user_guide/database/configuration.html>
const CODE_IGNITER: &str = "database.default.DBDriver";
const BY_CODE_IGNITER: [(&str, &str); 5] =
    [("mysqli", "mysqli"), ("postgre", "pgsql"), ("sqlite3", "sqlite3"), ("sqlsrv", "sqlsrv"), ("oci8", "oci8")];

/// Keys that name where sessions, cached values, locks and messages are kept.
///
/// Laravel, Symfony (lock, messenger), CakePHP (`CACHE_*_URL`), CodeIgniter 4.
const STORES: [(&str, Means); 12] = [
    ("SESSION_DRIVER", Means::Driver),
    ("CACHE_STORE", Means::Driver),
    ("CACHE_DRIVER", Means::Driver),
    ("QUEUE_CONNECTION", Means::Driver),
    ("BROADCAST_CONNECTION", Means::Driver),
    ("cache.handler", Means::Driver),
    ("LOCK_DSN", Means::Scheme),
    ("MESSENGER_TRANSPORT_DSN", Means::Scheme),
    ("CACHE_DEFAULT_URL", Means::Scheme),
    ("CACHE_CAKECORE_URL", Means::Scheme),
    ("CACHE_CAKEMODEL_URL", Means::Scheme),
    ("SESSION_HANDLER", Means::Scheme),
];

/// Stores, and what reaches them.
const BY_STORE: [(&str, &str); 12] = [
    ("redis", REDIS),
    ("rediss", REDIS),
    ("valkey", REDIS),
    ("memcached", "memcached"),
    ("apc", "apcu"),
    ("apcu", "apcu"),
    ("semaphore", "sysvsem"),
    ("amqp", "amqp"),
    ("amqps", "amqp"),
    ("mongodb", "mongodb"),
    ("pgsql", "pdo_pgsql"),
    ("mysql", "pdo_mysql"),
];

const REDIS: &str = "redis";

/// Laravel's choice between the extension and a package; the extension by default.
const REDIS_CLIENT: &str = "REDIS_CLIENT";

/// The package that speaks to Redis without the extension.
const PREDIS: &str = "predis/predis";

/// What a `.env` file says: names with values, later ones over earlier ones. A section (`[DATABASE]`) stands before the names in
/// it, with an underscore between.
/// <https://symfony.com/doc/current/configuration.html#configuring-environment-variables-in-env-files>
pub(crate) fn env_values(text: &str) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    let mut section = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = format!("{name}_");
        } else if !line.starts_with('#')
            && let Some((name, value)) = line.split_once('=')
        {
            let name = name.trim();
            let name = name.strip_prefix("export ").unwrap_or(name).trim();
            values.insert(format!("{section}{name}"), unquoted(value.trim()).to_owned());
        }
    }
    values
}

/// A value without its quotes, or without the comment behind it.
fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some((inner, _)) = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote)) {
            return inner;
        }
    }
    value.split(" #").next().unwrap_or_default().trim_end()
}

/// Servers of databases that configured drivers reach, by the extension for them.
const SERVERS: [(&str, &str); 4] =
    [("pdo_mysql", MYSQL), ("mysqli", MYSQL), ("pdo_pgsql", "PostgreSQL"), ("pgsql", "PostgreSQL")];

/// A server that speaks MySQL's protocol.
pub(crate) const MYSQL: &str = "MySQL or MariaDB";

/// Which server of databases is asked for; nothing where it is a file, or one of another kind.
pub(crate) fn server(values: &BTreeMap<String, String>) -> Option<&'static str> {
    let code_igniter = values.get(CODE_IGNITER).and_then(|value| found(&BY_CODE_IGNITER, &value.to_lowercase()));
    let named = DATABASES.iter().filter_map(|(key, means)| found(&BY_DATABASE, &driver(values.get(*key)?, means)));
    named.chain(code_igniter).find_map(|extension| found(&SERVERS, extension))
}

/// The extensions that configured drivers need.
///
/// `has_package` says whether the application has a Composer package, as some stand in for an extension.
pub(crate) fn extensions(
    values: &BTreeMap<String, String>,
    has_package: impl Fn(&str) -> bool,
) -> BTreeSet<&'static str> {
    let looked_up = |keys: &[(&str, Means)], drivers: &[(&str, &'static str)]| -> Vec<&'static str> {
        let named = keys.iter().filter_map(|(key, means)| Some(driver(values.get(*key)?, means)));
        named.filter_map(|named| found(drivers, &named)).collect()
    };
    let code_igniter = values.get(CODE_IGNITER).and_then(|value| found(&BY_CODE_IGNITER, &value.to_lowercase()));
    let mut all: BTreeSet<&'static str> = looked_up(&DATABASES, &BY_DATABASE).into_iter().chain(code_igniter).collect();
    let mut stores = looked_up(&STORES, &BY_STORE);
    let client = values.get(REDIS_CLIENT).map_or("phpredis", String::as_str);
    // Symfony's components take whichever is there, the extension first.
    let is_laravels = values.contains_key(REDIS_CLIENT) || has_package("laravel/framework");
    if client == "predis" || (!is_laravels && has_package(PREDIS)) {
        stores.retain(|extension| *extension != REDIS);
    }
    all.extend(stores);
    all
}

/// Whether sessions, cached values, locks or messages are kept in Redis, or an address of it is configured.
pub(crate) fn asks_for_redis(values: &BTreeMap<String, String>) -> bool {
    let named = STORES.iter().filter_map(|(key, means)| Some(driver(values.get(*key)?, means)));
    named.into_iter().any(|named| found(&BY_STORE, &named) == Some(REDIS)) || !redis_addresses(values).is_empty()
}

/// Variables that hold an address of Redis, with that of the one beside the application in its place: Symfony's `LOCK_DSN` keeps the
/// number of its database, and what else stands behind the address.
pub(crate) fn redis_addresses(values: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let there = |value: &String| {
        let (scheme, rest) = value.split_once("://")?;
        let rest = &rest[rest.find(['/', '?']).unwrap_or(rest.len())..];
        let is_plain = found(&BY_STORE, &scheme.to_lowercase()) == Some(REDIS) && !rest.contains("${");
        is_plain.then(|| format!("redis://@{{redis.host}}:@{{redis.port}}{rest}"))
    };
    values.iter().filter_map(|(key, value)| Some((key.clone(), there(value)?))).collect()
}

fn found(drivers: &[(&str, &'static str)], named: &str) -> Option<&'static str> {
    drivers.iter().find(|(name, _)| *name == named).map(|(_, extension)| *extension)
}

fn driver(value: &str, means: &Means) -> String {
    let name = match means {
        Means::Driver => value,
        Means::Scheme => value.split([':', '+']).next().unwrap_or_default(),
    };
    name.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_redis_are_those_of_the_one_beside_it() {
        for (name, env, asked, addresses) in [
            ("Laravel's skeleton", "SESSION_DRIVER=database\nREDIS_HOST=127.0.0.1\nREDIS_PORT=6379\n", false, vec![]),
            ("Laravel's sessions", "SESSION_DRIVER=redis\nREDIS_HOST=127.0.0.1\n", true, vec![]),
            (
                "Symfony",
                "LOCK_DSN=redis://:secret@cache.internal:6380/2?timeout=5\nMESSENGER_TRANSPORT_DSN=doctrine://default\n",
                true,
                vec![("LOCK_DSN", "redis://@{redis.host}:@{redis.port}/2?timeout=5")],
            ),
            (
                "with what it takes from others",
                "REDIS_URL=rediss://${REDIS_USER}@${REDIS_HOST}/0\nOTHER=redis://a/${NUMBER}\n",
                true,
                vec![("REDIS_URL", "redis://@{redis.host}:@{redis.port}/0")],
            ),
            ("no address of it", "A=http://redis/\nB=redis\n", false, vec![]),
        ] {
            let values = env_values(env);
            let found = redis_addresses(&values);
            let found: Vec<_> = found.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            assert_eq!((asks_for_redis(&values), found), (asked, addresses), "{name}");
        }
    }

    #[test]
    fn configured_drivers_ask_for_their_extensions() {
        for (name, env, packages, asked) in [
            (
                "Laravel's skeleton",
                "DB_CONNECTION=sqlite\nSESSION_DRIVER=database\nCACHE_STORE=database\n",
                "",
                "pdo_sqlite",
            ),
            (
                "Laravel with Redis",
                "DB_CONNECTION=mariadb\nSESSION_DRIVER=redis\n",
                "laravel/framework",
                "pdo_mysql redis",
            ),
            ("and with predis", "QUEUE_CONNECTION=redis\nREDIS_CLIENT=predis\n", "laravel/framework", ""),
            ("predis that is not asked for", "CACHE_STORE=redis\n", "laravel/framework predis/predis", "redis"),
            ("Laravel's other stores", "CACHE_DRIVER=memcached\nSESSION_DRIVER=apc\n", "", "apcu memcached"),
            (
                "Symfony",
                "DATABASE_URL=\"postgresql://a:b@c:5432/d?serverVersion=16\" # x\nLOCK_DSN=semaphore\n",
                "",
                "pdo_pgsql sysvsem",
            ),
            ("messages", "MESSENGER_TRANSPORT_DSN=amqp://guest@localhost\n", "", "amqp"),
            ("messages by predis", "MESSENGER_TRANSPORT_DSN=redis://localhost\n", "predis/predis", ""),
            ("a file", "export DATABASE_URL='sqlite:///%kernel.project_dir%/var/data.db'\n", "", "pdo_sqlite"),
            ("mysqli by its name", "DATABASE_URL=mysqli://a\n", "", "mysqli"),
            ("CodeIgniter", "# x = y\ndatabase.default.DBDriver = Postgre\ncache.handler = redis\n", "", "pgsql redis"),
            ("Craft", "CRAFT_DB_DRIVER=mysql\n", "", "pdo_mysql"),
            ("Yii", "DB_DSN=mysql:host=localhost;dbname=a\n", "", "pdo_mysql"),
            ("Hyperf", "DB_DRIVER=mysql\n", "", "pdo_mysql"),
            ("ThinkPHP", "APP_DEBUG = false\n[DATABASE]\nTYPE = mysql\n", "", "pdo_mysql"),
            ("commented out", "#DB_CONNECTION=mysql\n# SESSION_DRIVER=redis\n", "", ""),
            ("unknown", "DB_CONNECTION=tenant\n", "", ""),
        ] {
            let found = extensions(&env_values(env), |package| packages.split(' ').any(|known| known == package));
            assert_eq!(found.into_iter().collect::<Vec<_>>().join(" "), asked, "{name}");
        }
    }
}
