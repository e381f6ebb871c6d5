//! The loaded models.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, Notify, OwnedMutexGuard};

use super::{ModelCatalog, ModelLoadError, OnDemandOptions};
use crate::errors::ApiError;
use crate::router::model_router;
use crate::state::{App, Readiness};
use crate::{ModelInfo, ServedModel};

/// Interval at which models that have not been used are looked for.
const IDLE_CHECK: Duration = Duration::from_secs(1);
/// The longest time that a request waits until its model can be loaded.
const MAX_WAIT: Duration = Duration::from_secs(300);

/// The models of a server that loads them on demand.
pub(crate) struct ModelPool {
    catalog: Arc<dyn ModelCatalog>,
    options: OnDemandOptions,
    loaded: Mutex<Vec<Loaded>>,
    /// Held while models are loaded or unloaded: one at a time.
    changing: Arc<AsyncMutex<()>>,
    /// Requests that wait for a model.
    num_waiting: AtomicUsize,
    /// A request has ended.
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

/// Where a model can be loaded.
enum Place {
    /// It has been loaded in the meantime.
    Loaded(Lease),
    /// There is room for it, and nothing else is loaded or unloaded.
    Free(OwnedMutexGuard<()>),
}

/// Counts a request that waits for a model until it is dropped.
struct Waiting(Arc<ModelPool>);

impl Waiting {
    fn begin(pool: &Arc<ModelPool>) -> Self {
        pool.num_waiting.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(pool))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.num_waiting.fetch_sub(1, Ordering::Relaxed);
        self.0.released.notify_waiters();
    }
}

impl Loaded {
    fn is_idle(&self) -> bool {
        self.num_requests == 0
    }

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
        self.is_idle() && self.time_left().is_some_and(|left| left.is_zero())
    }
}

impl ModelPool {
    pub fn new(catalog: Arc<dyn ModelCatalog>, options: OnDemandOptions) -> Self {
        let options = OnDemandOptions { max_num_loaded: options.max_num_loaded.max(1), ..options };
        Self {
            catalog,
            options,
            loaded: Mutex::default(),
            changing: Arc::default(),
            num_waiting: AtomicUsize::new(0),
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

    /// The model with this name, or the only one, if it is loaded. `front` is the state of the server.
    ///
    /// **Errors**: 404 for an unknown name, 400 for a model that is not loaded, or without a name if there are several.
    pub async fn acquire_loaded(
        self: &Arc<Self>,
        front: &App,
        name: Option<&str>,
    ) -> Result<Lease, ApiError> {
        if let Some(lease) = self.lease_named(name) {
            return Ok(lease);
        }
        let info = front.listed_or_only(name).await?;
        self.lease(|known| known.name() == info.name()).ok_or_else(|| {
            let message = format!(
                "the model {:?} is not loaded; a request that uses it loads it, such as one to /v1/chat/completions",
                info.name()
            );
            ApiError::invalid("model", message)
        })
    }

    /// The model with this name, or the only one; loads it first if necessary.
    ///
    /// **Errors**: as [`acquire_loaded`](Self::acquire_loaded); 503 if too many models are in use, or the server stops; 500 if it
    /// cannot be loaded.
    pub async fn acquire(
        self: &Arc<Self>,
        front: &Arc<App>,
        name: Option<&str>,
    ) -> Result<Lease, ApiError> {
        if let Some(lease) = self.lease_named(name) {
            return Ok(lease);
        }
        let info = front.listed_or_only(name).await?;
        let _waiting = Waiting::begin(self);
        let limit = front.options.limits.request_timeout.unwrap_or(MAX_WAIT).min(MAX_WAIT);
        let place = tokio::time::timeout(limit, self.place_for(front, &info)).await;
        let place = place.map_err(|_| {
            let message = format!(
                "the {} models that may be loaded at once are in use; try again later",
                self.options.max_num_loaded
            );
            ApiError::overloaded(message)
        })??;
        let changing = match place {
            Place::Loaded(lease) => return Ok(lease),
            Place::Free(changing) => changing,
        };
        // In a task of its own: a client that disconnects does not stop it halfway.
        let (pool, front) = (Arc::clone(self), Arc::clone(front));
        let loading = tokio::spawn(async move {
            let loaded = pool.load(&front, &info).await;
            drop(changing);
            loaded
        });
        loading.await.unwrap_or_else(|error| Err(ApiError::internal(error.to_string())))
    }

    /// Waits until no other model is loaded or unloaded, and unloads models until there is a place for this one: first those
    /// whose last request ended first.
    ///
    /// **Errors**: 503 if the server stops.
    async fn place_for(self: &Arc<Self>, front: &App, info: &ModelInfo) -> Result<Place, ApiError> {
        let changing = Arc::clone(&self.changing).lock_owned().await;
        loop {
            let released = self.released.notified();
            if front.readiness() == Readiness::Draining {
                return Err(ApiError::shutting_down());
            }
            if let Some(lease) = self.lease(|known| known.name() == info.name()) {
                return Ok(Place::Loaded(lease));
            }
            self.unload_all(Loaded::has_failed).await;
            if self.loaded.lock().len() < self.options.max_num_loaded {
                return Ok(Place::Free(changing));
            }
            let oldest = {
                let loaded = self.loaded.lock();
                let idle = loaded.iter().filter(|it| it.is_idle());
                idle.min_by_key(|it| it.last_used).map(|it| Arc::clone(&it.model))
            };
            match oldest {
                Some(model) => {
                    let is_it = |it: &Loaded| it.is_idle() && Arc::ptr_eq(&it.model, &model);
                    self.unload_all(is_it).await;
                }
                None => released.await,
            }
        }
    }

    /// Loads a model for which there is a place.
    async fn load(
        self: &Arc<Self>,
        front: &Arc<App>,
        info: &Arc<ModelInfo>,
    ) -> Result<Lease, ApiError> {
        let model = match self.load_once(info).await {
            Err(ModelLoadError::NoMemory(error)) if self.unload_all(Loaded::is_idle).await > 0 => {
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
        if front.readiness() == Readiness::Draining {
            return Err(ApiError::shutting_down());
        }
        let lease = self.lease(|known| known.name() == info.name());
        lease.ok_or_else(|| ApiError::internal("the model was unloaded at once"))
    }

    /// Uses the loaded model with this name, without listing those on disk.
    fn lease_named(self: &Arc<Self>, name: Option<&str>) -> Option<Lease> {
        self.lease(|info| name.is_some_and(|name| info.has_name(name)))
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

    async fn load_once(&self, info: &Arc<ModelInfo>) -> Result<ServedModel, ModelLoadError> {
        let (catalog, info) = (Arc::clone(&self.catalog), Arc::clone(info));
        let is_alone = self.loaded.lock().is_empty();
        let loading = tokio::task::spawn_blocking(move || catalog.load(&info, is_alone));
        loading.await.unwrap_or_else(|_| Err(ModelLoadError::Other("loading panicked".into())))
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

    /// Lets requests that wait for a place notice that the server stops.
    pub fn notice_drain(&self) {
        self.released.notify_waiters();
    }

    /// Unloads a model as soon as it is not used any more, if it is loaded.
    pub fn unload_when_idle(&self, name: &str) {
        let mut loaded = self.loaded.lock();
        for found in loaded.iter_mut().filter(|it| it.model.info.has_name(name)) {
            found.idle_timeout = Some(Duration::ZERO);
        }
    }

    /// Waits until no request is left.
    pub async fn idle(&self) {
        loop {
            let released = self.released.notified();
            if self.num_in_flight() == 0 {
                return;
            }
            released.await;
        }
    }

    /// The number of requests that models answer, and of those that wait for a model.
    pub fn num_in_flight(&self) -> usize {
        let num_answered: usize = self.loaded.lock().iter().map(|it| it.num_requests).sum();
        num_answered + self.num_waiting.load(Ordering::Relaxed)
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
