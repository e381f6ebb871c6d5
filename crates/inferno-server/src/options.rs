//! How the server is set up.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::request::UnknownFields;

/// Everything about a server but its model.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Where to listen; port 0 takes any free one.
    pub address: SocketAddr,
    /// Keys of which a request must show one; with none, every request is let in.
    pub api_keys: Vec<String>,
    /// Host names by which requests may address the server, beside those of loopback; `*` is all of them. With none, a server
    /// on loopback accepts only names of loopback, and any other server every name.
    pub allowed_hosts: Vec<String>,
    /// Web origins that may call from a browser; `*` is all of them.
    pub allowed_origins: Vec<String>,
    /// Takes requests with fields that the API does not have, and ignores those.
    pub allow_unknown_fields: bool,
    /// Bounds that no request may break.
    pub limits: Limits,
    /// How long running requests may go on after the server was told to stop.
    pub drain_timeout: Duration,
    /// Speaks TLS with these files; plain HTTP without.
    pub tls: Option<TlsFiles>,
}

/// Bounds that no request may break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a body.
    pub max_body_bytes: usize,
    /// Connections at once; further ones are answered 503 and closed.
    pub max_num_connections: usize,
    /// Answers of one request (`n`, and prompts times `n`).
    pub max_num_choices: usize,
    /// Bytes of the responses that are kept in memory; with 0, none is kept.
    pub max_stored_bytes: usize,
    /// How long a client may take to send a request's head, and again its body.
    pub read_timeout: Duration,
    /// How long a client may take nothing of what waits to be sent; any byte that goes out begins it anew.
    pub write_timeout: Duration,
    /// How long one request may take in all; `None` is for ever.
    pub request_timeout: Option<Duration>,
    /// Silence in a stream after which a comment is sent, so that nobody between takes it for dead.
    pub keep_alive: Duration,
}

/// The files of a TLS identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate and those that vouch for it, in PEM.
    pub certificates: PathBuf,
    /// The private key, in PEM.
    pub key: PathBuf,
}

impl ServerOptions {
    pub(crate) fn unknown_fields(&self) -> UnknownFields {
        match self.allow_unknown_fields {
            true => UnknownFields::Ignored,
            false => UnknownFields::Refused,
        }
    }
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080),
            api_keys: Vec::new(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            allow_unknown_fields: false,
            limits: Limits::default(),
            drain_timeout: Duration::from_secs(30),
            tls: None,
        }
    }
}

impl Limits {
    /// When a request that came at `started` has to end at the latest.
    pub(crate) fn deadline(&self, started: Instant) -> Option<Instant> {
        started.checked_add(self.request_timeout?)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_body_bytes: 16 << 20,
            max_num_connections: 1024,
            max_num_choices: 128,
            max_stored_bytes: 64 << 20,
            read_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(60),
            request_timeout: None,
            keep_alive: Duration::from_secs(10),
        }
    }
}
