//! A service whose pods are loaded: each by its own address, so that the service balances nothing.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::ListParams;

use crate::cluster::Cluster;
use crate::cluster_error::ClusterError;

/// The label of a slice that names its service.
const OF_SERVICE: &str = "kubernetes.io/service-name";

/// The name of a service, as the cluster's DNS has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceName {
    /// Its name.
    pub name: String,
    /// The namespace that it is in.
    pub namespace: String,
}

impl ServiceName {
    /// Of a host such as `web.shop.svc` or `web.shop.svc.cluster.local`; none of another one.
    pub fn of_host(host: &str) -> Option<Self> {
        let host = host.trim_end_matches('.');
        let host = host.strip_suffix(".cluster.local").unwrap_or(host);
        let (name, namespace) = host.strip_suffix(".svc")?.split_once('.')?;
        let is_label = |text: &str| !text.is_empty() && !text.contains('.');
        (is_label(name) && is_label(namespace)).then(|| Self { name: name.to_owned(), namespace: namespace.to_owned() })
    }
}

/// A service's pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterService {
    /// The address of each that is ready, in their order.
    pub targets: Vec<SocketAddr>,
    /// The labels of its pods.
    pub selector: BTreeMap<String, String>,
}

impl Cluster {
    /// The ready pods of a service that has this port.
    ///
    /// # Errors
    ///
    /// When there is no such service or port, or none of its pods is ready.
    pub async fn service(&self, service: &ServiceName, port: u16) -> Result<ClusterService, ClusterError> {
        let ServiceName { name, namespace } = service;
        let wrong = |problem: String| ClusterError::Service { name: name.clone(), problem };
        if namespace != self.namespace() {
            return Err(wrong(format!(
                "it is in the namespace {namespace:?}, and generators would be in {:?}\n  give --namespace {namespace}",
                self.namespace()
            )));
        }
        let found = match self.api::<Service>().get(name).await {
            Ok(found) => found,
            Err(kube::Error::Api(status)) if status.code == 404 => {
                return Err(wrong(format!(
                    "it is not in the namespace {namespace:?}\n  see `kubectl get services --namespace {namespace}`"
                )));
            }
            Err(error) => return Err(self.error("read the service", &error)),
        };
        let of_service = ListParams::default().labels(&format!("{OF_SERVICE}={name}"));
        let slices = self.api::<EndpointSlice>().list(&of_service).await;
        let slices = slices.map_err(|error| self.error("list endpointslices", &error))?;
        ready_pods(&found, &slices.items, port).map_err(wrong)
    }
}

/// Its ready pods, or why there are none.
fn ready_pods(service: &Service, slices: &[EndpointSlice], port: u16) -> Result<ClusterService, String> {
    let spec = service.spec.clone().unwrap_or_default();
    let ports = spec.ports.unwrap_or_default();
    let Some(wanted) = ports.iter().find(|own| own.port == i32::from(port)) else {
        let known: Vec<String> = ports.iter().map(|own| own.port.to_string()).collect();
        return Err(format!("it has no port {port}\n  give one of its ports in the URL: {}", known.join(", ")));
    };
    let mut targets = Vec::new();
    for slice in slices {
        let number = slice.ports.iter().flatten().find(|own| own.name.as_deref() == wanted.name.as_deref());
        // A port without a name is an empty one in some slices.
        let number = number.or_else(|| match slice.ports.as_deref() {
            Some([only]) if wanted.name.is_none() => Some(only),
            _ => None,
        });
        let Some(number) = number.and_then(|own| own.port).and_then(|port| u16::try_from(port).ok()) else { continue };
        for endpoint in &slice.endpoints {
            let conditions = endpoint.conditions.clone().unwrap_or_default();
            if conditions.ready == Some(false) || conditions.terminating == Some(true) {
                continue;
            }
            let address = endpoint.addresses.first().and_then(|address| address.parse::<IpAddr>().ok());
            targets.extend(address.map(|address| SocketAddr::from((address, number))));
        }
    }
    // A service of both families has each pod twice.
    if targets.iter().any(SocketAddr::is_ipv4) {
        targets.retain(SocketAddr::is_ipv4);
    }
    targets.sort();
    targets.dedup();
    if targets.is_empty() {
        return Err("none of its pods is ready\n  see `kubectl get endpointslices` and the pods' events".to_owned());
    }
    Ok(ClusterService { targets, selector: spec.selector.unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hosts_of_services() {
        for (host, expected) in [
            ("web.shop.svc", Some(("web", "shop"))),
            ("web.shop.svc.cluster.local", Some(("web", "shop"))),
            ("web.shop.svc.cluster.local.", Some(("web", "shop"))),
            ("web.svc", None),
            ("pod.web.shop.svc", None),
            ("example.org", None),
            ("10.0.0.1", None),
        ] {
            let found = ServiceName::of_host(host);
            let found = found.as_ref().map(|found| (found.name.as_str(), found.namespace.as_str()));
            assert_eq!(found, expected, "{host}");
        }
    }

    #[test]
    fn pods_that_are_ready_are_targets() {
        let service: Service = serde_json::from_value(json!({"spec": {"selector": {"app": "web"},
            "ports": [{"name": "http", "port": 80}, {"name": "metrics", "port": 9000}]}}))
        .unwrap();
        let slices: Vec<EndpointSlice> = serde_json::from_value(json!([
            {"addressType": "IPv4", "metadata": {}, "ports": [{"name": "metrics", "port": 9000}, {"name": "http", "port": 8080}],
                "endpoints": [
                    {"addresses": ["10.1.0.9"], "conditions": {"ready": true}},
                    {"addresses": ["10.1.0.2"]},
                    {"addresses": ["10.1.0.3"], "conditions": {"ready": false}},
                    {"addresses": ["10.1.0.4"], "conditions": {"ready": true, "terminating": true}}]},
            {"addressType": "IPv6", "metadata": {}, "ports": [{"name": "http", "port": 8080}],
                "endpoints": [{"addresses": ["fd00::9"]}]}]))
        .unwrap();
        let found = ready_pods(&service, &slices, 80).unwrap();
        let texts: Vec<String> = found.targets.iter().map(SocketAddr::to_string).collect();
        assert_eq!(texts, ["10.1.0.2:8080", "10.1.0.9:8080"]);
        assert_eq!(found.selector["app"], "web");
        for (name, slices, port, words) in [
            ("no such port", &slices[..], 443, "it has no port 443\n  give one of its ports in the URL: 80, 9000"),
            ("nobody is ready", &[], 80, "none of its pods is ready"),
        ] {
            let problem = ready_pods(&service, slices, port).unwrap_err();
            assert!(problem.starts_with(words), "{name}: {problem}");
        }
    }
}
