//! Flags about the server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use inferno_server::{Limits, ServerOptions, TlsFiles};

use crate::cli::arguments::values::{MAX_SECONDS, number_in, positive};
use crate::cli::failure::Failure;
use crate::cli::input::read_file;

/// The most connections: more than a system has sockets for.
const MAX_CONNECTIONS: usize = 1 << 20;

/// Who may connect, and what they may ask for.
#[derive(clap::Args)]
#[command(next_help_heading = "Server")]
pub(super) struct ServerArgs {
    /// The address or the name to listen on; 0.0.0.0 or :: for the whole network.
    #[arg(long, value_name = "ADDRESS", value_parser = address_of, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// The port to listen on; 0 for any free one.
    #[arg(long, value_name = "PORT", default_value_t = 8080)]
    port: u16,
    /// A key that requests must show; may be repeated [default: none is needed].
    #[arg(long, value_name = "KEY", hide_env_values = true)]
    api_key: Vec<String>,
    /// Read keys from this file, one a line; lines that begin with # are comments.
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// Accept requests with this Host header, such as the public name behind a reverse proxy; * accepts any; may be repeated
    /// [default: on a loopback address only localhost, 127.0.0.0/8 and ::1, otherwise any].
    #[arg(long, value_name = "NAME")]
    allowed_host: Vec<String>,
    /// A web origin whose pages may call, or * for all; may be repeated [default: none].
    #[arg(long, value_name = "ORIGIN")]
    cors_origin: Vec<String>,
    /// Ignore fields that the API does not have, instead of refusing them.
    #[arg(long)]
    allow_unknown_fields: bool,
    /// Bytes that a request may have.
    #[arg(long, value_name = "BYTES", value_parser = positive, default_value_t = Limits::default().max_body_bytes)]
    max_body_size: usize,
    /// Connections at once; further ones are answered 503.
    #[arg(long, value_name = "N", value_parser = number_in(1..=MAX_CONNECTIONS), default_value_t = Limits::default().max_num_connections)]
    max_connections: usize,
    /// Answers that one request may ask for.
    #[arg(long, value_name = "N", value_parser = positive, default_value_t = Limits::default().max_num_choices)]
    max_choices: usize,
    /// Bytes of memory for responses of /v1/responses, which conversations go on from; the oldest make room, and 0 keeps none.
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().max_stored_bytes)]
    response_store: usize,
    /// Seconds that a client may take to send a request's head, and again its body.
    #[arg(long, value_name = "SECONDS", value_parser = number_in(1..=MAX_SECONDS), default_value_t = 30)]
    read_timeout: usize,
    /// Seconds that a client may take nothing of what is sent to it, until its connection is ended.
    #[arg(long, value_name = "SECONDS", value_parser = number_in(1..=MAX_SECONDS), default_value_t = 60)]
    write_timeout: usize,
    /// Seconds that a request may take in all [default: no limit].
    #[arg(long, value_name = "SECONDS", value_parser = number_in(1..=MAX_SECONDS))]
    request_timeout: Option<usize>,
    /// Seconds that running requests may go on when the server is told to stop.
    #[arg(long, value_name = "SECONDS", value_parser = number_in(0..=MAX_SECONDS), default_value_t = 30)]
    drain_timeout: usize,
    /// Speak TLS with this certificate (PEM, with those that vouch for it).
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

/// The address itself, or the first one of a name, of the older kind where it has both.
fn address_of(host: &str) -> Result<IpAddr, String> {
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let found: Vec<_> = (name, 0)
        .to_socket_addrs()
        .map_err(|error| {
            format!("{error}; expected an address, such as 127.0.0.1, or a name, such as localhost")
        })?
        .map(|address| address.ip())
        .collect();
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    first.copied().ok_or_else(|| "the name has no address".to_owned())
}

impl ServerArgs {
    /// **Errors**: a file of keys that cannot be read, or has none.
    pub(super) fn options(&self) -> Result<ServerOptions, Failure> {
        let mut api_keys = self.api_key.clone();
        if let Some(path) = &self.api_key_file {
            let text = read_file(path)?;
            let keys = text
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty() && !line.starts_with('#'));
            api_keys.extend(keys.map(str::to_owned));
            if api_keys.is_empty() {
                let path = path.display();
                return Err(Failure::Usage(format!(
                    "{path} holds no key; a server without keys takes all requests"
                )));
            }
        }
        if api_keys.iter().any(String::is_empty) {
            return Err(Failure::Usage("an API key is empty; leave it out".to_owned()));
        }
        let seconds = |number: usize| Duration::from_secs(number as u64);
        let tls = self.tls_cert.clone().zip(self.tls_key.clone());
        Ok(ServerOptions {
            address: SocketAddr::new(self.host, self.port),
            api_keys,
            allowed_hosts: self.allowed_host.clone(),
            allowed_origins: self.cors_origin.clone(),
            allow_unknown_fields: self.allow_unknown_fields,
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
        })
    }
}
