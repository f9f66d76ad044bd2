//! A certificate for this machine's own address, made anew for each study.

use std::net::{IpAddr, Ipv4Addr};

use rcgen::{CertificateParams, DnType, KeyPair, PKCS_ECDSA_P256_SHA256, SanType};
use stampede_core::Certificate;
use thiserror::Error;

/// Makes a certificate for `127.0.0.1` that is its own issuer, with a key on P-256 as most public certificates have today.
///
/// # Errors
///
/// When the library cannot make a key or sign.
pub fn self_made() -> Result<Certificate, CertificateError> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut params = CertificateParams::default();
    params.subject_alt_names = vec![SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST))];
    params.distinguished_name.push(DnType::CommonName, "stampede");
    let certificate = params.self_signed(&key)?;
    Ok(Certificate { certificate: certificate.pem(), key: key.serialize_pem() })
}

/// Why there is no certificate.
#[derive(Debug, Error)]
#[error("make a certificate")]
pub struct CertificateError(#[from] rcgen::Error);
