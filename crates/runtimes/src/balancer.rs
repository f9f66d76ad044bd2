//! What stands in front of replicas: nginx or HAProxy.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use minijinja::context;
use stampede_core::{
    AddressId, Balance, Balancer, BalancerKind, ComposeContext, GracefulStop, Install, PlanError, Program, Requirement,
    RunFile, RuntimeId, StopSignal, Unit, VersionProbe,
};

use crate::nginx_fpm::takes_error_log;
use crate::template::{Template, template};

/// The name of its unit and of its part, and the key under which its program is found.
pub(crate) const BALANCER: &str = "balancer";

/// How long requests in flight may take when it stops.
const GRACE: Duration = Duration::from_secs(5);

const NGINX: Template = template!("balancers/nginx.conf.j2");
const HAPROXY: Template = template!("balancers/haproxy.cfg.j2");

pub(crate) fn requirement(kind: BalancerKind) -> Requirement {
    let (names, prefix, page) = match kind {
        BalancerKind::Nginx => (&["nginx"], "nginx/", "https://nginx.org/en/download.html"),
        BalancerKind::Haproxy => (&["haproxy"], "version ", "https://www.haproxy.org/"),
    };
    let (version, install) = (VersionProbe { args: &["-v"], prefix }, Install::package(names[0], page));
    Requirement::Program { key: BALANCER, names, version, install }
}

/// The balancer in front of these addresses.
pub(crate) fn unit(balancer: &Balancer, replicas: &[AddressId], cx: &ComposeContext<'_>) -> Result<Unit, PlanError> {
    let lacks = |program| PlanError::Program { runtime: RuntimeId::new(BALANCER), program };
    let found = cx.programs.get(BALANCER).ok_or_else(|| lacks(BALANCER))?;
    let Balancer { kind, balance, upstream_keepalive, tls, share } = balancer;
    let certificate = if *tls { Some(cx.certificate.ok_or_else(|| lacks("certificate"))?) } else { None };
    let workers = share.as_ref().unwrap_or(cx.limits).cpus.whole_cores();
    let connections = u64::from(cx.load.connections());
    // Each request takes two: one from the client and one to a replica; nginx keeps some for itself.
    let worker_connections = (connections * 2 + 64).max(1024);
    let kept_by = match kind {
        // Each of nginx's processes keeps connections by itself; HAProxy keeps them by replica.
        BalancerKind::Nginx => workers as u32,
        BalancerKind::Haproxy => replicas.len() as u32,
    };
    let values = context! {
        workers,
        worker_connections,
        open_files => worker_connections + 64,
        maxconn => (connections + 64).max(1024),
        // nginx's own, or the load's connections where they are more, so that none is refused.
        backlog => connections.max(511),
        least_connections => *balance == Balance::LeastConnections,
        replicas => replicas.iter().map(|id| format!("@{{{id}}}")).collect::<Vec<_>>(),
        kept => if *upstream_keepalive == 0 { 0 } else { (*upstream_keepalive / kept_by).max(1) },
        tls => *tls,
        grace_seconds => GRACE.as_secs(),
    };
    let file = |name: &str, text: String| RunFile { path: PathBuf::from(BALANCER).join(name), text };
    let (mut files, run, check, signal) = match kind {
        BalancerKind::Nginx => {
            let mut run = vec!["-p", "@{run}", "-c", "@{run}/balancer/nginx.conf"];
            if takes_error_log(&found.version) {
                run.extend(["-e", "@{run}/balancer/error.log"]);
            }
            let check = [&["-t", "-q"], &run[..]].concat();
            // https://nginx.org/en/docs/control.html
            (vec![file("nginx.conf", NGINX.fill(values)?)], run, check, StopSignal::Quit)
        }
        BalancerKind::Haproxy => {
            let run = vec!["-db", "-f", "@{run}/balancer/haproxy.cfg"];
            let check = [&["-c"], &run[..]].concat();
            // SIGUSR1 lets requests finish. https://docs.haproxy.org/2.6/management.html#4
            (vec![file("haproxy.cfg", HAPROXY.fill(values)?)], run, check, StopSignal::Usr1)
        }
    };
    if let Some(certificate) = certificate {
        let (certificate, key) = (certificate.certificate.clone(), certificate.key.clone());
        match kind {
            BalancerKind::Nginx => files.extend([file("certificate.pem", certificate), file("key.pem", key)]),
            BalancerKind::Haproxy => files.push(file("front.pem", format!("{certificate}{key}"))),
        }
    }
    let program = |args: &[&str]| Program::new(found.path.display().to_string(), args, BTreeMap::new());
    Ok(Unit {
        files,
        folders: vec![PathBuf::from(BALANCER)],
        check: Some(program(&check)),
        logs: vec![PathBuf::from("balancer/error.log")],
        ..Unit::new(BALANCER, program(&run), GracefulStop { signal, grace: GRACE + Duration::from_secs(2) })
    })
}
