//! Server options.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use inferno_engine::EngineHandle;

use crate::{CacheEventOptions, ScriptedAnswers, ServerError};

/// Options of a server, without its model.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Address to listen on; port 0 selects any free port.
    pub address: SocketAddr,
    /// API keys, one of which each request must send; if empty, no key is needed.
    pub api_keys: Vec<String>,
    /// Host names that requests may use in addition to loopback names; `*` accepts any. If empty, a server on a loopback address
    /// accepts only loopback names, and any other server every name.
    pub allowed_hosts: Vec<String>,
    /// Web origins that may call from a browser; `*` allows all. If empty, pages from loopback addresses may call.
    pub allowed_origins: Vec<String>,
    /// Address of an OpenTelemetry collector that receives a span for each request, with OTLP over HTTP; `/v1/traces` is added to
    /// addresses without a path.
    pub otlp_endpoint: Option<String>,
    /// Whether and where changes of the prefix cache are published.
    pub cache_events: CacheEventOptions,
    /// Rejects fields that the API does not define, instead of ignoring and reporting them.
    pub strict_fields: bool,
    /// Generates these answers to conversations, to test clients.
    pub scripted: Option<ScriptedAnswers>,
    /// Limits on requests.
    pub limits: Limits,
    /// Time that running requests may take to finish when the server stops.
    pub drain_timeout: Duration,
    /// Certificate and key for TLS; without them, the server uses plain HTTP.
    pub tls: Option<TlsFiles>,
}

/// Limits on requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of a body in bytes.
    pub max_body_bytes: usize,
    /// Maximum number of connections; further ones get 503 and are closed.
    pub max_num_connections: usize,
    /// Maximum number of answers to one request (`n`, or the number of prompts times `n`).
    pub max_num_choices: usize,
    /// Maximum size of all stored responses in bytes; 0 stores none.
    pub max_stored_bytes: usize,
    /// Time a client may take to send the head of a request, and again for its body.
    pub read_timeout: Duration,
    /// Time without write progress after which a connection is closed.
    pub write_timeout: Duration,
    /// Maximum number of requests that wait for a thread that prepares them; further ones get 503.
    pub max_num_preparing: usize,
    /// Maximum time from a request's arrival until the engine receives it.
    pub preparation_timeout: Duration,
    /// Maximum duration of a request, from its arrival to its last token; `None` sets no limit.
    pub request_timeout: Option<Duration>,
    /// Interval of keep-alive comments in a silent stream, so that proxies do not close it.
    pub keep_alive: Duration,
}

/// The files of a TLS identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate chain, in PEM.
    pub certificates: PathBuf,
    /// The private key, in PEM.
    pub key: PathBuf,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080),
            api_keys: Vec::new(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            otlp_endpoint: None,
            cache_events: CacheEventOptions::default(),
            strict_fields: false,
            scripted: None,
            limits: Limits::default(),
            drain_timeout: Duration::from_secs(30),
            tls: None,
        }
    }
}

impl ServerOptions {
    /// Checks the options before a model is loaded, as starting a server with them does.
    ///
    /// **Errors**: [`ServerError::EmptyApiKey`].
    pub fn check(&self) -> Result<(), ServerError> {
        match self.api_keys.iter().any(|key| key.trim().is_empty()) {
            true => Err(ServerError::EmptyApiKey),
            false => Ok(()),
        }
    }
}

impl Limits {
    /// The deadline of a request that arrived at `started`.
    pub(crate) fn deadline(&self, started: Instant) -> Option<Instant> {
        started.checked_add(self.request_timeout?)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_body_bytes: 16 << 20,
            max_num_connections: 1024,
            max_num_choices: EngineHandle::MAX_NUM_CHOICES,
            max_stored_bytes: 64 << 20,
            read_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(60),
            max_num_preparing: 256,
            preparation_timeout: Duration::from_secs(60),
            request_timeout: None,
            keep_alive: Duration::from_secs(10),
        }
    }
}
