//! The files of the chat page and their headers.

use std::collections::BTreeSet;
use std::path::Path;

use inferno_server::ServerOptions;

use std::io::{Read, Write};

use crate::client::{connect, get, request, send};
use crate::server::{shared, start};

/// The page's files, by their paths on the server.
fn paths() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page");
    let files = std::fs::read_dir(folder).expect("the folder is there");
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names
        .map(|name| if name == "index.html" { "/".to_owned() } else { format!("/page/{name}") })
        .collect()
}

#[test]
fn every_file_has_its_content_type() {
    for path in paths() {
        let reply = get(shared(), &path);
        assert_eq!(reply.status, 200, "{path}");
        let media_type = match path.rsplit('.').next() {
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => "text/html; charset=utf-8",
        };
        assert_eq!(reply.header("content-type"), Some(media_type), "{path}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert!(!reply.body.is_empty());
        // The write side stays open, since closing it means that the client disconnected.
        let mut stream = connect(shared());
        stream.write_all(request("HEAD", &path, &[], "").as_bytes()).expect("it can be sent");
        let mut head = String::new();
        stream.read_to_string(&mut head).expect("headers are text");
        assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
    }
    assert_eq!(get(shared(), "/page/none.js").status, 404);
    assert_eq!(send(shared(), "POST", "/", &[], "").status, 405);
}

#[test]
fn all_referenced_files_exist() {
    let paths = paths();
    for path in &paths {
        let body = get(shared(), path).body;
        let quotes = ["from './", "href=\"page/", "src=\"page/"];
        for named in quotes.iter().flat_map(|quote| body.split(quote).skip(1)) {
            let name = named.split(['\'', '"']).next().unwrap();
            assert!(paths.contains(&format!("/page/{name}")), "{path} names {name}");
        }
    }
}

#[test]
fn the_page_may_only_connect_to_its_own_server() {
    for path in paths() {
        let reply = get(shared(), &path);
        let policy = reply.header("content-security-policy").expect("there is a policy");
        let directives: Vec<_> = policy.split(';').map(str::trim).collect();
        for directive in [
            "default-src 'none'",
            "script-src 'self'",
            "connect-src 'self'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(directives.contains(&directive), "{policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
        // The only addresses are the namespaces of SVG and MathML.
        let body = ["http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"]
            .iter()
            .fold(reply.body, |body, namespace| body.replace(namespace, ""));
        assert!(!body.contains("http://") && !body.contains("https://"), "{path}");
    }
}

#[test]
fn cached_files_are_not_sent_again() {
    let first = get(shared(), "/page/main.js");
    let tag = first.header("etag").expect("there is a tag").to_owned();
    assert_eq!(first.header("cache-control"), Some("no-cache"));
    let others = get(shared(), "/page/api.js");
    assert_ne!(others.header("etag"), Some(tag.as_str()));

    let known = [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".to_owned()];
    for known in known {
        let reply = send(shared(), "GET", "/page/main.js", &[("if-none-match", &known)], "");
        assert_eq!((reply.status, reply.body.as_str()), (304, ""), "{known}");
        assert_eq!(reply.header("etag"), Some(tag.as_str()));
        assert!(reply.header("content-security-policy").is_some());
    }
    for unknown in ["\"other\"", "", "\u{e9}", tag.trim_matches('"')] {
        let reply = send(shared(), "GET", "/page/main.js", &[("if-none-match", unknown)], "");
        assert_eq!((reply.status, &reply.body), (200, &first.body), "{unknown}");
    }
}

#[test]
fn the_page_needs_no_api_key() {
    let options = ServerOptions { api_keys: vec!["key".to_owned()], ..ServerOptions::default() };
    let server = start(options);
    assert_eq!(get(server.address, "/").status, 200);
    assert_eq!(get(server.address, "/page/main.js").status, 200);
    assert_eq!(get(server.address, "/v1/models").status, 401);
    server.stop();
    server.join();
}
