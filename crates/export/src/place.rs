//! The places that a deployment's text names, where a target has them.

use std::net::{Ipv4Addr, SocketAddr};

use stampede_core::{AddressKind, Deployment, Places};

use crate::export_error::ExportError;

/// Where unix sockets lie, relative to the folder of everything.
pub(crate) const SOCKETS: &str = "s";

/// Where the copy of the application lies, relative to the folder of everything.
pub(crate) const APP: &str = "app";

/// Where a unix socket is.
pub(crate) fn socket(root: &str, id: &str) -> String {
    format!("{root}/{SOCKETS}/{id}.sock")
}

/// The places in a folder, with the front at an address and all other ports after it.
pub(crate) fn places(deployment: &Deployment, root: &str, listen: SocketAddr) -> Result<Places, ExportError> {
    let mut places = Places::new();
    places.insert("run", root);
    places.insert("app", format!("{root}/{APP}"));
    let mut last = listen.port();
    for address in &deployment.addresses {
        let id = address.id.as_str();
        let of = match address.kind {
            AddressKind::UnixSocket => {
                places.insert(id, socket(root, id));
                continue;
            }
            AddressKind::Tcp if address.id == deployment.front => listen,
            AddressKind::Tcp => {
                last = last.checked_add(1).ok_or(ExportError::Ports(listen.port()))?;
                SocketAddr::from((Ipv4Addr::LOCALHOST, last))
            }
        };
        places.insert(id, of.to_string());
        places.insert(format!("{id}.host"), of.ip().to_string());
        places.insert(format!("{id}.port"), of.port().to_string());
    }
    Ok(places)
}
