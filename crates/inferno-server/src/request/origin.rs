//! Where a request comes from: its id, and the trace that it belongs to.

use std::future::Future;

use axum::http::{HeaderMap, HeaderName};

/// The W3C trace context: version, trace ID, parent ID and flags in hexadecimal, separated by hyphens.
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
/// The flag of traces that are recorded.
const SAMPLED: u8 = 1;

tokio::task_local! {
    static ORIGIN: RequestOrigin;
}

/// The id of a request, and the trace that it belongs to.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestOrigin {
    pub id: String,
    pub parent: Option<TraceParent>,
}

/// The span of the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TraceParent {
    /// 32 hexadecimal digits.
    pub trace_id: String,
    /// 16 hexadecimal digits.
    pub span_id: String,
    /// Whether the caller records the trace.
    pub is_sampled: bool,
}

impl RequestOrigin {
    /// The origin of the request that is being processed; empty outside of one.
    pub fn current() -> Self {
        ORIGIN.try_with(Self::clone).unwrap_or_default()
    }

    /// Processes the request.
    pub async fn scope<F: Future>(self, processing: F) -> F::Output {
        ORIGIN.scope(self, processing).await
    }

    /// Runs a part of the processing on this thread.
    pub fn sync_scope<T>(self, work: impl FnOnce() -> T) -> T {
        ORIGIN.sync_scope(self, work)
    }
}

impl TraceParent {
    /// The parent that the headers name; invalid ones are ignored, as the standard requires.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let mut parts = headers.get(TRACE_PARENT)?.to_str().ok()?.split('-');
        let [version, trace_id, span_id, flags] = [2, 32, 16, 2].map(|len| {
            parts.next().filter(|part| {
                part.len() == len && part.bytes().all(|byte| byte.is_ascii_hexdigit())
            })
        });
        let is_id = |id: &&str| id.bytes().any(|digit| digit != b'0');
        version.filter(|version| !version.eq_ignore_ascii_case("ff"))?;
        Some(Self {
            trace_id: trace_id.filter(is_id)?.to_ascii_lowercase(),
            span_id: span_id.filter(is_id)?.to_ascii_lowercase(),
            is_sampled: u8::from_str_radix(flags?, 16).ok()? & SAMPLED != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent(value: &str) -> Option<TraceParent> {
        let headers = [(TRACE_PARENT, value.parse().unwrap())].into_iter().collect();
        TraceParent::of(&headers)
    }

    #[test]
    fn parents_are_read() {
        let (trace_id, span_id) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        for (version, flags, is_sampled) in
            [("00", "01", true), ("00", "00", false), ("01", "03", true)]
        {
            let expected = TraceParent {
                trace_id: trace_id.to_owned(),
                span_id: span_id.to_owned(),
                is_sampled,
            };
            assert_eq!(parent(&format!("{version}-{trace_id}-{span_id}-{flags}")), Some(expected));
        }
    }

    #[test]
    fn invalid_parents_are_ignored() {
        for value in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
        ] {
            assert_eq!(parent(value), None, "{value}");
        }
    }
}
