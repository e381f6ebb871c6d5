//! The `Host` header check, which prevents DNS rebinding: a page of another site must not reach a loopback server.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::Response;

use crate::ServerOptions;
use crate::errors::{ApiError, shortened};
use crate::state::App;

/// Accepts requests to an allowed host.
pub(crate) async fn require_allowed_host(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    check(&request, &app.options)?;
    Ok(next.run(request).await)
}

/// **Errors**: 400 for a host that is missing, repeated or malformed; 403 for one that is not allowed.
fn check(request: &Request, options: &ServerOptions) -> Result<(), ApiError> {
    let bad = |message: &str| {
        Err(ApiError::new(StatusCode::BAD_REQUEST, message).with_code("invalid_host"))
    };
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => Some(host),
        (Some(_), Some(_)) => return bad("the Host header is repeated; send it once"),
        (None, _) if request.version() < Version::HTTP_11 => None,
        (None, _) => return bad("the Host header is missing"),
    };
    let named = host.map(|host| host.to_str().ok().and_then(|host| host.parse().ok()));
    let named: Option<Authority> = match named {
        Some(None) => return bad("the Host header is not a host name with an optional port"),
        named => named.flatten(),
    };
    let target = request.uri().authority();
    match named.iter().chain(target).find(|host| !is_allowed(host, options)) {
        Some(host) => {
            let host = shortened(host.host());
            let message = format!(
                "the host {host:?} is not allowed; add it to the allowed hosts (--allowed-host {host}, in Python allowed_hosts)"
            );
            Err(ApiError::new(StatusCode::FORBIDDEN, message).with_code("host_not_allowed"))
        }
        None => Ok(()),
    }
}

/// Without allowed hosts, a loopback server accepts only loopback names, and any other server every name.
fn is_allowed(authority: &Authority, options: &ServerOptions) -> bool {
    let host = authority.host();
    let host = host.strip_suffix('.').unwrap_or(host);
    let is_listed = options
        .allowed_hosts
        .iter()
        .any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(host));
    let is_on_loopback = options.address.ip().to_canonical().is_loopback();
    is_listed || is_loopback(host) || (options.allowed_hosts.is_empty() && !is_on_loopback)
}

/// Whether a host name or address, with brackets for IPv6, is on this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address.parse().is_ok_and(|address: IpAddr| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn status(bind: &str, allowed: &[&str], version: Version, hosts: &[&str]) -> Option<u16> {
        let address = bind.parse().unwrap();
        let allowed_hosts = allowed.iter().map(|&host| host.to_owned()).collect();
        let options = ServerOptions { address, allowed_hosts, ..ServerOptions::default() };
        let mut request = Request::builder().version(version).uri("/health");
        for host in hosts {
            request = request.header(header::HOST, *host);
        }
        let checked = check(&request.body(Body::empty()).unwrap(), &options);
        checked.err().map(|error| error.status.as_u16())
    }

    #[test]
    fn a_server_on_loopback_accepts_names_of_loopback_and_listed_ones() {
        let loopback = [
            "localhost",
            "LOCALHOST:8080",
            "localhost.",
            "127.0.0.1",
            "127.1.2.3:80",
            "[::1]",
            "[::1]:8080",
        ];
        for host in loopback {
            for bind in ["127.0.0.1:80", "[::1]:80", "[::ffff:127.0.0.1]:80"] {
                assert_eq!(status(bind, &[], Version::HTTP_11, &[host]), None, "{host} {bind}");
            }
        }
        for host in
            ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "10.0.0.1"]
        {
            assert_eq!(status("127.0.0.1:80", &[], Version::HTTP_11, &[host]), Some(403), "{host}");
            assert_eq!(status("0.0.0.0:80", &[], Version::HTTP_11, &[host]), None, "{host}");
            assert_eq!(status("127.0.0.1:80", &["*"], Version::HTTP_11, &[host]), None, "{host}");
        }
        let allowed = ["llm.example"];
        for bind in ["127.0.0.1:80", "0.0.0.0:80"] {
            assert_eq!(status(bind, &allowed, Version::HTTP_11, &["LLM.example:443"]), None);
            assert_eq!(status(bind, &allowed, Version::HTTP_11, &["evil.example"]), Some(403));
            assert_eq!(status(bind, &allowed, Version::HTTP_11, &["localhost"]), None);
        }
    }

    #[test]
    fn a_host_that_is_missing_repeated_or_malformed_is_an_error() {
        assert_eq!(status("127.0.0.1:80", &[], Version::HTTP_11, &[]), Some(400));
        assert_eq!(status("127.0.0.1:80", &[], Version::HTTP_10, &[]), None);
        let twice = ["localhost", "localhost"];
        assert_eq!(status("127.0.0.1:80", &[], Version::HTTP_11, &twice), Some(400));
        assert_eq!(status("0.0.0.0:80", &[], Version::HTTP_11, &twice), Some(400));
        for host in ["", "a b", "a/b", "local\u{e4}host"] {
            assert_eq!(status("127.0.0.1:80", &[], Version::HTTP_11, &[host]), Some(400), "{host}");
        }
    }
}
