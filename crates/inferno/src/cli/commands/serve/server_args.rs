//! Options of the HTTP server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use inferno_engine::EngineHandle;
use inferno_server::{CacheEventOptions, Limits, ScriptedAnswers, ServerOptions, TlsFiles};

use super::access::{host_of, origin_of};
use crate::cli::arguments::api_keys::read_api_keys;
use crate::cli::arguments::values::{MAX_SECONDS, number_in, positive, whole};
use crate::cli::failure::Failure;
use crate::cli::input::read_file;

/// The largest number of connections, more than an operating system supports.
const MAX_CONNECTIONS: usize = 1 << 20;

/// Address, access control, limits and timeouts.
#[derive(clap::Args)]
#[command(next_help_heading = "Server")]
pub(super) struct ServerArgs {
    /// Address or host name to listen on; use 0.0.0.0 or :: to accept connections from other machines
    #[arg(long, value_name = "ADDRESS", value_parser = address_of, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// Port to listen on; 0 chooses a free port
    #[arg(long, value_name = "PORT", value_parser = port, default_value_t = 8080)]
    port: u16,
    /// API key that clients must send; can be repeated [default: no authentication]
    #[arg(long, value_name = "KEY", hide_env_values = true)]
    api_key: Vec<String>,
    /// Read API keys from this file, one per line; lines starting with # are comments
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// Accept requests with this Host header, such as the public name behind a reverse proxy, or * for any; can be repeated
    /// [default: any; on a loopback address only localhost, 127.0.0.0/8 and ::1]
    #[arg(long, value_name = "NAME", value_parser = host_of)]
    allowed_host: Vec<String>,
    /// Web origin allowed to send cross-origin requests, such as https://app.example.com, or * for all; can be repeated
    /// [default: pages served from this machine]
    #[arg(long, value_name = "ORIGIN", value_parser = origin_of)]
    cors_origin: Vec<String>,
    /// Reject requests with unknown fields instead of ignoring the fields
    #[arg(long)]
    strict_fields: bool,
    /// Send a trace span for each request to this OpenTelemetry collector (OTLP over HTTP), such as http://localhost:4318
    #[arg(long, value_name = "URL")]
    otlp_endpoint: Option<String>,
    /// Publish the changes of the prefix cache over ZeroMQ for routers, as vLLM does, such as
    /// {"enable_kv_cache_events": true, "endpoint": "tcp://*:5557", "replay_endpoint": "tcp://*:5558"}. The events contain the
    /// tokens of prompts, and subscribers need no key
    #[arg(long, value_name = "JSON", value_parser = cache_event_options)]
    kv_events_config: Option<CacheEventOptions>,
    /// Generate the answers in this JSON file instead of the model's own, to test clients
    #[arg(long, value_name = "FILE", hide = true)]
    scripted_answers: Option<PathBuf>,
    /// Maximum size of a request body, in bytes
    #[arg(long, value_name = "BYTES", value_parser = positive, default_value_t = Limits::default().max_body_bytes)]
    max_body_size: usize,
    /// Maximum number of open connections; further ones are rejected with status 503
    #[arg(long, value_name = "N", value_parser = number_in(1..=MAX_CONNECTIONS), default_value_t = Limits::default().max_num_connections)]
    max_connections: usize,
    /// Maximum number of choices (n) per request
    #[arg(long, value_name = "N", value_parser = number_in(1..=EngineHandle::MAX_NUM_CHOICES), default_value_t = Limits::default().max_num_choices)]
    max_choices: usize,
    /// Memory for stored responses of /v1/responses, in bytes; the oldest are evicted first, and 0 disables storage
    #[arg(long, value_name = "BYTES", value_parser = whole::<usize>, default_value_t = Limits::default().max_stored_bytes)]
    response_store: usize,
    /// Time limit for receiving the headers of a request, and again for its body, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = number_in(1..=MAX_SECONDS), default_value_t = 30)]
    read_timeout: usize,
    /// Close a connection after this many seconds without write progress
    #[arg(long, value_name = "SECONDS", value_parser = number_in(1..=MAX_SECONDS), default_value_t = 60)]
    write_timeout: usize,
    /// Time limit for a whole request, in seconds [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = number_in(1..=MAX_SECONDS))]
    request_timeout: Option<usize>,
    /// Time that running requests have to finish on shutdown, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = number_in(0..=MAX_SECONDS), default_value_t = 30)]
    drain_timeout: usize,
    /// Enable TLS with this certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

/// Parses a port.
fn port(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| "expected a number from 0 to 65535".to_owned())
}

/// Parses the options of cache events.
fn cache_event_options(text: &str) -> Result<CacheEventOptions, String> {
    serde_json::from_str(text).map_err(|error| {
        format!(
            "{error}; expected JSON such as {{\"enable_kv_cache_events\": true, \"endpoint\": \"tcp://*:5557\"}}"
        )
    })
}

/// Splits `HOST:PORT`. An IPv6 address with a port is in brackets.
fn with_port(text: &str) -> Option<(&str, u16)> {
    let (name, port) = text.rsplit_once(':')?;
    let is_address = text.parse::<IpAddr>().is_ok();
    port.parse().ok().filter(|_| !is_address && !name.is_empty()).map(|port| (name, port))
}

/// Resolves an address or host name, preferring IPv4.
fn address_of(host: &str) -> Result<IpAddr, String> {
    if let Some((name, port)) = with_port(host) {
        return Err(format!("expected an address without a port; use --host {name} --port {port}"));
    }
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let found: Vec<_> = (name, 0)
        .to_socket_addrs()
        .map_err(|error| {
            format!(
                "{error}; expected an address such as 127.0.0.1 or a host name such as localhost"
            )
        })?
        .map(|address| address.ip())
        .collect();
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    first.copied().ok_or_else(|| "the host name has no address".to_owned())
}

impl ServerArgs {
    /// Returns the scripted answers, if there are any.
    ///
    /// **Errors**: a file that cannot be read, or has another format.
    fn scripted(&self) -> Result<Option<ScriptedAnswers>, Failure> {
        let Some(path) = &self.scripted_answers else {
            return Ok(None);
        };
        let answers = ScriptedAnswers::from_json(&read_file(path)?);
        let invalid = |error| Failure::Usage(format!("{}: {error}", path.display()));
        answers.map(Some).map_err(invalid)
    }

    /// Returns the options for the server.
    ///
    /// **Errors**: an API key file that cannot be read or contains no key; an empty key.
    pub(super) fn options(&self) -> Result<ServerOptions, Failure> {
        let mut api_keys = self.api_key.clone();
        if let Some(path) = &self.api_key_file {
            api_keys.extend(read_api_keys(path)?);
            if api_keys.is_empty() {
                let path = path.display();
                return Err(Failure::Usage(format!(
                    "{path} contains no API key; add one, or remove --api-key-file to accept all requests"
                )));
            }
        }
        let seconds = |number: usize| Duration::from_secs(number as u64);
        let tls = self.tls_cert.clone().zip(self.tls_key.clone());
        let options = ServerOptions {
            address: SocketAddr::new(self.host, self.port),
            api_keys,
            allowed_hosts: self.allowed_host.clone(),
            allowed_origins: self.cors_origin.clone(),
            otlp_endpoint: self.otlp_endpoint.clone(),
            cache_events: self.kv_events_config.clone().unwrap_or_default(),
            strict_fields: self.strict_fields,
            scripted: self.scripted()?,
            limits: Limits {
                max_body_bytes: self.max_body_size,
                max_num_connections: self.max_connections,
                max_num_choices: self.max_choices,
                max_stored_bytes: self.response_store,
                read_timeout: seconds(self.read_timeout),
                write_timeout: seconds(self.write_timeout),
                request_timeout: self.request_timeout.map(seconds),
                ..Limits::default()
            },
            drain_timeout: seconds(self.drain_timeout),
            tls: tls.map(|(certificates, key)| TlsFiles { certificates, key }),
        };
        let hint = "--api-key or INFERNO_API_KEY";
        options.check().map_err(|error| Failure::Usage(format!("{error} ({hint})")))?;
        Ok(options)
    }
}
