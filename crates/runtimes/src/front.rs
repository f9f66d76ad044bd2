//! What web servers in front have in common.

use std::path::Path;

use stampede_core::{Address, AddressId, AddressKind, Deployment, Unit};

/// How long idle connections are kept by default: longer than any trial, so that only the client closes one.
pub(crate) const KEEPALIVE_SECONDS: u64 = 3600;

/// Why.
pub(crate) const KEEPALIVE_REASON: &str = "longer than a trial: only the client closes a connection";

/// The address that takes the load.
pub(crate) fn address() -> Address {
    Address { id: id(), kind: AddressKind::Tcp }
}

/// Its name.
pub(crate) fn id() -> AddressId {
    AddressId::new("front")
}

/// A deployment of these units that takes the load at that address, with nothing prepared and PHP not asked.
pub(crate) fn deployment(app: &Path, units: Vec<Unit>) -> Deployment {
    Deployment {
        addresses: vec![address()],
        front: id(),
        app: app.to_owned(),
        container: None,
        image: None,
        preparation: None,
        probe: None,
        units,
    }
}
