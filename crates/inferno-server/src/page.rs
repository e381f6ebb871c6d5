//! The chat page at `/`: embedded files and their responses.
//!
//! The page is plain HTML, CSS and JavaScript from `page/`. Its content security policy restricts it to requests to this server,
//! and forbids creating elements from text, so that no model output can become part of the page.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::state::App;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// A file of the page.
struct PageFile {
    path: &'static str,
    media_type: &'static str,
    text: &'static str,
}

macro_rules! page_files {
    ($($path:literal: $media_type:ident $file:literal,)*) => {
        &[$(PageFile { path: $path, media_type: $media_type, text: include_str!(concat!("page/", $file)) },)*]
    };
}

const FILES: &[PageFile] = page_files![
    "/": HTML "index.html",
    "/page/icon.svg": SVG "icon.svg",
    "/page/base.css": CSS "base.css",
    "/page/layout.css": CSS "layout.css",
    "/page/message.css": CSS "message.css",
    "/page/theme.js": JAVASCRIPT "theme.js",
    "/page/main.js": JAVASCRIPT "main.js",
    "/page/api.js": JAVASCRIPT "api.js",
    "/page/stream.js": JAVASCRIPT "stream.js",
    "/page/receive.js": JAVASCRIPT "receive.js",
    "/page/request.js": JAVASCRIPT "request.js",
    "/page/store.js": JAVASCRIPT "store.js",
    "/page/notices.js": JAVASCRIPT "notices.js",
    "/page/key.js": JAVASCRIPT "key.js",
    "/page/models.js": JAVASCRIPT "models.js",
    "/page/settings.js": JAVASCRIPT "settings.js",
    "/page/sampling.js": JAVASCRIPT "sampling.js",
    "/page/keys.js": JAVASCRIPT "keys.js",
    "/page/composer.js": JAVASCRIPT "composer.js",
    "/page/conversation.js": JAVASCRIPT "conversation.js",
    "/page/overflow.js": JAVASCRIPT "overflow.js",
    "/page/branches.js": JAVASCRIPT "branches.js",
    "/page/message.js": JAVASCRIPT "message.js",
    "/page/tools.js": JAVASCRIPT "tools.js",
    "/page/sidebar.js": JAVASCRIPT "sidebar.js",
    "/page/files.js": JAVASCRIPT "files.js",
    "/page/element.js": JAVASCRIPT "element.js",
    "/page/blocks.js": JAVASCRIPT "blocks.js",
    "/page/inline.js": JAVASCRIPT "inline.js",
    "/page/markdown.js": JAVASCRIPT "markdown.js",
    "/page/syntax.js": JAVASCRIPT "syntax.js",
    "/page/tex.js": JAVASCRIPT "tex.js",
    "/page/tex-tree.js": JAVASCRIPT "tex-tree.js",
    "/page/tex-symbols.js": JAVASCRIPT "tex-symbols.js",
    "/page/tex-commands.js": JAVASCRIPT "tex-commands.js",
];

/// Security and cache headers of the page.
const HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    // Cached, but revalidated each time, so that the files always match each other.
    (header::CACHE_CONTROL, "no-cache"),
];

/// The paths of the page.
pub(crate) fn routes() -> Router<Arc<App>> {
    FILES.iter().fold(Router::new(), |router, file| {
        let tag = file.entity_tag();
        let answer = move |headers: HeaderMap| async move { file.response(&tag, &headers) };
        router.route(file.path, get(answer))
    })
}

impl PageFile {
    /// An entity tag that depends on the content.
    fn entity_tag(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.text.hash(&mut hasher);
        format!("\"{:016x}\"", hasher.finish())
    }

    /// The file, or 304 if the client has it.
    fn response(&self, tag: &str, request: &HeaderMap) -> Response {
        let mut response = if is_known(tag, request) {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            ([(header::CONTENT_TYPE, self.media_type)], self.text).into_response()
        };
        let headers = response.headers_mut();
        for (name, value) in HEADERS {
            headers.insert(name, HeaderValue::from_static(value));
        }
        if let Ok(tag) = HeaderValue::from_str(tag) {
            headers.insert(header::ETAG, tag);
        }
        response
    }
}

/// Whether `If-None-Match` names the tag, strongly or weakly.
fn is_known(tag: &str, request: &HeaderMap) -> bool {
    let lists = request.get_all(header::IF_NONE_MATCH);
    let mut known =
        lists.iter().filter_map(|list| list.to_str().ok()).flat_map(|list| list.split(','));
    known.any(|known| {
        let known = known.trim();
        known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag
    })
}
