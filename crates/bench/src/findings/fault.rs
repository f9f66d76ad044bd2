//! The faults, each as a user could have it: a setting, a limit, a load, an application, a neighbour.

use std::collections::BTreeMap;

use super::{FULL, SCRIPTS};
use crate::compare::APP;

/// A fault, and what the right first answer to it is.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) name: &'static str,
    pub(super) what: &'static str,
    /// Ids of findings, each of which is right.
    pub(super) right: &'static [&'static str],
    /// No rule was mended by what the last, or the last under its limits, showed.
    pub(super) runtimes: [&'static str; 3],
    /// What is run, by runtime and severity: 0 is without the fault, 3 the gravest. Without it there is as much work as with the
    /// gravest, so that what a milder one costs is not overstated.
    pub(super) setup: fn(&'static str, usize) -> Setup,
}

/// What is run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setup {
    pub(super) cpus: &'static str,
    pub(super) memory: &'static str,
    pub(super) load: String,
    pub(super) env: BTreeMap<&'static str, String>,
    pub(super) ini: BTreeMap<&'static str, String>,
    pub(super) set: BTreeMap<&'static str, String>,
    pub(super) extensions: &'static str,
    /// The plan's topology.
    pub(super) topology: String,
    /// Other programs on the machine.
    pub(super) neighbours: u32,
}

impl Setup {
    /// A request of some milliseconds of CPU time under half a CPU.
    fn new(work: usize) -> Self {
        Self {
            cpus: "0.5",
            memory: "512Mi",
            load: "closed:16".to_owned(),
            env: BTreeMap::from([("WORK", work.to_string())]),
            ini: BTreeMap::new(),
            set: BTreeMap::new(),
            extensions: "",
            topology: String::new(),
            neighbours: 0,
        }
    }

    fn env(mut self, name: &'static str, value: impl ToString) -> Self {
        self.env.insert(name, value.to_string());
        self
    }

    fn ini(mut self, name: &'static str, value: impl ToString) -> Self {
        self.ini.insert(name, value.to_string());
        self
    }

    fn set(mut self, name: &'static str, value: impl ToString) -> Self {
        self.set.insert(name, value.to_string());
        self
    }

    fn limits(self, cpus: &'static str, memory: &'static str) -> Self {
        Self { cpus, memory, ..self }
    }

    fn load(self, load: impl ToString) -> Self {
        Self { load: load.to_string(), ..self }
    }

    /// The number of workers under each runtime's own name.
    fn workers(self, runtime: &str, count: u32) -> Self {
        match runtime {
            "apache-mod-php" => self.set("MaxRequestWorkers", count),
            "uwsgi-php" => self.set("processes", count),
            // It counts those beside the first.
            "php-cli-server" => self.set("PHP_CLI_SERVER_WORKERS", (count - 1).max(1)),
            _ => self.set("pm.max_children", count),
        }
    }

    fn balancer(self, more: &str) -> Self {
        Self { topology: format!("topology: {{balancer: nginx{more}}}\n"), ..self }
    }

    pub(super) fn plan(&self, runtime: &str) -> String {
        let map = |map: &BTreeMap<&str, String>| {
            map.iter().map(|(name, value)| format!("{name}: '{value}'")).collect::<Vec<_>>().join(", ")
        };
        let Self { cpus, memory, load, env, ini, set, extensions, topology, neighbours: _ } = self;
        format!(
            "app:\n  dir: {APP}\n  kind: front-controller\n  index: index.php\n  extensions: [minimal, {extensions}]\n  \
             env: {{{}}}\n  ini: {{minimal: true, {}}}\n  requests: [{{path: /, expect: {{status: 200, body: \"done\\n\"}}}}]\n\
             cases: [{{runtime: {runtime}, set: {{{}}}}}]\n\
             limits: {{cpus: {cpus}, memory: {memory}}}\nload: {load}\n{topology}",
            map(env),
            map(ini),
            map(set),
        )
    }
}

const FPM: [&str; 3] = ["nginx-fpm", "apache-fpm", "caddy-fpm"];

pub(crate) const FAULTS: [Fault; 20] = [
    Fault {
        name: "pool",
        what: "3, 2 and 1 workers for 16 clients whose requests wait for 20 ms",
        right: &["pool-full"],
        runtimes: ["nginx-fpm", "uwsgi-php", "caddy-fpm"],
        setup: |runtime, severity| Setup::new(40).env("WAIT_MS", 20).workers(runtime, [24, 3, 2, 1][severity]),
    },
    Fault {
        name: "quota",
        what: "a CPU limit of 0.22, 0.2 and 0.18 for an open load that needs about as much on average",
        right: &["cpu-throttled"],
        runtimes: ["nginx-fpm", "apache-mod-php", "apache-fpm"],
        setup: |_, severity| {
            Setup::new(40).load("open:poisson:100").limits(["1", "0.22", "0.2", "0.18"][severity], "512Mi")
        },
    },
    Fault {
        name: "memory",
        what: "a memory limit of 128, 112 and 96 MiB for 12 workers that need 12 MiB each",
        right: &["oom-kills", "memory-pressure", "memory-near-limit"],
        runtimes: ["nginx-fpm", "apache-fpm", "uwsgi-php"],
        setup: |runtime, severity| {
            let memory = ["512Mi", "128Mi", "112Mi", "96Mi"][severity];
            Setup::new(40).env("MEGABYTES", 12).env("WAIT_MS", 20).workers(runtime, 12).limits("0.5", memory)
        },
    },
    Fault {
        name: "workers-beyond-memory",
        what: "16, 24 and 32 workers of 12 MiB under 128 MiB",
        right: &["oom-kills", "memory-pressure", "memory-near-limit"],
        runtimes: ["nginx-fpm", "caddy-fpm", "apache-fpm"],
        setup: |runtime, severity| {
            let workers = [4, 16, 24, 32][severity];
            let setup = Setup::new(40).env("MEGABYTES", 12).load("closed:32").limits("0.5", "128Mi");
            setup.env("WAIT_MS", 20).workers(runtime, workers)
        },
    },
    Fault {
        name: "opcache-off",
        what: "no opcode cache, with 5, 20 and 80 scripts",
        right: &["opcache-off"],
        runtimes: ["nginx-fpm", "apache-mod-php", "php-cli-server"],
        setup: |_, severity| {
            let on = u8::from(severity == 0);
            let scripts = [80, 5, 20, 80][severity];
            Setup::new(5).env("SCRIPTS", scripts).ini("opcache.enable", on).ini("opcache.enable_cli", on)
        },
    },
    Fault {
        name: "opcache-full",
        what: "room for 223 scripts of 300, 400 and 600 that each request needs",
        right: &["opcache-full"],
        runtimes: ["nginx-fpm", "apache-mod-php", "uwsgi-php"],
        setup: |_, severity| {
            let most = if severity == 0 { 10_000 } else { FULL };
            Setup::new(5).env("SCRIPTS", [600, 300, 400, 600][severity]).ini("opcache.max_accelerated_files", most)
        },
    },
    Fault {
        name: "time-stamps",
        what: "time stamps of 300, 450 and 600 scripts that are looked at for each request",
        right: &["opcache-validates"],
        runtimes: ["nginx-fpm", "uwsgi-php", "apache-fpm"],
        setup: |_, severity| {
            let validates = u8::from(severity > 0);
            let setup = Setup::new(0).env("SCRIPTS", [600, 300, 450, 600][severity]);
            setup.ini("opcache.validate_timestamps", validates).ini("opcache.revalidate_freq", 0)
        },
    },
    Fault {
        name: "extension",
        what: "pcov, which measures test coverage, with little, more and much work in PHP's own code",
        right: &["slow-extension"],
        runtimes: ["nginx-fpm", "apache-mod-php", "uwsgi-php"],
        setup: |_, severity| {
            let setup = Setup::new([40, 20, 30, 40][severity]);
            if severity == 0 { setup } else { Setup { extensions: "pcov", ..setup.ini("pcov.enabled", 1) } }
        },
    },
    Fault {
        name: "neighbour",
        what: "2, 4 and 8 busy threads of another program",
        right: &["noisy-neighbour"],
        runtimes: ["nginx-fpm", "apache-mod-php", "uwsgi-php"],
        setup: |_, severity| Setup { neighbours: [0, 2, 4, 8][severity], ..Setup::new(80).limits("1", "512Mi") },
    },
    Fault {
        name: "backlog",
        what: "a queue of 8, 4 and 1 connections before 2 workers with 32 clients; uWSGI's 4, 2 and 1 with an open load, for who \
               is turned away by TCP comes again a second later, and others have the worker meanwhile",
        right: &["backlog-full"],
        runtimes: ["nginx-fpm", "uwsgi-php", "caddy-fpm"],
        setup: |runtime, severity| {
            let setup = Setup::new(40).workers(runtime, 2);
            let setup = if runtime == "caddy-fpm" { setup.limits("1", "256Mi") } else { setup };
            if FPM.contains(&runtime) {
                setup.load("closed:32").set("listen.backlog", [511, 8, 4, 1][severity])
            } else {
                setup.load("open:poisson:250").limits("1", "512Mi").set("listen", [511, 4, 2, 1][severity])
            }
        },
    },
    Fault {
        name: "recycling",
        what: "workers that are replaced after 10, 4 and 1 requests",
        right: &["worker-restarts"],
        runtimes: ["nginx-fpm", "apache-fpm", "caddy-fpm"],
        setup: |runtime, severity| {
            let setup = Setup::new(5).set("pm.max_requests", [0, 10, 4, 1][severity]);
            if runtime == "caddy-fpm" { setup.limits("1", "256Mi") } else { setup }
        },
    },
    Fault {
        name: "closing",
        what: "connections of clients 10 ms away that are closed after 3 answers, after 2 and after each",
        right: &["closes-connections"],
        runtimes: ["nginx-fpm", "apache-mod-php", "apache-fpm"],
        setup: |runtime, severity| {
            let setup = Setup { topology: "topology: {client: {rtt: 10ms}}\n".to_owned(), ..Setup::new(0) };
            let setup = if runtime == "apache-fpm" { setup.limits("1", "256Mi") } else { setup };
            match (runtime, severity) {
                (_, 0) => setup,
                ("nginx-fpm", _) => setup.set("keepalive_requests", 4 - severity),
                // Apache closes after one more than that.
                (_, 3) => setup.set("KeepAlive", "Off"),
                (_, _) => setup.set("MaxKeepAliveRequests", 3 - severity),
            }
        },
    },
    Fault {
        name: "dev-mode",
        what: "APP_ENV=dev of an application that then collects 1,600, 3,200 and 6,400 traces",
        right: &["dev-mode"],
        runtimes: ["nginx-fpm", "apache-mod-php", "apache-fpm"],
        setup: |_, severity| {
            let mode = if severity == 0 { "prod" } else { "dev" };
            Setup::new(5).env("APP_ENV", mode).env("TRACED", [6400, 1600, 3200, 6400][severity])
        },
    },
    Fault {
        name: "jit",
        what: "a buffer for JIT and JIT off, with little, more and much work",
        right: &["jit-is-off"],
        runtimes: ["nginx-fpm", "apache-mod-php", "uwsgi-php"],
        setup: |_, severity| {
            let jit = if severity == 0 { "tracing" } else { "disable" };
            Setup::new([200, 100, 150, 200][severity]).ini("opcache.jit", jit).ini("opcache.jit_buffer_size", "64M")
        },
    },
    Fault {
        name: "upstream",
        what: "a service that takes 100, 200 and 400 ms, and a worker for each client",
        right: &["slow-upstream"],
        runtimes: ["nginx-fpm", "caddy-fpm", "apache-fpm"],
        setup: |runtime, severity| Setup::new(40).env("WAIT_MS", [5, 100, 200, 400][severity]).workers(runtime, 20),
    },
    Fault {
        name: "lock",
        what: "a lock that each request holds for 8, 15 and 30 ms",
        right: &["slow-upstream"],
        runtimes: ["nginx-fpm", "apache-mod-php", "apache-fpm"],
        setup: |runtime, severity| Setup::new(40).env("LOCKED_MS", [0, 8, 15, 30][severity]).workers(runtime, 20),
    },
    Fault {
        name: "share",
        what: "a share of 0.035, 0.027 and 0.02 CPU for the balancer in front",
        right: &["part-throttled"],
        runtimes: ["nginx-fpm", "apache-mod-php", "apache-fpm"],
        setup: |_, severity| {
            let share = ["0.2", "0.035", "0.027", "0.02"][severity];
            Setup::new(8).balancer(&format!(", share: {{balancer: {{cpus: {share}, memory: 64Mi}}}}"))
        },
    },
    Fault {
        name: "upstream-keepalive",
        what: "a balancer that opens a connection for each request of 8, 12 and 16 clients",
        right: &["upstream-keepalive-off"],
        runtimes: ["nginx-fpm", "apache-mod-php", "caddy-fpm"],
        setup: |_, severity| {
            let kept = if severity == 0 { "32" } else { "off" };
            let load = ["closed:16", "closed:8", "closed:12", "closed:16"][severity];
            Setup::new(0).load(load).balancer(&format!(", upstream_keepalive: {kept}"))
        },
    },
    Fault {
        name: "overload",
        what: "an open load of 1.5, 2 and 4 times what it can take",
        right: &["cpu-throttled", "queue-grows"],
        runtimes: ["nginx-fpm", "apache-mod-php", "caddy-fpm"],
        setup: |_, severity| Setup::new(100).load(format!("open:{}", [40, 150, 200, 400][severity])),
    },
    Fault {
        name: "refusing",
        what: "an application that turns away what is more than 8, 4 and 2 requests at once",
        right: &["failed-requests"],
        runtimes: ["nginx-fpm", "apache-mod-php", "apache-fpm"],
        setup: |runtime, severity| {
            let setup = Setup::new(40).env("WAIT_MS", 10).workers(runtime, 16);
            setup.env("AT_MOST", [SCRIPTS, 8, 4, 2][severity])
        },
    },
];

/// A run without a fault: a workload, a runtime, a CPU limit and a load.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Healthy {
    pub(super) workload: &'static str,
    pub(super) runtime: &'static str,
    cpus: &'static str,
    load: &'static str,
}

impl Healthy {
    pub(super) fn plan(&self) -> String {
        let Self { workload, runtime, cpus, load } = self;
        format!(
            "workload: {workload}\ncases: [{{runtime: {runtime}}}]\nlimits: {{cpus: {cpus}, memory: 512Mi}}\nload: {load}\n"
        )
    }
}

/// Built-in workloads, beside the runs that each fault is held against. uWSGI and PHP's own server close connections by themselves,
/// which weighs with requests as cheap as these: that is not without a fault.
pub(super) fn healthy() -> Vec<Healthy> {
    const KEEPING: [&str; 5] = ["nginx-fpm", "apache-mod-php", "apache-fpm", "caddy-fpm", "go"];
    let subjects = [("markdown", KEEPING), ("hello", KEEPING)];
    let loads = [("0.5", "closed:16"), ("1", "closed:16"), ("0.5", "closed:4"), ("1", "open:100")];
    let mut all = Vec::new();
    for (workload, runtimes) in subjects {
        for runtime in runtimes {
            all.extend(loads.map(|(cpus, load)| Healthy { workload, runtime, cpus, load }));
        }
    }
    all
}
