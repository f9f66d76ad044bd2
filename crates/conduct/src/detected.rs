//! Says what a look at an application's folder found, and which runtimes can serve it.

use stampede_core::{InitScript, ServiceKind};
use stampede_harness::{Missing, Prepared};
use stampede_plan::{ComparePlan, Look};

use crate::host::Bench;

/// Tells it; nothing where nothing was looked at.
pub(crate) fn tell(bench: Bench<'_>, plan: &ComparePlan, prepared: &[Prepared], missing: &[Missing]) {
    let Some(look) = &plan.look else { return };
    let line = |text: String, hang: usize| bench.paragraph(&text, hang);
    let Look { title, kind, index, packages, extensions, remarks, wants_database, wants_redis, .. } = look;
    let packages = if packages.is_empty() { String::new() } else { format!(" with {}", packages.join(", ")) };
    let index = index.as_ref().map(|index| format!(" {}", index.display())).unwrap_or_default();
    let article = if title.starts_with(['A', 'E', 'I', 'O']) { "an" } else { "a" };
    line(format!("{} is {article} {title}{packages}: {kind}{index}", plan.workload.id), 4);
    remarks.iter().for_each(|remark| line(format!("  {remark}"), 2));
    if !extensions.is_empty() {
        line(format!("  requires the PHP extensions {}", extensions.join(", ")), 4);
    }
    let services = &plan.topology.services;
    if let Some(server) = wants_database.filter(|_| !services.iter().any(|service| service.kind.holds_rows())) {
        line(format!("  uses {server}: --database dump.sql.gz gives each trial a copy"), 4);
    }
    if *wants_redis && !services.iter().any(|service| service.kind == ServiceKind::Redis) {
        line("  uses Redis: --services redis gives each trial one of its own".to_owned(), 4);
    }
    for need in &plan.services {
        let Some(InitScript { name, changes, .. }) = &need.init else { continue };
        let changes: String = changes.iter().map(|change| format!("; {change}")).collect();
        line(format!("  its {} begins each trial with {name}{changes}", need.kind.id()), 4);
    }
    let ids: Vec<_> = prepared.iter().map(|prepared| prepared.case.id.to_string()).collect();
    if !ids.is_empty() {
        line(format!("  served by {}", ids.join(", ")), 4);
    }
    for Missing { case, why } in missing {
        line(format!("  skipped: {case} {why}"), 4);
    }
    let unable: Vec<&str> = plan.unable.iter().map(|(runtime, _)| runtime.as_str()).collect();
    if !unable.is_empty() {
        line(format!("  not for this kind of application: {}", unable.join(", ")), 4);
    }
}
