//! What runs an image: Docker Compose, Kubernetes, Knative, Cloud Run.

use minijinja::context;
use stampede_core::Cpus;

use crate::bundle_file::BundleFile;
use crate::export_error::ExportError;
use crate::health;
use crate::image::{USER, grace};
use crate::order::Image;
use crate::resolved::Resolved;
use crate::target::Target;
use crate::template::Template;

const COMPOSE: Template = Template { name: "compose.yaml.j2", source: include_str!("../templates/compose.yaml.j2") };
const KUBERNETES: Template =
    Template { name: "kubernetes.yaml.j2", source: include_str!("../templates/kubernetes.yaml.j2") };
const SERVICE: Template = Template { name: "service.yaml.j2", source: include_str!("../templates/service.yaml.j2") };

/// How long a Pod is left alone after it was told to go, while those who send requests learn of it.
/// <https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination>
const FAREWELL_SECONDS: u64 = 5;

/// The manifest of a target, if it has one.
pub(crate) fn file(target: Target, resolved: &Resolved<'_>, image: &Image) -> Result<Option<BundleFile>, ExportError> {
    let order = resolved.order;
    let (name, template) = match target {
        Target::Compose => ("compose.yaml", COMPOSE),
        Target::Kubernetes => ("kubernetes.yaml", KUBERNETES),
        Target::Knative | Target::CloudRun => ("service.yaml", SERVICE),
        Target::Dockerfile | Target::Systemd | Target::Config => return Ok(None),
    };
    let cpus = order.limits.cpus;
    if target == Target::CloudRun && !on_cloud_run(cpus) {
        return Err(ExportError::CloudRunCpus(cpus));
    }
    let concurrency = match target {
        Target::CloudRun if cpus < WHOLE_CPU => Some(1),
        _ => order.scaling.map(|scaling| scaling.concurrency.into()).or(order.concurrency),
    };
    let instances = order.scaling.map(|scaling| (scaling.min_instances, scaling.max_instances));
    let text = template.fill(context! {
        comment => resolved.comment(),
        name => order.name,
        image => quoted(&image.name),
        cpus => cpus.to_string(),
        millis => cpus.millis(),
        memory => order.limits.memory.to_string(),
        bytes => order.limits.memory.get(),
        port => order.listen.port(),
        path => order.health.and_then(health::path).map(quoted),
        ready => order.ready.as_secs(),
        grace => grace(resolved).as_secs(),
        farewell => FAREWELL_SECONDS,
        concurrency,
        instances,
        on_cloud_run => target == Target::CloudRun,
        user => USER,
    })?;
    Ok(Some(BundleFile::text(name, text)))
}

/// Below it, Cloud Run gives an instance one request at a time.
/// <https://cloud.google.com/run/docs/configuring/services/cpu>
const WHOLE_CPU: Cpus = Cpus::from_millis(1000);

/// What Cloud Run takes. <https://cloud.google.com/run/docs/configuring/services/cpu>
fn on_cloud_run(cpus: Cpus) -> bool {
    matches!(cpus.millis(), 80..=1000 | 2000 | 4000 | 6000 | 8000)
}

/// A text as YAML reads it whatever it holds.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
