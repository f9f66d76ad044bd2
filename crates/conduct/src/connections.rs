//! What is said of connections to a database before the first trial.

use stampede_core::{Case, ConnectionShortage, Role};

/// A warning for a case whose workers may open more connections than its database takes, with what to do.
pub(crate) fn warning(case: &Case) -> Option<String> {
    let ConnectionShortage { database, workers } = ConnectionShortage::of(case)?;
    let (service, most, replicas) = (database.service.id(), database.most, case.topology.replicas);
    let of_replicas = if replicas > 1 { format!(" of {replicas} replicas") } else { String::new() };
    let each = most / u64::from(replicas.max(1));
    let fewer = case.tuning.of_role(Role::PoolSize).next();
    let fewer = fewer.map(|(name, _)| format!(", or --set {}.{name}={}", case.runtime, each.max(1)));
    Some(format!(
        "{}: {workers} workers{of_replicas} may open a connection each, and {service} takes {most}: requests without one fail; \
         use --set {service}.max_connections={}{}",
        case.id,
        database.setting_for(workers),
        fewer.unwrap_or_default()
    ))
}
