//! The loaded models.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, Notify};

use super::{ModelCatalog, OnDemandOptions};
use crate::errors::ApiError;
use crate::router::model_router;
use crate::state::{App, Readiness};
use crate::{ModelInfo, ServedModel};

/// Interval at which models that have not been used are looked for.
const IDLE_CHECK: Duration = Duration::from_secs(1);

/// The models of a server that loads them on demand.
pub(crate) struct ModelPool {
    catalog: Arc<dyn ModelCatalog>,
    options: OnDemandOptions,
    loaded: Mutex<Vec<Loaded>>,
    /// Held while models are loaded or unloaded: one at a time.
    changing: AsyncMutex<()>,
    /// A model has no more requests.
    released: Notify,
}

/// A loaded model.
struct Loaded {
    app: Arc<App>,
    model: Arc<ServedModel>,
    router: Router,
    num_requests: usize,
    /// When the last request ended.
    last_used: Instant,
    /// Time without a request after which it is unloaded.
    idle_timeout: Option<Duration>,
}

/// A loaded model in use: it stays loaded until this is dropped.
pub(crate) struct Lease {
    pool: Arc<ModelPool>,
    model: Arc<ServedModel>,
    /// The endpoints of the model.
    pub router: Router,
    /// Changes the time without a request after which the model is unloaded; `None` within it sets no limit.
    pub idle_timeout: Option<Option<Duration>>,
}

impl Loaded {
    /// Whether it can answer no more requests.
    fn has_failed(&self) -> bool {
        matches!(self.app.readiness(), Readiness::Dead | Readiness::ModelFileChanged)
    }

    /// The time until it is unloaded if no request comes.
    fn time_left(&self) -> Option<Duration> {
        let timeout = self.idle_timeout?;
        Some(match self.num_requests {
            0 => timeout.saturating_sub(self.last_used.elapsed()),
            _ => timeout,
        })
    }

    fn is_idle_for_too_long(&self) -> bool {
        self.num_requests == 0 && self.time_left().is_some_and(|left| left.is_zero())
    }
}

impl ModelPool {
    pub fn new(catalog: Arc<dyn ModelCatalog>, options: OnDemandOptions) -> Self {
        let options = OnDemandOptions { max_num_loaded: options.max_num_loaded.max(1), ..options };
        Self {
            catalog,
            options,
            loaded: Mutex::default(),
            changing: AsyncMutex::default(),
            released: Notify::new(),
        }
    }

    /// The models that requests may name. More is known of loaded ones.
    ///
    /// **Errors**: 500 if they cannot be listed.
    pub async fn listed(&self) -> Result<Vec<Arc<ModelInfo>>, ApiError> {
        let catalog = Arc::clone(&self.catalog);
        let listed = tokio::task::spawn_blocking(move || catalog.models()).await;
        let listed = listed.unwrap_or_else(|error| Err(error.into()));
        let mut listed = listed
            .map_err(|error| ApiError::internal(format!("failed to list the models: {error}")))?;
        for model in self.running() {
            if let Some(info) = listed.iter_mut().find(|info| info.name() == model.info.name()) {
                *info = Arc::clone(&model.info);
            }
        }
        Ok(listed)
    }

    /// The loaded models.
    pub fn running(&self) -> Vec<Arc<ServedModel>> {
        self.loaded.lock().iter().map(|loaded| Arc::clone(&loaded.model)).collect()
    }

    /// The states of the loaded models.
    pub fn apps(&self) -> Vec<Arc<App>> {
        self.loaded.lock().iter().map(|loaded| Arc::clone(&loaded.app)).collect()
    }

    /// The model with this name, or the only one; loads it first if necessary. `front` is the state of the server.
    ///
    /// **Errors**: 404 for an unknown name; 400 without a name if there are several models; 503 if too many models are in use;
    /// 500 if it cannot be loaded.
    pub async fn acquire(
        self: &Arc<Self>,
        front: &Arc<App>,
        name: Option<&str>,
    ) -> Result<Lease, ApiError> {
        let info = match name {
            Some(name) => match self.lease(|info| info.has_name(name)) {
                Some(lease) => return Ok(lease),
                None => front.listed_model(name).await?,
            },
            None => front.only_model().await?,
        };
        // In a task of its own: a client that disconnects does not stop it halfway.
        let (pool, front) = (Arc::clone(self), Arc::clone(front));
        let loading = tokio::spawn(async move { pool.load(&front, &info).await });
        loading.await.unwrap_or_else(|error| Err(ApiError::internal(error.to_string())))
    }

    /// Loads a model, unless it has been loaded in the meantime.
    async fn load(
        self: &Arc<Self>,
        front: &Arc<App>,
        info: &Arc<ModelInfo>,
    ) -> Result<Lease, ApiError> {
        let _changing = self.changing.lock().await;
        let is_this = |known: &ModelInfo| known.name() == info.name();
        if let Some(lease) = self.lease(is_this) {
            return Ok(lease);
        }
        self.unload_all(Loaded::has_failed).await;
        self.make_room(front.options.limits.preparation_timeout).await?;
        let model = match self.load_once(info).await {
            Err(error) if self.unload_all(|loaded| loaded.num_requests == 0).await > 0 => {
                tracing::info!(model = info.name(), %error, "loading again without other models");
                self.load_once(info).await
            }
            result => result,
        };
        let model = model.map_err(|error| {
            tracing::error!(model = info.name(), %error, "failed to load a model");
            let message = format!("failed to load the model {:?}: {error}", info.name());
            ApiError::internal(message).with_code("model_load_failed")
        })?;
        let app = Arc::new(front.of_loaded(model));
        let model = app.model()?;
        if front.readiness() == Readiness::Draining {
            app.drain();
        }
        let kv_dtype = model.handle.kv_dtype();
        tracing::info!(model = info.name(), %kv_dtype, "loaded");
        let router = model_router(Arc::clone(&app));
        let loaded = Loaded {
            app,
            model,
            router,
            num_requests: 0,
            last_used: Instant::now(),
            idle_timeout: self.options.idle_timeout,
        };
        self.loaded.lock().push(loaded);
        self.lease(is_this).ok_or_else(|| ApiError::internal("the model was unloaded at once"))
    }

    /// Uses a loaded model that can answer, if there is one.
    fn lease(self: &Arc<Self>, is_wanted: impl Fn(&ModelInfo) -> bool) -> Option<Lease> {
        let mut loaded = self.loaded.lock();
        let found = loaded.iter_mut().find(|it| is_wanted(&it.model.info))?;
        if found.has_failed() {
            return None;
        }
        found.num_requests += 1;
        let (model, router) = (Arc::clone(&found.model), found.router.clone());
        Some(Lease { pool: Arc::clone(self), model, router, idle_timeout: None })
    }

    async fn load_once(
        &self,
        info: &Arc<ModelInfo>,
    ) -> Result<ServedModel, Box<dyn std::error::Error + Send + Sync>> {
        let (catalog, info) = (Arc::clone(&self.catalog), Arc::clone(info));
        let loading = tokio::task::spawn_blocking(move || catalog.load(&info));
        loading.await.unwrap_or_else(|_| Err("loading panicked".into()))
    }

    /// Unloads models until there is a place for another one: first those whose last request ended first. Waits for requests
    /// that run.
    ///
    /// **Errors**: 503 if all models are still in use after `timeout`.
    async fn make_room(self: &Arc<Self>, timeout: Duration) -> Result<(), ApiError> {
        let made = tokio::time::timeout(timeout, async {
            loop {
                let released = self.released.notified();
                if self.loaded.lock().len() < self.options.max_num_loaded {
                    return;
                }
                let oldest = {
                    let loaded = self.loaded.lock();
                    let idle = loaded.iter().filter(|it| it.num_requests == 0);
                    idle.min_by_key(|it| it.last_used).map(|it| Arc::clone(&it.model))
                };
                match oldest {
                    Some(model) => {
                        let is_idle =
                            |it: &Loaded| it.num_requests == 0 && Arc::ptr_eq(&it.model, &model);
                        self.unload_all(is_idle).await;
                    }
                    None => released.await,
                }
            }
        });
        made.await.map_err(|_| {
            let message = format!(
                "the {} models that may be loaded at once are in use; try again later",
                self.options.max_num_loaded
            );
            ApiError::overloaded(message)
        })
    }

    /// Unloads the models of a kind, and returns their number.
    async fn unload_all(&self, is_unwanted: impl Fn(&Loaded) -> bool) -> usize {
        let unwanted: Vec<Loaded> =
            self.loaded.lock().extract_if(.., |it| is_unwanted(it)).collect();
        let num_unwanted = unwanted.len();
        for loaded in unwanted {
            let name = loaded.model.info.name().to_owned();
            let stopped = tokio::task::spawn_blocking(move || {
                loaded.model.stop();
                drop(loaded);
            });
            match stopped.await {
                Ok(()) => tracing::info!(model = name, "unloaded"),
                Err(error) => tracing::error!(model = name, %error, "failed to unload a model"),
            }
        }
        num_unwanted
    }

    /// Unloads models that have not been used for their time, for as long as it is awaited.
    pub async fn unload_idle(self: Arc<Self>) {
        loop {
            tokio::time::sleep(IDLE_CHECK).await;
            if self.loaded.lock().iter().any(Loaded::is_idle_for_too_long) {
                let _changing = self.changing.lock().await;
                self.unload_all(Loaded::is_idle_for_too_long).await;
            }
        }
    }

    /// The time after which a loaded model is unloaded unless it is used.
    pub fn time_left(&self, model: &Arc<ServedModel>) -> Option<Duration> {
        let loaded = self.loaded.lock();
        loaded.iter().find(|it| Arc::ptr_eq(&it.model, model))?.time_left()
    }

    /// Waits until no request is left.
    pub async fn idle(&self) {
        loop {
            let released = self.released.notified();
            if self.loaded.lock().iter().all(|it| it.num_requests == 0) {
                return;
            }
            released.await;
        }
    }

    /// The number of requests that models answer.
    pub fn num_in_flight(&self) -> usize {
        self.loaded.lock().iter().map(|loaded| loaded.num_requests).sum()
    }

    /// Unloads all models; requests that still run fail.
    pub async fn stop(&self) {
        let _changing = self.changing.lock().await;
        self.unload_all(|_| true).await;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut loaded = self.pool.loaded.lock();
        if let Some(found) = loaded.iter_mut().find(|it| Arc::ptr_eq(&it.model, &self.model)) {
            found.num_requests -= 1;
            found.last_used = Instant::now();
            found.idle_timeout = self.idle_timeout.unwrap_or(found.idle_timeout);
        }
        drop(loaded);
        self.pool.released.notify_waiters();
    }
}
