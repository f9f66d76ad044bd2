//! TLS of the one-shot client: which certificates are trusted, and for which server.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use thiserror::Error;

/// Whose certificates are trusted, and the name or address that the server's must be for.
#[derive(Clone, Debug)]
pub struct Security {
    config: Arc<ClientConfig>,
    server: ServerName<'static>,
}

impl Security {
    /// Trusts the certificates of a text in PEM.
    ///
    /// # Errors
    ///
    /// When the text holds none that can be read, or the name is neither a host name nor an address.
    pub fn new(server: &str, trust: &[u8]) -> Result<Self, SecurityError> {
        let name = ServerName::try_from(server.to_owned()).map_err(|_| SecurityError::Name(server.to_owned()))?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(trust) {
            let certificate = certificate.map_err(|error| SecurityError::Certificates(error.to_string()))?;
            roots.add(certificate).map_err(|error| SecurityError::Certificates(error.to_string()))?;
        }
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| SecurityError::Certificates(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), server: name })
    }

    pub(crate) fn begin(&self) -> Result<ClientConnection, rustls::Error> {
        ClientConnection::new(Arc::clone(&self.config), self.server.clone())
    }
}

/// Why TLS cannot be used at all.
#[derive(Debug, Error)]
pub enum SecurityError {
    /// The server's name is neither a host name nor an address.
    #[error("check certificates against {0:?}: it is not a server's name")]
    Name(String),
    /// There are no certificates to trust.
    #[error("read the certificates that are trusted: {0}")]
    Certificates(String),
}
