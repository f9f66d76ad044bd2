//! The objects of a service that the cluster scales: a deployment, the service before it, and its HorizontalPodAutoscaler. Pure.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::{
    CrossVersionObjectReference, HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec, MetricSpec, MetricTarget,
    ResourceMetricSource,
};
use k8s_openapi::api::core::v1::{HTTPGetAction, Probe, Service, ServicePort, ServiceSpec, TCPSocketAction};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::server_manifest::{self, ServerOrder, metadata, part_labels, server_name};

/// How often a pod is asked whether it is ready, in seconds: as often as a kubelet can.
const PROBE_PERIOD: i32 = 1;

/// What the cluster scales.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScaledOrder {
    /// Each pod; its replicas are the fewest.
    pub server: ServerOrder,
    /// The most pods.
    pub most: u32,
    /// The share of their CPU that pods should use, in percent.
    pub cpu_percent: u32,
    /// Where each pod listens.
    pub port: u16,
    /// What a pod must answer to be ready; where nothing is given, it must only listen.
    pub ready_path: Option<String>,
}

fn int(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// The deployment.
pub(crate) fn deployment(run: &str, part: &str, owner: &str, order: &ScaledOrder) -> Deployment {
    let ScaledOrder { server, port, ready_path, .. } = order;
    let mut deployment = server_manifest::plain(run, part, owner, server);
    let port = IntOrString::Int(i32::from(*port));
    let probe = Probe {
        period_seconds: Some(PROBE_PERIOD),
        http_get: ready_path.clone().map(|path| HTTPGetAction {
            path: Some(path),
            port: port.clone(),
            ..HTTPGetAction::default()
        }),
        tcp_socket: ready_path.is_none().then_some(TCPSocketAction { port, host: None }),
        ..Probe::default()
    };
    if let Some(spec) = deployment.spec.as_mut().and_then(|spec| spec.template.spec.as_mut()) {
        for container in &mut spec.containers {
            container.readiness_probe = Some(probe.clone());
        }
    }
    deployment
}

/// The service.
pub(crate) fn service(run: &str, part: &str, owner: &str, order: &ScaledOrder) -> Service {
    let port = i32::from(order.port);
    Service {
        metadata: metadata(run, part, owner),
        spec: Some(ServiceSpec {
            selector: Some(part_labels(run, part)),
            ports: Some(vec![ServicePort {
                port,
                target_port: Some(IntOrString::Int(port)),
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

/// The autoscaler.
pub(crate) fn autoscaler(run: &str, part: &str, owner: &str, order: &ScaledOrder) -> HorizontalPodAutoscaler {
    let cpu = ResourceMetricSource {
        name: "cpu".to_owned(),
        target: MetricTarget {
            type_: "Utilization".to_owned(),
            average_utilization: Some(int(order.cpu_percent)),
            ..MetricTarget::default()
        },
    };
    HorizontalPodAutoscaler {
        metadata: metadata(run, part, owner),
        spec: Some(HorizontalPodAutoscalerSpec {
            scale_target_ref: CrossVersionObjectReference {
                api_version: Some("apps/v1".to_owned()),
                kind: "Deployment".to_owned(),
                name: server_name(run, part),
            },
            min_replicas: Some(int(order.server.replicas)),
            max_replicas: int(order.most),
            metrics: Some(vec![MetricSpec {
                type_: "Resource".to_owned(),
                resource: Some(cpu),
                ..MetricSpec::default()
            }]),
            behavior: None,
        }),
        status: None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_service_has_its_deployment_and_autoscaler() {
        let order = ScaledOrder {
            server: ServerOrder {
                image: "shop:2".to_owned(),
                command: Vec::new(),
                args: Vec::new(),
                env: [("APP_ENV".to_owned(), "prod".to_owned())].into(),
                replicas: 2,
                cpu_millis: 500,
                memory: 256 << 20,
                empty: Vec::new(),
                node: None,
                grace: Duration::from_secs(10),
            },
            most: 6,
            cpu_percent: 70,
            port: 8080,
            ready_path: Some("/up".to_owned()),
        };
        let texts = [
            serde_saphyr::to_string(&deployment("abc", "3", "the-uid", &order)),
            serde_saphyr::to_string(&service("abc", "3", "the-uid", &order)),
            serde_saphyr::to_string(&autoscaler("abc", "3", "the-uid", &order)),
        ];
        insta::assert_snapshot!(texts.map(Result::unwrap).join("---\n"));
    }
}
