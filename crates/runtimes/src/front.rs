//! What web servers in front have in common.

use stampede_core::{Address, AddressId, AddressKind};

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
