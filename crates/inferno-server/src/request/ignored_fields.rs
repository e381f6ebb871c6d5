//! Reports the ignored fields of each request, and the parts of its schemas that are not enforced.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;

use crate::fields::UnknownFields;
use crate::state::App;

/// Names the ignored fields of a request, separated by commas.
pub(crate) const IGNORED_FIELDS: HeaderName = HeaderName::from_static("x-inferno-ignored-fields");
/// Names the parts of a request's JSON schemas that are not enforced, separated by semicolons.
pub(crate) const UNENFORCED_SCHEMA: HeaderName =
    HeaderName::from_static("x-inferno-unenforced-schema");
/// Bytes of a header's value; names beyond are omitted.
const MAX_HEADER_BYTES: usize = 1024;

/// Collects what is ignored in a request, and reports it.
pub(crate) async fn report_ignored_fields(
    State(app): State<Arc<App>>,
    mut request: Request,
    next: Next,
) -> Response {
    let unknown = UnknownFields::new(app.options.strict_fields);
    request.extensions_mut().insert(unknown.clone());
    let mut response = next.run(request).await;
    let names = unknown.take();
    for name in &names {
        app.metrics.ignored_field(app.ignored_fields.label(name));
    }
    let headers = response.headers_mut();
    for (header, names, separator) in
        [(IGNORED_FIELDS, names, ','), (UNENFORCED_SCHEMA, unknown.take_unenforced(), ';')]
    {
        if let Some(value) = header_value(&names, separator) {
            headers.insert(header, value);
        }
    }
    response
}

/// The names, as far as there is room; characters that headers cannot contain are replaced.
fn header_value(names: &[String], separator: char) -> Option<HeaderValue> {
    let mut value = String::new();
    for name in names {
        let between = if value.is_empty() { String::new() } else { format!("{separator} ") };
        if value.len() + between.len() + name.chars().count() > MAX_HEADER_BYTES {
            break;
        }
        value.push_str(&between);
        value.extend(name.chars().map(|char| match char {
            ' '..='~' if char != separator => char,
            _ => '?',
        }));
    }
    HeaderValue::try_from(value).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_bounded_and_visible_ascii() {
        let names = ["a\nb,é".to_owned(), "messages[].mood".to_owned()];
        assert_eq!(header_value(&names, ',').unwrap(), "a?b??, messages[].mood");
        assert_eq!(header_value(&names, ';').unwrap(), "a?b,?; messages[].mood");
        assert_eq!(header_value(&[], ','), None);
        let many: Vec<_> = (0..32).map(|index| format!("{index}").repeat(100)).collect();
        assert!(header_value(&many, ',').unwrap().len() <= MAX_HEADER_BYTES);
    }
}
