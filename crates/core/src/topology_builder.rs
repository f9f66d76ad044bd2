//! The seam to what stands around a runtime.

use std::collections::BTreeMap;

use crate::{
    AddressId, App, Deployment, InitScript, Install, Limits, Load, Part, PlanError, Program, Programs, Requirement,
    ServiceKind, Topology,
};

/// Builds a topology around a runtime's deployment. Pure, as a [`crate::Runtime`] is.
pub trait Composer: Sync {
    /// What must be present beside what the runtime requires.
    fn requires(&self, topology: &Topology) -> Vec<Requirement>;

    /// The application with the addresses of its services in its environment. What it says itself comes first.
    fn connect(&self, app: &App, topology: &Topology) -> App;

    /// Copies of a deployment behind the balancer, with the services before them.
    ///
    /// # Errors
    ///
    /// When something that was required is not in the context, or a file cannot be rendered.
    fn compose(&self, one: Deployment, cx: &ComposeContext<'_>) -> Result<Composed, PlanError>;

    /// A program that asks a service in SQL and prints its answer; its arguments name places of the composed deployment.
    ///
    /// # Errors
    ///
    /// When what the service requires is not among the programs.
    fn ask(&self, service: ServiceKind, sql: &str, programs: &Programs) -> Result<Program, PlanError>;

    /// What must be present to [`Self::dump`] a service.
    fn dumper(&self, service: ServiceKind) -> Vec<Requirement>;

    /// A program that prints the application's database as SQL that a fresh one takes, the same for the same rows; its arguments name
    /// places of the composed deployment. Nothing of a service that holds no rows.
    ///
    /// # Errors
    ///
    /// When what that requires is not among the programs.
    fn dump(&self, service: ServiceKind, programs: &Programs) -> Result<Option<Program>, PlanError>;

    /// The version of a service among the programs that were found for it.
    fn version<'a>(&self, service: ServiceKind, programs: &'a Programs) -> Option<&'a str>;

    /// How to get a service.
    fn install(&self, service: ServiceKind) -> Install;
}

/// What a topology is rendered from.
#[derive(Clone, Copy, Debug)]
pub struct ComposeContext<'a> {
    /// What is built.
    pub topology: &'a Topology,
    /// What the whole may use.
    pub limits: &'a Limits,
    /// What load it must take.
    pub load: &'a Load,
    /// What was found for [`Composer::requires`].
    pub programs: &'a Programs,
    /// Who the front is, where it speaks TLS.
    pub certificate: Option<&'a Certificate>,
    /// What services hold when the application is started.
    pub init: &'a BTreeMap<ServiceKind, InitScript>,
}

/// A certificate and its key, both in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The certificate; it is its own issuer.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

/// A topology that can be launched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Composed {
    /// All units.
    pub deployment: Deployment,
    /// Which of them share which budget; none for a runtime that stands alone.
    pub parts: Vec<Part>,
    /// The replicas' own fronts, behind the balancer.
    pub replicas: Vec<AddressId>,
}
