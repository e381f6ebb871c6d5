//! The hosts and web origins that `inferno serve` accepts, in the form in which requests name them.

use std::net::Ipv6Addr;

/// The value that accepts all.
const ANY: &str = "*";

/// Reads a host as it appears in the `Host` header, without its port.
///
/// **Errors**: a value that no such header can match.
pub(super) fn host_of(value: &str) -> Result<String, String> {
    if value == ANY {
        return Ok(value.to_owned());
    }
    let bare = value.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse::<Ipv6Addr>() {
        return Ok(format!("[{address}]"));
    }
    match value.strip_suffix('.').unwrap_or(value) {
        name if is_name(name) && !name.contains(':') => Ok(name.to_owned()),
        _ => Err("expected a host name or address without a scheme, port or path, such as \
                  llm.example.com, or * for any"
            .to_owned()),
    }
}

/// Reads a web origin as browsers send it: in lower case, without a path and without the scheme's default port.
///
/// **Errors**: a value that no browser sends.
pub(super) fn origin_of(value: &str) -> Result<String, String> {
    // Pages in files and sandboxes have the origin "null".
    if [ANY, "null"].contains(&value) {
        return Ok(value.to_owned());
    }
    let origin = value.strip_suffix('/').unwrap_or(value).to_ascii_lowercase();
    let (scheme, authority) = match origin.split_once("://") {
        Some(parts) if is_name(parts.1) && parts.0.bytes().all(is_of_scheme) => parts,
        None if is_name(&origin) => {
            return Err(format!("expected an origin with its scheme: https://{origin}"));
        }
        _ => {
            return Err("expected an origin without a path or wildcard, such as \
                        https://app.example.com or http://localhost:3000, or * for all"
                .to_owned());
        }
    };
    let default_port = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => "",
    };
    Ok(format!("{scheme}://{}", authority.strip_suffix(default_port).unwrap_or(authority)))
}

/// Whether this may be a host name or address, with or without a port.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~:[]".contains(&byte))
}

fn is_of_scheme(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_as_requests_name_them() {
        for (value, host) in [
            ("*", "*"),
            ("llm.example.com", "llm.example.com"),
            ("llm.example.com.", "llm.example.com"),
            ("10.0.0.1", "10.0.0.1"),
            ("fe80::1", "[fe80::1]"),
            ("[FE80::1]", "[fe80::1]"),
        ] {
            assert_eq!(host_of(value).as_deref(), Ok(host));
        }
        for value in ["", "http://x.com", "x.com:8080", "x.com/", "*.x.com", "[fe80::1]:80", "a b"]
        {
            assert!(host_of(value).unwrap_err().contains("such as llm.example.com"), "{value}");
        }
    }

    #[test]
    fn origins_are_read_as_browsers_send_them() {
        for (value, origin) in [
            ("*", "*"),
            ("null", "null"),
            ("https://Foo.com/", "https://foo.com"),
            ("https://foo.com:443", "https://foo.com"),
            ("http://foo.com:443", "http://foo.com:443"),
            ("http://localhost:3000", "http://localhost:3000"),
            ("http://[::1]:80", "http://[::1]"),
            ("chrome-extension://abcdef", "chrome-extension://abcdef"),
        ] {
            assert_eq!(origin_of(value).as_deref(), Ok(origin));
        }
        let hint = "expected an origin with its scheme: https://foo.com";
        assert_eq!(origin_of("foo.com").unwrap_err(), hint);
        for value in
            ["", "https://", "https://foo.com/chat", "https://*.foo.com", "https://a@b", "a b://c"]
        {
            assert!(origin_of(value).unwrap_err().contains("without a path"), "{value}");
        }
    }
}
