//! TLS, with the certificates that `fixtures/tls/make_certificates.sh` makes.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use inferno_server::{Server, ServerOptions, TlsFiles};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::client::{PATIENCE, read, request};
use crate::load::{more_than_sockets_hold, one_place};
use crate::server::{TestServer, start_with};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tls").join(name)
}

fn tls(certificates: &str, key: &str) -> ServerOptions {
    let files = TlsFiles { certificates: fixture(certificates), key: fixture(key) };
    ServerOptions { tls: Some(files), ..ServerOptions::default() }
}

/// A connection that trusts only the test authority.
fn connect(server: &TestServer) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(fixture("authority.pem")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let client = ClientConnection::new(Arc::new(config), name).unwrap();
    StreamOwned::new(client, crate::client::connect(server.address))
}

#[test]
fn a_server_with_a_certificate_uses_tls() {
    let server = start_with(tls("cert.pem", "key.pem"), Default::default());
    let mut stream = connect(&server);
    stream.write_all(request("GET", "/version", &[], "").as_bytes()).unwrap();
    let version = read(&mut BufReader::new(stream)).ok();
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    let plain =
        crate::client::raw(server.address, b"GET /version HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert!(!plain.starts_with(b"HTTP"), "nothing is told without TLS");
    server.stop();
    server.join();
}

#[test]
fn a_client_that_never_reads_is_disconnected() {
    let options = ServerOptions { tls: tls("cert.pem", "key.pem").tls, ..one_place() };
    let server = start_with(options, Default::default());
    let started = Instant::now();
    let send = |bytes: &str| loop {
        let mut stream = connect(&server);
        // Without a free connection there is no handshake.
        if stream.write_all(bytes.as_bytes()).is_ok() {
            return stream;
        }
        assert!(started.elapsed() < PATIENCE / 2, "the place is still held");
        sleep(Duration::from_millis(50));
    };
    let health = request("GET", "/health", &[], "");
    while read(&mut BufReader::new(send(&health))).status != 200 {}
    let _silent = send(&more_than_sockets_hold());
    read(&mut BufReader::new(send(&health))).ok();
    server.stop();
    server.join();
}

#[test]
fn unusable_files_are_named() {
    let cases = [
        (tls("none.pem", "key.pem"), "none.pem"),
        (tls("key.pem", "key.pem"), "key.pem"),
        (tls("cert.pem", "cert.pem"), "cert.pem"),
    ];
    for (options, named) in cases {
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        let Err(error) = Server::bind(ServerOptions { address, ..options }) else {
            panic!("{named} was taken");
        };
        assert!(error.to_string().contains(named), "{error}");
    }
}
