//! What PHP's time goes to: the part of a request that a stack belongs to, by the names of functions and files.
//!
//! What is known of names is in tables; nothing here knows a runtime.

use stampede_core::{InsideFunction, InsideRecord, InsideStack, InsideState, InsideTarget, InsideWait, ServiceKind};

/// A part of what PHP's threads do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimePart {
    /// The application is built up: configuration, container, providers.
    Boot,
    /// Classes are looked for.
    Autoload,
    /// Files are looked up, and compiled where no cache holds them.
    Compile,
    /// A framework.
    Framework,
    /// Other packages.
    Libraries,
    /// What the application's authors wrote.
    Application,
    /// Queries, and what waits for them.
    Database,
    /// Other services: caches, HTTP.
    Services,
    /// Sessions, and what waits for their locks.
    Session,
    /// The answer is written.
    Output,
    /// No PHP runs, or it waits for the next request.
    Outside,
}

impl TimePart {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 11] = [
        Self::Boot,
        Self::Autoload,
        Self::Compile,
        Self::Framework,
        Self::Libraries,
        Self::Application,
        Self::Database,
        Self::Services,
        Self::Session,
        Self::Output,
        Self::Outside,
    ];

    /// Its name in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Boot => "boot",
            Self::Autoload => "autoload",
            Self::Compile => "compile",
            Self::Framework => "framework",
            Self::Libraries => "libraries",
            Self::Application => "application",
            Self::Database => "database",
            Self::Services => "services",
            Self::Session => "session",
            Self::Output => "output",
            Self::Outside => "outside",
        }
    }

    /// Its name in tables.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Boot => "boot",
            Self::Autoload => "autoload",
            Self::Compile => "load and compile files",
            Self::Framework => "framework",
            Self::Libraries => "other packages",
            Self::Application => "application",
            Self::Database => "database",
            Self::Services => "other services",
            Self::Session => "session",
            Self::Output => "output",
            Self::Outside => "outside PHP code",
        }
    }

    /// That of a stack.
    pub(crate) fn of(record: &InsideRecord, stack: &InsideStack) -> Self {
        let frames: Vec<&InsideFunction> = record.frames(stack).collect();
        let Some(leaf) = frames.last() else { return Self::Outside };
        if is_load(leaf) {
            return Self::Compile;
        }
        let own = frames.iter().rev().take_while(|function| function.file.is_none());
        let called = own.filter_map(|function| function.name.as_deref().map(|name| (function.class.as_deref(), name)));
        if let Some(part) = called.into_iter().find_map(|(class, name)| of_internal(class, name)) {
            return part;
        }
        if let InsideState::Waiting(wait) = &stack.state {
            if wait.target.as_ref().is_some_and(|target| is_database(record, target)) {
                return Self::Database;
            }
            if let Some(part) = of_wait(wait) {
                return part;
            }
        }
        if frames.iter().any(|function| is_autoloader(function)) {
            return Self::Autoload;
        }
        if frames.iter().any(|function| is_boot(function)) {
            return Self::Boot;
        }
        let file = frames.iter().rev().find_map(|function| function.file.as_deref());
        file.map_or(Self::Application, of_file)
    }
}

/// Functions of PHP and of extensions, by how their names begin, with their classes.
const INTERNAL: &[(&str, TimePart)] = &[
    // What a worker that stays waits in.
    ("frankenphp_handle_request", TimePart::Outside),
    ("Swoole\\Http\\Server::start", TimePart::Outside),
    ("Swoole\\Server::start", TimePart::Outside),
    ("Swoole\\Event::wait", TimePart::Outside),
    ("Swoole\\Process\\Pool::start", TimePart::Outside),
    ("Swoole\\Coroutine\\Scheduler::start", TimePart::Outside),
    ("stream_select", TimePart::Outside),
    ("EventBase::", TimePart::Outside),
    ("pcntl_", TimePart::Outside),
    ("PDO", TimePart::Database),
    ("mysqli", TimePart::Database),
    ("pg_", TimePart::Database),
    ("SQLite3", TimePart::Database),
    ("MongoDB\\Driver\\", TimePart::Database),
    ("oci_", TimePart::Database),
    ("sqlsrv_", TimePart::Database),
    ("odbc_", TimePart::Database),
    ("session_", TimePart::Session),
    ("SessionHandler::", TimePart::Session),
    ("Redis", TimePart::Services),
    ("Memcache", TimePart::Services),
    ("curl_", TimePart::Services),
    ("SoapClient", TimePart::Services),
    ("fsockopen", TimePart::Services),
    ("stream_socket_client", TimePart::Services),
    ("gethostbyname", TimePart::Services),
    ("dns_", TimePart::Services),
    ("ob_", TimePart::Output),
    ("header", TimePart::Output),
    ("setcookie", TimePart::Output),
    ("flush", TimePart::Output),
    ("fastcgi_finish_request", TimePart::Output),
    ("http_response_code", TimePart::Output),
    ("spl_autoload", TimePart::Autoload),
];

fn of_internal(class: Option<&str>, name: &str) -> Option<TimePart> {
    let full = class.map_or_else(|| name.to_owned(), |class| format!("{class}::{name}"));
    INTERNAL.iter().find(|(begins, _)| full.starts_with(begins)).map(|(_, part)| *part)
}

/// Whether an address is that of a database: of the deployment's, or one that functions of a database wait for in other stacks. What is
/// set free without a call, as a statement is, waits for it, too.
fn is_database(record: &InsideRecord, target: &InsideTarget) -> bool {
    const SERVICES: [ServiceKind; 3] = [ServiceKind::Postgres, ServiceKind::Mariadb, ServiceKind::Pgbouncer];
    let peer = match target {
        InsideTarget::Peer(peer) | InsideTarget::Itself(peer) => peer,
        InsideTarget::File(_) | InsideTarget::Listener(_) | InsideTarget::Pipe => return false,
    };
    let service = peer.split_once(" at ").map(|(service, _)| service);
    SERVICES.iter().any(|kind| service == Some(kind.id()))
        || record.stacks.iter().any(|stack| {
            let leaf = record.frames(stack).next_back().filter(|leaf| leaf.file.is_none());
            let part = leaf.and_then(|leaf| of_internal(leaf.class.as_deref(), leaf.name.as_deref()?));
            part == Some(TimePart::Database)
                && matches!(&stack.state, InsideState::Waiting(wait) if wait.target.as_ref() == Some(target))
        })
}

/// Calls that write.
const WRITES: [&str; 5] = ["write", "writev", "send", "sendmsg", "pwrite"];

fn of_wait(InsideWait { call, kernel: _, target }: &InsideWait) -> Option<TimePart> {
    match target.as_ref()? {
        InsideTarget::File(path) if path.contains("/sess_") => Some(TimePart::Session),
        InsideTarget::Peer(_) | InsideTarget::Itself(_) | InsideTarget::Pipe => {
            let writes = call.as_deref().is_some_and(|call| WRITES.contains(&call));
            Some(if writes { TimePart::Output } else { TimePart::Services })
        }
        InsideTarget::Listener(_) => Some(TimePart::Outside),
        InsideTarget::File(_) => None,
    }
}

pub(super) fn is_load(function: &InsideFunction) -> bool {
    function.file.is_none() && function.name.as_deref() == Some(InsideRecord::LOAD)
}

/// How functions are called that look for classes, in lower case.
const AUTOLOADERS: [&str; 4] = ["autoload", "__autoload", "loadclass", "spl_autoload_call"];

pub(super) fn is_autoloader(InsideFunction { class, name, file, .. }: &InsideFunction) -> bool {
    class.as_deref().is_some_and(|class| class.starts_with("Composer\\Autoload\\"))
        || name.as_deref().is_some_and(|name| AUTOLOADERS.contains(&name.to_lowercase().as_str()))
        || file
            .as_deref()
            .is_some_and(|file| file.contains("/vendor/composer/") || file.ends_with("/vendor/autoload.php"))
}

/// How functions are called that build an application up, in lower case.
const BOOTS: [&str; 16] = [
    "boot",
    "bootstrap",
    "bootstrapwith",
    "boot_app",
    "bootapplication",
    "bootkernel",
    "bootenv",
    "build_container",
    "buildcontainer",
    "initialize",
    "initializebundles",
    "initializecontainer",
    "loadenv",
    "preboot",
    "registerconfiguredproviders",
    "registerbundles",
];

/// How files end in which applications are built up.
const BOOT_FILES: [&str; 8] = [
    "/bootstrap/app.php",
    "/bootstrap.php",
    "/boot.php",
    "/wp-settings.php",
    "/wp-config.php",
    "/config/bootstrap.php",
    "/app/dependencies.php",
    "/app/settings.php",
];

fn is_boot(InsideFunction { name, file, .. }: &InsideFunction) -> bool {
    match name {
        Some(name) => BOOTS.contains(&name.to_lowercase().as_str()),
        None => file.as_deref().is_some_and(|file| BOOT_FILES.iter().any(|end| file.ends_with(end))),
    }
}

/// Parts of paths of frameworks; the first that a path has decides.
const FILES: &[(&str, TimePart)] = &[
    ("/vendor/laravel/", TimePart::Framework),
    ("/vendor/illuminate/", TimePart::Framework),
    ("/vendor/symfony/", TimePart::Framework),
    ("/vendor/slim/", TimePart::Framework),
    ("/vendor/cakephp/", TimePart::Framework),
    ("/vendor/yiisoft/", TimePart::Framework),
    ("/vendor/codeigniter4/", TimePart::Framework),
    ("/vendor/laminas/", TimePart::Framework),
    ("/vendor/mezzio/", TimePart::Framework),
    ("/vendor/hyperf/", TimePart::Framework),
    ("/vendor/workerman/", TimePart::Framework),
    ("/vendor/spiral/", TimePart::Framework),
    ("/wp-includes/", TimePart::Framework),
    ("/wp-admin/", TimePart::Framework),
    ("/core/lib/Drupal/", TimePart::Framework),
    ("/core/modules/", TimePart::Framework),
    ("/vendor/", TimePart::Libraries),
];

/// Whether a function is written in the application's own files.
pub(crate) fn is_applications(function: &InsideFunction) -> bool {
    function.file.as_deref().is_some_and(|file| of_file(file) == TimePart::Application)
}

fn of_file(file: &str) -> TimePart {
    FILES.iter().find(|(part, _)| file.contains(part)).map_or(TimePart::Application, |(_, part)| *part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(text: &str) -> InsideFunction {
        // `Class::name@file`, each of which may be missing.
        let (name, file) = text.split_once('@').map_or((text, None), |(name, file)| (name, Some(file.to_owned())));
        let (class, name) = name.split_once("::").map_or((None, name), |(class, name)| (Some(class.to_owned()), name));
        let name = (!name.is_empty()).then(|| name.to_owned());
        InsideFunction { class, name, file, first_line: 1 }
    }

    #[test]
    fn a_stack_belongs_to_the_part_that_its_names_say() {
        let wait = |call: &str, target| {
            InsideState::Waiting(InsideWait { call: Some(call.to_owned()), kernel: None, target: Some(target) })
        };
        let running = InsideState::Running;
        let peer = || InsideTarget::Peer("127.0.0.1:3306".to_owned());
        let named = |service: &str| InsideTarget::Peer(format!("{service} at 127.0.0.1:5432"));
        for (frames, state, part) in [
            (&[][..], running.clone(), TimePart::Outside),
            (&["@/app/index.php"], running.clone(), TimePart::Application),
            (&["@/app/index.php", "(load a file)"], running.clone(), TimePart::Compile),
            (&["@/app/index.php", "PDOStatement::execute"], running.clone(), TimePart::Database),
            (
                &["@/app/index.php", "array_map", "{closure}@/app/a.php", "strlen"],
                running.clone(),
                TimePart::Application,
            ),
            (
                &[
                    "@/app/index.php",
                    "Composer\\Autoload\\ClassLoader::findFile@/vendor/composer/ClassLoader.php",
                    "file_exists",
                ],
                running.clone(),
                TimePart::Autoload,
            ),
            (
                &[
                    "@/app/index.php",
                    "Illuminate\\Foundation\\Http\\Kernel::bootstrap@/vendor/laravel/k.php",
                    "a@/app/c.php",
                ],
                running.clone(),
                TimePart::Boot,
            ),
            (&["@/app/index.php", "@/app/bootstrap/app.php"], running.clone(), TimePart::Boot),
            (
                &["@/app/index.php", "A::b@/app/vendor/symfony/http/a.php", "strlen"],
                running.clone(),
                TimePart::Framework,
            ),
            (&["@/app/index.php", "A::b@/app/vendor/nyholm/a.php"], running, TimePart::Libraries),
            (&["@/app/index.php"], wait("write", peer()), TimePart::Output),
            (&["@/app/index.php", "file_get_contents"], wait("poll", peer()), TimePart::Services),
            // Without the call, as for a statement that is set free.
            (&["@/app/index.php", "all@/app/a.php"], wait("poll", named("postgres")), TimePart::Database),
            (&["@/app/index.php", "all@/app/a.php"], wait("poll", named("redis")), TimePart::Services),
            (
                &["@/app/index.php", "session_start"],
                wait("flock", InsideTarget::File("/tmp/sess_a".to_owned())),
                TimePart::Session,
            ),
            (&["@/app/worker.php", "frankenphp_handle_request"], wait("futex", InsideTarget::Pipe), TimePart::Outside),
        ] {
            let record = InsideRecord {
                functions: frames.iter().map(|text| function(text)).collect(),
                ..InsideRecord::default()
            };
            let frames_of = (0..frames.len() as u32).collect();
            let stack = InsideStack { frames: frames_of, line: None, state, request: None, samples: 1 };
            assert_eq!(TimePart::of(&record, &stack), part, "{frames:?}");
        }
    }
}
