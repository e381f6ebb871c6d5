//! TLS by rustls and ring.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::{ServerError, TlsFiles};

/// The largest file of certificates or a key, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Reads the certificate chain and the private key.
///
/// **Errors**: [`ServerError::Tls`] that names the file.
pub(super) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, ServerError> {
    let TlsFiles { certificates, key } = files;
    let chain = CertificateDer::pem_slice_iter(&read(certificates)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| unusable(certificates, &error))?;
    if chain.is_empty() {
        return Err(unusable(certificates, &"the file contains no certificate"));
    }
    let private_key =
        PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|error| unusable(key, &error))?;
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

/// Reads a file of reasonable size, so that an endless one such as /dev/zero fails.
fn read(path: &Path) -> Result<Vec<u8>, ServerError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|error| unusable(path, &error))?;
    match bytes.len() as u64 > MAX_BYTES {
        true => Err(unusable(path, &"the file is too large to be a certificate or a key")),
        false => Ok(bytes),
    }
}

fn unusable(path: &Path, error: &dyn std::fmt::Display) -> ServerError {
    ServerError::Tls { path: path.to_owned(), message: error.to_string() }
}
