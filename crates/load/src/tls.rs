//! TLS of one connection, without I/O (rustls).

use std::io::{Read, Write};
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::version::{TLS12, TLS13};
use rustls::{
    ALL_VERSIONS, AlertDescription, CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error,
    RootCertStore, SignatureScheme, SupportedCipherSuite,
};
use stampede_core::Protocol;
use thiserror::Error as ThisError;

use stampede_seam::{TlsClient, TlsIdentity, TlsSpec, TlsVersion, Trust};

/// What all connections share.
#[derive(Clone, Debug)]
pub(crate) struct Security {
    config: Arc<ClientConfig>,
    server: ServerName<'static>,
}

/// Why TLS cannot be used at all.
#[derive(Debug, ThisError)]
pub enum TlsError {
    /// The server's name is neither a host name nor an address.
    #[error("check certificates against {0:?}: it is not a server's name")]
    Name(String),
    /// A file of certificates has none that can be read.
    #[error("read the certificates that are trusted: {0}")]
    Certificates(String),
    /// The client's certificate or its key cannot be used.
    #[error("read the client's certificate: {0}")]
    Identity(String),
    /// A cipher suite is not one that there is.
    #[error("offer the cipher suite {unknown}: there is none of this name; there are {known}")]
    Suite {
        /// Its name.
        unknown: String,
        /// Those that there are.
        known: String,
    },
    /// The library does not take the settings.
    #[error("set up TLS: {0}")]
    Setup(String),
}

impl Security {
    pub(crate) fn new(spec: &TlsSpec, protocol: Protocol) -> Result<Self, TlsError> {
        let TlsSpec { server_name, trust, client } = spec;
        let TlsClient { identity, hides_name, version, suites } = client;
        let server = ServerName::try_from(server_name.clone()).map_err(|_| TlsError::Name(server_name.clone()))?;
        let provider = Arc::new(provider(suites)?);
        let versions = match version {
            None => ALL_VERSIONS,
            Some(TlsVersion::Tls12) => &[&TLS12],
            Some(TlsVersion::Tls13) => &[&TLS13],
        };
        let setup = |error: Error| TlsError::Setup(error.to_string());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .map_err(setup)?;
        let builder = match trust {
            Trust::Anyone => builder.dangerous().with_custom_certificate_verifier(Arc::new(Anyone(provider))),
            Trust::System => builder.with_root_certificates(system_roots()?),
            Trust::Pem(pem) => builder.with_root_certificates(roots(pem)?),
        };
        let mut config = match identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let (chain, key) = read_identity(identity)?;
                builder.with_client_auth_cert(chain, key).map_err(|error| TlsError::Identity(error.to_string()))?
            }
        };
        config.enable_sni = !hides_name;
        config.alpn_protocols = match protocol {
            Protocol::Http10 | Protocol::Http11 => vec![b"http/1.1".to_vec()],
            Protocol::Http2 { .. } => vec![b"h2".to_vec()],
        };
        // Each handshake in full, as of a client that comes for the first time.
        config.resumption = Resumption::disabled();
        Ok(Self { config: Arc::new(config), server })
    }
}

/// What encrypts, with these cipher suites alone where any are named.
fn provider(suites: &[String]) -> Result<CryptoProvider, TlsError> {
    let mut provider = ring::default_provider();
    let name = |suite: &SupportedCipherSuite| suite.suite().as_str().unwrap_or_default().replace("TLS13_", "TLS_");
    if let Some(unknown) =
        suites.iter().find(|suite| !provider.cipher_suites.iter().any(|known| name(known) == **suite))
    {
        let known: Vec<_> = provider.cipher_suites.iter().map(name).collect();
        return Err(TlsError::Suite { unknown: unknown.clone(), known: known.join(", ") });
    }
    if !suites.is_empty() {
        provider.cipher_suites.retain(|known| suites.contains(&name(known)));
    }
    Ok(provider)
}

fn read_identity(identity: &TlsIdentity) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&identity.chain)
        .collect::<Result<_, _>>()
        .map_err(|error| TlsError::Identity(error.to_string()))?;
    if chain.is_empty() {
        return Err(TlsError::Identity("the file has no certificate".to_owned()));
    }
    let key = PrivateKeyDer::from_pem_slice(&identity.key)
        .map_err(|error| TlsError::Identity(format!("the file has no private key: {error}")))?;
    Ok((chain, key))
}

fn system_roots() -> Result<RootCertStore, TlsError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added > 0 {
        return Ok(roots);
    }
    let why = found.errors.first().map_or_else(|| "this machine has none".to_owned(), ToString::to_string);
    Err(TlsError::Certificates(why))
}

fn roots(pem: &[u8]) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        certificate
            .map_err(|error| error.to_string())
            .and_then(|certificate| roots.add(certificate).map_err(|error| error.to_string()))
            .map_err(TlsError::Certificates)?;
    }
    if roots.is_empty() { Err(TlsError::Certificates("the file has none".to_owned())) } else { Ok(roots) }
}

/// Takes any certificate; the handshake is still that of its owner.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// What went wrong in TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
pub(crate) enum TlsFault {
    #[error("the server's certificate is from nobody who is trusted here")]
    UnknownIssuer,
    #[error("the server's certificate is for another name")]
    OtherName,
    #[error("the server's certificate has expired, or is not valid yet")]
    Expired,
    #[error("the server's certificate is not valid")]
    Certificate,
    #[error("the server asks for a certificate of the client, and has none: give --cert")]
    NoIdentity,
    #[error("the server does not take the client's certificate: alert {0}")]
    Identity(u8),
    #[error("the server refused it with alert {0}")]
    Alert(u8),
    #[error("the server does not offer the protocol that was asked for")]
    Alpn,
    #[error("the server does not speak TLS here")]
    NotTls,
    #[error("the server closed the connection")]
    Closed,
    #[error("the server breaks its rules")]
    Protocol,
}

impl From<Error> for TlsFault {
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidCertificate(CertificateError::UnknownIssuer) => Self::UnknownIssuer,
            Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            ) => Self::OtherName,
            Error::InvalidCertificate(
                CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. },
            ) => Self::Expired,
            Error::InvalidCertificate(_) | Error::NoCertificatesPresented => Self::Certificate,
            Error::AlertReceived(AlertDescription::NoApplicationProtocol) => Self::Alpn,
            Error::AlertReceived(AlertDescription::CertificateRequired) => Self::NoIdentity,
            Error::AlertReceived(
                alert @ (AlertDescription::BadCertificate
                | AlertDescription::UnsupportedCertificate
                | AlertDescription::CertificateRevoked
                | AlertDescription::CertificateExpired
                | AlertDescription::CertificateUnknown
                | AlertDescription::UnknownCA),
            ) => Self::Identity(alert.into()),
            Error::AlertReceived(alert) => Self::Alert(alert.into()),
            Error::NoApplicationProtocol => Self::Alpn,
            Error::InvalidMessage(_) => Self::NotTls,
            _ => Self::Protocol,
        }
    }
}

pub(crate) struct Tls {
    connection: ClientConnection,
    /// Encrypted bytes, and how many of them have been sent.
    sealed: Vec<u8>,
    sent: usize,
    ended: bool,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("unsent", &self.unsent().len()).field("ended", &self.ended).finish_non_exhaustive()
    }
}

impl Tls {
    /// Begins a handshake.
    pub(crate) fn begin(security: &Security) -> Result<Self, TlsFault> {
        let connection = ClientConnection::new(Arc::clone(&security.config), security.server.clone())?;
        let mut tls = Self { connection, sealed: Vec::new(), sent: 0, ended: false };
        tls.connection.set_buffer_limit(None);
        tls.gather();
        Ok(tls)
    }

    /// Whether the handshake is over.
    pub(crate) fn is_ready(&self) -> bool {
        !self.connection.is_handshaking()
    }

    /// Whether the server has said that it sends no more.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Takes encrypted bytes; returns how many. The rest is to be offered again after [`Tls::read`].
    pub(crate) fn take(&mut self, mut bytes: &[u8]) -> Result<usize, TlsFault> {
        let taken = self.connection.read_tls(&mut bytes).map_err(|_| TlsFault::Protocol)?;
        let state = self.connection.process_new_packets();
        // Alerts are for the server, too.
        self.gather();
        let state = state?;
        self.ended |= state.peer_has_closed();
        if taken == 0 { Err(TlsFault::Protocol) } else { Ok(taken) }
    }

    /// Reads what has been decrypted; 0 when there is no more.
    pub(crate) fn read(&mut self, plain: &mut [u8]) -> usize {
        self.connection.reader().read(plain).unwrap_or(0)
    }

    /// Encrypts.
    pub(crate) fn seal(&mut self, plain: &[u8]) {
        // Without a limit the library takes everything.
        let _ = self.connection.writer().write_all(plain);
        self.gather();
    }

    fn gather(&mut self) {
        while self.connection.wants_write() {
            if self.connection.write_tls(&mut self.sealed).is_err() {
                break;
            }
        }
    }

    /// Encrypted bytes that wait to be sent.
    pub(crate) fn unsent(&self) -> &[u8] {
        self.sealed.get(self.sent..).unwrap_or_default()
    }

    /// This many of them have been sent.
    pub(crate) fn sent(&mut self, count: usize) {
        self.sent += count;
        if self.sent >= self.sealed.len() {
            self.sealed.clear();
            self.sent = 0;
        }
    }
}
