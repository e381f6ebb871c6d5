//! State that all requests share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use axum::body::Bytes;
use axum::http::StatusCode;
use inferno_engine::EngineError;
use tokio::sync::watch;

use crate::errors::{ApiError, shortened};
use crate::fields::IgnoredFields;
use crate::on_demand::ModelPool;
use crate::openai::responses::ResponseStore;
use crate::operation::metrics::Metrics;
use crate::operation::traces::Traces;
use crate::request::PreparationStage;
use crate::{ModelInfo, ServedModel, ServerOptions};

/// State that all requests to one model share; without a model, that of requests to a server that loads models on demand.
pub(crate) struct App {
    pub options: ServerOptions,
    model: OnceLock<Arc<ServedModel>>,
    /// Models that are loaded when requests name them.
    pool: Option<Arc<ModelPool>>,
    pub metrics: Metrics,
    /// With an endpoint for them.
    pub traces: Option<Arc<Traces>>,
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
    pub fn new(options: ServerOptions, traces: Option<Arc<Traces>>) -> Self {
        Self {
            model: OnceLock::new(),
            pool: None,
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

    /// The state of a server that loads models on demand.
    pub fn on_demand(options: ServerOptions, traces: Option<Arc<Traces>>, pool: ModelPool) -> Self {
        Self { pool: Some(Arc::new(pool)), ..Self::new(options, traces) }
    }

    /// The state of requests to one model of a server that loads models on demand. Stored responses and limits are shared by all
    /// models.
    pub fn of_loaded(&self, model: ServedModel) -> Self {
        let app = Self {
            responses: Arc::clone(&self.responses),
            preparation: Arc::clone(&self.preparation),
            ..Self::new(self.options.clone(), self.traces.clone())
        };
        app.publish(model);
        app
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
        match name.filter(|name| !name.is_empty()) {
            Some(name) if !model.info.accepts_name(name) => {
                Err(model_not_found(&[Arc::clone(&model.info)], name))
            }
            _ => Ok(model),
        }
    }

    /// The models that requests may name.
    ///
    /// **Errors**: 500 if the models on disk cannot be listed, 503 before the only model is loaded.
    pub async fn listed(&self) -> Result<Vec<Arc<ModelInfo>>, ApiError> {
        match &self.pool {
            Some(pool) => pool.listed().await,
            None => Ok(vec![Arc::clone(&self.model()?.info)]),
        }
    }

    /// The model that is listed under this name.
    ///
    /// **Errors**: 404 for another name; as [`listed`](Self::listed).
    pub async fn listed_model(&self, name: &str) -> Result<Arc<ModelInfo>, ApiError> {
        let listed = self.listed().await?;
        let found = listed.iter().find(|info| info.has_name(name)).cloned();
        found.ok_or_else(|| model_not_found(&listed, name))
    }

    /// The model that requests with this name are about, which need not be loaded.
    ///
    /// **Errors**: 404 for a name that no model accepts; as [`listed`](Self::listed).
    pub async fn described_model(&self, name: &str) -> Result<Arc<ModelInfo>, ApiError> {
        let listed = self.listed().await?;
        let found = listed.iter().find(|info| info.accepts_name(name)).cloned();
        found.ok_or_else(|| model_not_found(&listed, name))
    }

    /// The model of requests without a name.
    ///
    /// **Errors**: 400 if there are several; as [`listed`](Self::listed).
    pub async fn only_model(&self) -> Result<Arc<ModelInfo>, ApiError> {
        match &self.listed().await?[..] {
            [only] => Ok(Arc::clone(only)),
            listed => {
                let message = format!("model is missing; this server has {}", names(listed));
                Err(ApiError::invalid("model", message))
            }
        }
    }

    /// The model that is listed under this name, or the only one.
    ///
    /// **Errors**: as [`listed_model`](Self::listed_model) and [`only_model`](Self::only_model).
    pub async fn listed_or_only(&self, name: Option<&str>) -> Result<Arc<ModelInfo>, ApiError> {
        match name {
            Some(name) => self.listed_model(name).await,
            None => self.only_model().await,
        }
    }

    /// The models in memory.
    ///
    /// **Errors**: 503 before the only model is loaded.
    pub fn running(&self) -> Result<Vec<Arc<ServedModel>>, ApiError> {
        match &self.pool {
            Some(pool) => Ok(pool.running()),
            None => Ok(vec![self.model()?]),
        }
    }

    pub fn pool(&self) -> Option<&Arc<ModelPool>> {
        self.pool.as_ref()
    }

    pub fn loaded(&self) -> Option<&Arc<ServedModel>> {
        self.model.get()
    }

    pub fn readiness(&self) -> Readiness {
        match self.loaded() {
            _ if self.is_draining.load(Ordering::Relaxed) => Readiness::Draining,
            None if self.pool.is_some() => Readiness::Ready,
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
        for model in self.running().unwrap_or_default() {
            model.handle.drain();
        }
        if let Some(pool) = &self.pool {
            pool.notice_drain();
        }
    }

    /// Counts an HTTP request until the guard and its clones are dropped.
    pub fn begin_request(self: &Arc<Self>) -> InFlight {
        self.num_in_flight.send_modify(|count| *count += 1);
        InFlight { counted: Arc::new(Counted { app: Arc::clone(self) }) }
    }

    /// Waits until no request is left.
    pub async fn idle(&self) {
        if let Some(pool) = &self.pool {
            return pool.idle().await;
        }
        let mut counts = self.num_in_flight.subscribe();
        // The sender lives as long as self does.
        let _ = counts.wait_for(|&count| count == 0).await;
    }

    pub fn num_in_flight(&self) -> usize {
        match &self.pool {
            Some(pool) => pool.num_in_flight(),
            None => *self.num_in_flight.borrow(),
        }
    }

    /// Unloads all models. Requests that still run fail, with an error in their streams.
    pub async fn stop(&self) {
        if let Some(pool) = &self.pool {
            return pool.stop().await;
        }
        if let Some(model) = self.loaded().cloned()
            && let Err(error) = tokio::task::spawn_blocking(move || model.stop()).await
        {
            tracing::error!(%error, "the engine did not stop cleanly");
        }
    }
}

/// The error of a name that no model has.
pub(crate) fn model_not_found(known: &[Arc<ModelInfo>], name: &str) -> ApiError {
    let name = shortened(name);
    let message = format!("model {name:?} not found; this server has {}", names(known));
    let mut error = ApiError::new(StatusCode::NOT_FOUND, message);
    error.param = Some("model".to_owned());
    error.with_code("model_not_found")
}

/// The names of models, for messages.
pub(crate) fn names(models: &[Arc<ModelInfo>]) -> String {
    let names: Vec<_> = models.iter().flat_map(|info| &info.names).map(String::as_str).collect();
    match names.is_empty() {
        true => "no models".to_owned(),
        false => names.join(", "),
    }
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
