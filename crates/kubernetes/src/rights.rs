//! The rights that are needed in a namespace: one table, from which the Role is printed and which is checked first.

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding, RoleRef, Subject};
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::task::JoinSet;

/// Verbs on a resource.
struct Right {
    group: &'static str,
    resource: &'static str,
    subresource: Option<&'static str>,
    verbs: &'static [&'static str],
    /// The least that needs it.
    purpose: Purpose,
}

/// What rights are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Generators that load what is there.
    Load,
    /// Deployments under test as well.
    Deployments,
    /// Deployments that the cluster scales.
    Scaling,
}

/// What is needed, and no more.
const RIGHTS: [Right; 12] = [
    // The guardian and the generators; `delete` ends them, `list` finds what is left.
    Right {
        group: "batch",
        resource: "jobs",
        subresource: None,
        verbs: &["create", "delete", "list"],
        purpose: Purpose::Load,
    },
    // How pods are; `delete` for those whose Job is gone.
    Right { group: "", resource: "pods", subresource: None, verbs: &["delete", "list"], purpose: Purpose::Load },
    // The streams: `get` up to Kubernetes 1.34, `create` from 1.35 (kubernetes/kubernetes#134577).
    Right { group: "", resource: "pods", subresource: Some("exec"), verbs: &["create", "get"], purpose: Purpose::Load },
    // Why a pod was not made: a quota.
    Right { group: "", resource: "events", subresource: None, verbs: &["list"], purpose: Purpose::Load },
    // Where a service's pods are.
    Right { group: "", resource: "services", subresource: None, verbs: &["get"], purpose: Purpose::Load },
    Right {
        group: "discovery.k8s.io",
        resource: "endpointslices",
        subresource: None,
        verbs: &["list"],
        purpose: Purpose::Load,
    },
    // What is under test; `list` finds what is left.
    Right {
        group: "apps",
        resource: "deployments",
        subresource: None,
        verbs: &["create", "delete", "list"],
        purpose: Purpose::Deployments,
    },
    // What it wrote, where it fails.
    Right { group: "", resource: "pods", subresource: Some("log"), verbs: &["get"], purpose: Purpose::Deployments },
    // What is scaled: a service, its autoscaler, when pods come and go, and what they use; `list` finds what is left.
    Right {
        group: "",
        resource: "services",
        subresource: None,
        verbs: &["create", "delete", "list"],
        purpose: Purpose::Scaling,
    },
    Right {
        group: "autoscaling",
        resource: "horizontalpodautoscalers",
        subresource: None,
        verbs: &["create", "delete", "list", "watch"],
        purpose: Purpose::Scaling,
    },
    Right { group: "", resource: "pods", subresource: None, verbs: &["watch"], purpose: Purpose::Scaling },
    Right { group: "metrics.k8s.io", resource: "pods", subresource: None, verbs: &["list"], purpose: Purpose::Scaling },
];

/// The name of the Role and of its binding.
const ROLE: &str = "stampede";

impl Right {
    fn full_name(&self) -> String {
        self.subresource.map_or_else(|| self.resource.to_owned(), |part| format!("{}/{part}", self.resource))
    }

    /// The same for people: with the group, as kubectl writes it, where the core has a resource of this name too.
    fn told(&self) -> String {
        let is_of_core = |other: &Right| other.resource == self.resource && other.group.is_empty();
        let group = Some(self.group).filter(|group| !group.is_empty() && RIGHTS.iter().any(is_of_core));
        group.map_or_else(|| self.full_name(), |group| format!("{}.{group}", self.full_name()))
    }
}

/// Whom the Role is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleSubject {
    /// A user, by the name that the cluster knows.
    User(String),
    /// A ServiceAccount of the namespace.
    ServiceAccount(String),
}

/// The Role and its binding as YAML.
///
/// # Errors
///
/// When YAML cannot be written.
pub fn role(namespace: &str, subject: RoleSubject) -> Result<String, String> {
    let metadata =
        || ObjectMeta { name: Some(ROLE.to_owned()), namespace: Some(namespace.to_owned()), ..ObjectMeta::default() };
    let rule = |right: &Right| PolicyRule {
        api_groups: Some(vec![right.group.to_owned()]),
        resources: Some(vec![right.full_name()]),
        verbs: right.verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        ..PolicyRule::default()
    };
    let role = Role { metadata: metadata(), rules: Some(RIGHTS.iter().map(rule).collect()) };
    let group = || "rbac.authorization.k8s.io".to_owned();
    let subject = match subject {
        RoleSubject::User(name) => Subject { kind: "User".to_owned(), name, namespace: None, api_group: Some(group()) },
        RoleSubject::ServiceAccount(name) => {
            let namespace = Some(namespace.to_owned());
            Subject { kind: "ServiceAccount".to_owned(), name, namespace, api_group: None }
        }
    };
    let binding = RoleBinding {
        metadata: metadata(),
        role_ref: RoleRef { api_group: group(), kind: "Role".to_owned(), name: ROLE.to_owned() },
        subjects: Some(vec![subject]),
    };
    let role = serde_saphyr::to_string(&role).map_err(|error| error.to_string())?;
    let binding = serde_saphyr::to_string(&binding).map_err(|error| error.to_string())?;
    Ok(format!("{role}---\n{binding}"))
}

/// Those that whoever asks does not have: verb and resource of each, in the order of the table.
pub(crate) async fn missing(client: &Client, namespace: &str, purpose: Purpose) -> Result<Vec<String>, kube::Error> {
    let mut asking = JoinSet::new();
    let needed = RIGHTS.iter().filter(|right| right.purpose <= purpose);
    let each = needed.flat_map(|right| right.verbs.iter().map(move |verb| (right, *verb)));
    for (place, (right, verb)) in each.enumerate() {
        let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    namespace: Some(namespace.to_owned()),
                    verb: Some(verb.to_owned()),
                    group: Some(right.group.to_owned()),
                    resource: Some(right.resource.to_owned()),
                    subresource: right.subresource.map(str::to_owned),
                    ..ResourceAttributes::default()
                }),
                non_resource_attributes: None,
            },
            ..SelfSubjectAccessReview::default()
        };
        let words = format!("{verb} {}", right.told());
        asking.spawn(async move {
            let answered = reviews.create(&PostParams::default(), &review).await;
            (place, answered.map(|review| review.status.is_some_and(|status| status.allowed)), words)
        });
    }
    let mut answers = asking.join_all().await;
    answers.sort_by_key(|(place, ..)| *place);
    let mut missing = Vec::new();
    for (_, is_allowed, words) in answers {
        if !is_allowed? {
            missing.push(words);
        }
    }
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_rights_are_told_alike() {
        let mut told: Vec<_> =
            RIGHTS.iter().flat_map(|right| right.verbs.iter().map(|verb| format!("{verb} {}", right.told()))).collect();
        assert!(told.contains(&"list pods.metrics.k8s.io".to_owned()) && told.contains(&"create jobs".to_owned()));
        let all = told.len();
        told.sort_unstable();
        told.dedup();
        assert_eq!(told.len(), all, "{told:?}");
    }
}
