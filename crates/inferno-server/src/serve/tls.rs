//! TLS by rustls and ring.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::{ServerError, TlsFiles};

/// Reads the certificate chain and the private key.
///
/// **Errors**: [`ServerError::Tls`] that names the file.
pub(super) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, ServerError> {
    let TlsFiles { certificates, key } = files;
    let chain = CertificateDer::pem_file_iter(certificates)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(certificates, &error))?;
    if chain.is_empty() {
        return Err(unusable(certificates, &"the file contains no certificate"));
    }
    let private_key = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(certificates, &error))?
        .with_no_client_auth()
        .with_single_cert(chain, private_key)
        .map_err(|error| unusable(key, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn unusable(path: &Path, error: &dyn std::fmt::Display) -> ServerError {
    ServerError::Tls { path: path.to_owned(), message: error.to_string() }
}
