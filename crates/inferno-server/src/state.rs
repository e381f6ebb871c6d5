//! State that all requests share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use axum::body::Bytes;
use axum::http::StatusCode;
use inferno_engine::EngineError;
use tokio::sync::watch;

use crate::errors::{ApiError, shortened};
use crate::fields::IgnoredFields;
use crate::openai::responses::ResponseStore;
use crate::operation::metrics::Metrics;
use crate::operation::traces::Traces;
use crate::request::PreparationStage;
use crate::{ServedModel, ServerOptions};

/// State that all requests share.
pub(crate) struct App {
    pub options: ServerOptions,
    model: OnceLock<Arc<ServedModel>>,
    pub metrics: Metrics,
    /// With an endpoint for them.
    pub traces: Option<Traces>,
    pub ignored_fields: IgnoredFields,
    pub responses: Arc<ResponseStore>,
    pub preparation: Arc<PreparationStage>,
    /// The API description, which is made when it is first requested.
    pub description: OnceLock<Bytes>,
    is_draining: AtomicBool,
    /// HTTP requests that wait or run in the engine.
    num_in_flight: watch::Sender<usize>,
}

/// Whether the server answers requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readiness {
    Loading,
    Ready,
    /// Requests are accepted, and wait for a stage in another process.
    WaitingForStage,
    Draining,
    Dead,
    ModelFileChanged,
}

impl App {
    pub fn new(options: ServerOptions, traces: Option<Traces>) -> Self {
        Self {
            model: OnceLock::new(),
            metrics: Metrics::new(),
            traces,
            ignored_fields: IgnoredFields::default(),
            responses: Arc::new(ResponseStore::new(options.limits.max_stored_bytes)),
            preparation: Arc::new(PreparationStage::new(&options.limits)),
            description: OnceLock::new(),
            is_draining: AtomicBool::new(false),
            num_in_flight: watch::Sender::new(0),
            options,
        }
    }

    /// Starts to serve this model.
    pub fn publish(&self, model: ServedModel) {
        let model = Arc::new(model);
        self.metrics.begin(&model);
        // Only the loader publishes, and once.
        let _ = self.model.set(model);
    }

    /// The loaded model.
    ///
    /// **Errors**: 503 before that.
    pub fn model(&self) -> Result<Arc<ServedModel>, ApiError> {
        self.loaded().cloned().ok_or_else(|| {
            let mut error =
                ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "the model is loading; retry later");
            error.retry_after = Some(1);
            error.with_code("loading")
        })
    }

    /// The model for requests with this name, or the only one if no name is given.
    ///
    /// **Errors**: 404 for a name that it does not accept, 503 before the model is loaded.
    pub fn model_named(&self, name: Option<&str>) -> Result<Arc<ServedModel>, ApiError> {
        let model = self.model()?;
        match name {
            Some(name) if !model.accepts_name(name) => Err(model_not_found(&model, name)),
            _ => Ok(model),
        }
    }

    /// The model that is listed under this name.
    ///
    /// **Errors**: 404 for another name, 503 before the model is loaded.
    pub fn listed_model(&self, name: &str) -> Result<Arc<ServedModel>, ApiError> {
        let model = self.model()?;
        match model.has_name(name) {
            true => Ok(model),
            false => Err(model_not_found(&model, name)),
        }
    }

    pub fn loaded(&self) -> Option<&Arc<ServedModel>> {
        self.model.get()
    }

    pub fn readiness(&self) -> Readiness {
        match self.loaded() {
            _ if self.is_draining.load(Ordering::Relaxed) => Readiness::Draining,
            None => Readiness::Loading,
            Some(model) => match model.watch().failure() {
                None if model.handle.snapshot().is_stage_lost => Readiness::WaitingForStage,
                None => Readiness::Ready,
                Some(EngineError::ModelFileChanged(_)) => Readiness::ModelFileChanged,
                Some(_) => Readiness::Dead,
            },
        }
    }

    /// Stops accepting new requests.
    pub fn drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
        if let Some(model) = self.loaded() {
            model.handle.drain();
        }
    }

    /// Counts an HTTP request until the guard and its clones are dropped.
    pub fn begin_request(self: &Arc<Self>) -> InFlight {
        self.num_in_flight.send_modify(|count| *count += 1);
        InFlight { counted: Arc::new(Counted { app: Arc::clone(self) }) }
    }

    /// Waits until no request is left.
    pub async fn idle(&self) {
        let mut counts = self.num_in_flight.subscribe();
        // The sender lives as long as self does.
        let _ = counts.wait_for(|&count| count == 0).await;
    }

    pub fn num_in_flight(&self) -> usize {
        *self.num_in_flight.borrow()
    }
}

fn model_not_found(model: &ServedModel, name: &str) -> ApiError {
    let known = model.names.join(", ");
    let name = shortened(name);
    let message = format!("model {name:?} not found; this server has {known}");
    let mut error = ApiError::new(StatusCode::NOT_FOUND, message);
    error.param = Some("model".to_owned());
    error.with_code("model_not_found")
}

/// An HTTP request in the engine. Everything that is submitted for it holds a clone.
#[derive(Clone)]
pub(crate) struct InFlight {
    counted: Arc<Counted>,
}

impl InFlight {
    pub fn app(&self) -> &Arc<App> {
        &self.counted.app
    }
}

/// Counts a request until it is dropped.
struct Counted {
    app: Arc<App>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.app.num_in_flight.send_modify(|count| *count -= 1);
    }
}
