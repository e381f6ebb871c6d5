//! `/metrics`: Prometheus' text format, with vLLM's metric names, which routers and dashboards read.

mod builder;
mod engine;
mod histograms;
mod llama_server;
mod open_metrics;
mod process;
mod registry;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use inferno_engine::Finished;
use prometheus::TextEncoder;
use prometheus::proto::MetricFamily;

use crate::ServedModel;
use crate::errors::ApiError;
use crate::state::App;
use registry::ServerMetrics;

/// The metrics; nothing is counted before the model is loaded.
pub(crate) struct Metrics {
    registered: OnceLock<ServerMetrics>,
}

impl Metrics {
    pub fn new() -> Self {
        Self { registered: OnceLock::new() }
    }

    /// Registers the metrics of this model.
    pub fn begin(&self, model: &ServedModel) {
        match ServerMetrics::new(model.info.name(), &model.handle) {
            Ok(registered) => {
                // Only one model is served.
                let _ = self.registered.set(registered);
            }
            Err(error) => tracing::error!(%error, "failed to register metrics"),
        }
    }

    /// A response with this status was sent; it took this long until its headers.
    pub fn answered(&self, handler: &str, method: &Method, status: StatusCode, took: Duration) {
        if let Some(registered) = self.registered.get() {
            // Clients may send arbitrary methods.
            let method = match *method {
                Method::GET | Method::HEAD | Method::POST | Method::DELETE | Method::OPTIONS => {
                    method.as_str()
                }
                _ => "other",
            };
            let kind = format!("{}xx", status.as_u16() / 100);
            registered.http_requests.with_label_values(&[handler, method, &kind]).inc();
            let seconds = took.as_secs_f64();
            registered.http_duration.with_label_values(&[handler, method]).observe(seconds);
        }
    }

    /// A request field was ignored; `label` is its name, or stands for many.
    pub fn ignored_field(&self, label: &str) {
        if let Some(registered) = self.registered.get() {
            registered.ignored_fields.with_label_values(&[label]).inc();
        }
    }

    /// A request was submitted to the engine.
    pub fn admitted(&self, num_choices: usize, max_tokens: Option<usize>) {
        if let Some(registered) = self.registered.get() {
            registered.requests.params_n.observe(num_choices as f64);
            if let Some(max_tokens) = max_tokens {
                registered.requests.params_max_tokens.observe(max_tokens as f64);
            }
        }
    }

    /// The first token of a request was generated.
    pub fn first_token(&self, took: Duration) {
        if let Some(registered) = self.registered.get() {
            registered.requests.time_to_first_token.observe(took.as_secs_f64());
        }
    }

    /// Another token of a choice was generated.
    pub fn inter_token(&self, took: Duration) {
        if let Some(registered) = self.registered.get() {
            registered.requests.inter_token_latency.observe(took.as_secs_f64());
        }
    }

    /// A choice finished.
    pub fn finished(&self, finished: &Finished, reason: &str) {
        if let Some(registered) = self.registered.get() {
            registered.finished(finished, reason);
        }
    }

    /// Choices were cut short: a client disconnected, or the engine failed.
    pub fn aborted(&self, num_choices: usize, reason: &str) {
        if let Some(registered) = self.registered.get() {
            let counter = registered.request_success.with_label_values(&[reason]);
            counter.inc_by(num_choices as u64);
        }
    }

    /// A request finished; its longest choice has this many tokens.
    pub fn ended(&self, max_generated_tokens: usize) {
        if let Some(registered) = self.registered.get() {
            registered.requests.max_generation_tokens.observe(max_generated_tokens as f64);
        }
    }
}

/// The metrics of several models, in families.
fn of_all(apps: &[Arc<App>]) -> Vec<MetricFamily> {
    let mut all = BTreeMap::<String, MetricFamily>::new();
    for app in apps {
        let (Some(registered), Some(model)) = (app.metrics.registered.get(), app.loaded()) else {
            continue;
        };
        for mut family in registered.families(&model.handle.snapshot(), app.num_in_flight()) {
            match all.entry(family.name().to_owned()) {
                Entry::Vacant(entry) => drop(entry.insert(family)),
                // The process is the same.
                Entry::Occupied(entry) if entry.key().starts_with("process_") => {}
                Entry::Occupied(mut entry) => {
                    entry.get_mut().mut_metric().extend(family.take_metric());
                }
            }
        }
    }
    all.into_values().collect()
}

/// Counts responses by route.
pub(crate) async fn count(
    State(app): State<Arc<App>>,
    path: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let (method, started) = (request.method().clone(), Instant::now());
    let response = next.run(request).await;
    let handler = path.as_ref().map_or("none", MatchedPath::as_str);
    app.metrics.answered(handler, &method, response.status(), started.elapsed());
    response
}

/// Returns the metrics of the server and its engine, in the format of OpenMetrics if the client accepts it.
#[utoipa::path(get, path = "/metrics", tag = "operation", responses(
    (status = 200, content_type = "text/plain", body = String),
))]
pub(crate) async fn page(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let text = match (app.metrics.registered.get(), app.loaded(), app.pool()) {
        (Some(registered), Some(model), _) => {
            registered.text(&model.handle.snapshot(), app.num_in_flight())
        }
        (_, _, Some(pool)) => TextEncoder::new().encode_to_string(&of_all(&pool.apps())),
        _ => Ok(String::new()),
    };
    let text = text.map_err(|error| ApiError::internal(error.to_string()))?;
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let (content_type, text) = match accepted.is_some_and(open_metrics::is_accepted) {
        true => (open_metrics::CONTENT_TYPE, open_metrics::of_prometheus(&text)),
        false => (prometheus::TEXT_FORMAT, text),
    };
    let mut response = ([(header::CONTENT_TYPE, content_type)], text).into_response();
    if let Some(model) = app.loaded() {
        // llama-server's header, by which scrapers notice a restart.
        let name = HeaderName::from_static("process-start-time-unix");
        response.headers_mut().insert(name, HeaderValue::from(model.info.created));
    }
    Ok(response)
}
