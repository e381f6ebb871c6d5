//! Listening, serving connections, and graceful shutdown.

mod connection;
mod signals;
mod tls;

use std::error::Error as StdError;
use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::cache_events::CacheEventPublisher;
use crate::on_demand::ModelPool;
use crate::operation::logs;
use crate::operation::traces::Traces;
use crate::request::PREPARATION_STACK_BYTES;
use crate::router::router;
use crate::state::App;
use crate::{ModelCatalog, OnDemandOptions, ServedModel, ServerError, ServerOptions};
use connection::Connections;

/// Time that connections may take to close once their requests have finished.
const CLOSING_TIMEOUT: Duration = Duration::from_secs(2);
/// Threads for HTTP; the other cores are for the model.
const NUM_HTTP_THREADS: usize = 2;

/// A listening server.
///
/// ```no_run
/// use inferno_server::{ServedModel, Server, ServerOptions};
///
/// # use inferno_server::ServerError;
/// # type Load = fn() -> Result<ServedModel, std::io::Error>;
/// fn serve(load: Load) -> Result<(), ServerError> {
///     let server = Server::bind(ServerOptions::default())?;
///     println!("listening on {}", server.address());
///     // Answers /health at once, and everything else when the model is loaded; stops on SIGTERM.
///     server.run(load)
/// }
/// ```
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    options: ServerOptions,
}

impl Server {
    /// Binds the address.
    ///
    /// **Errors**: as [`ServerOptions::check`]; an address that cannot be bound, invalid TLS files.
    pub fn bind(options: ServerOptions) -> Result<Self, ServerError> {
        options.check()?;
        let tls = options.tls.as_ref().map(tls::acceptor).transpose()?;
        let bind = || {
            let listener = TcpListener::bind(options.address)?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let (listener, address) =
            bind().map_err(|source| ServerError::Bind { address: options.address, source })?;
        Ok(Self { listener, address, tls, options })
    }

    /// The bound address, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Loads the model on a separate thread and serves it until SIGTERM or Ctrl-C, then lets running requests finish, up to the
    /// drain timeout. A second signal aborts them.
    ///
    /// **Errors**: those of `load`; an invalid endpoint of traces; no threads or sockets available.
    pub fn run<E>(
        self,
        load: impl FnOnce() -> Result<ServedModel, E> + Send + 'static,
    ) -> Result<(), ServerError>
    where
        E: Into<Box<dyn StdError + Send + Sync>> + Send + 'static,
    {
        self.run_until(load, signals::next)
    }

    /// As [`run`](Self::run), but stops when the future returned by `stop` is ready, instead of at a signal; a second future
    /// aborts the drain.
    ///
    /// **Errors**: as [`run`](Self::run).
    pub fn run_until<E, F>(
        self,
        load: impl FnOnce() -> Result<ServedModel, E> + Send + 'static,
        stop: impl Fn() -> F,
    ) -> Result<(), ServerError>
    where
        E: Into<Box<dyn StdError + Send + Sync>> + Send + 'static,
        F: Future<Output = ()>,
    {
        let app = App::new(self.options.clone(), self.traces()?);
        self.run_app(app, Some(load), stop)
    }

    /// Loads models when requests name them, and serves until SIGTERM or Ctrl-C; then as [`run`](Self::run).
    ///
    /// **Errors**: an invalid endpoint of traces; no threads or sockets available.
    pub fn run_on_demand(
        self,
        catalog: Arc<dyn ModelCatalog>,
        options: OnDemandOptions,
    ) -> Result<(), ServerError> {
        self.run_on_demand_until(catalog, options, signals::next)
    }

    /// As [`run_on_demand`](Self::run_on_demand), but stops as [`run_until`](Self::run_until).
    ///
    /// **Errors**: as [`run_on_demand`](Self::run_on_demand).
    pub fn run_on_demand_until<F: Future<Output = ()>>(
        self,
        catalog: Arc<dyn ModelCatalog>,
        options: OnDemandOptions,
        stop: impl Fn() -> F,
    ) -> Result<(), ServerError> {
        let pool = ModelPool::new(catalog, options);
        let app = App::on_demand(self.options.clone(), self.traces()?, pool);
        self.run_app(app, None::<fn() -> Result<ServedModel, ServerError>>, stop)
    }

    /// Starts to send traces, if there is an endpoint for them.
    fn traces(&self) -> Result<Option<Arc<Traces>>, ServerError> {
        Ok(self.options.otlp_endpoint.as_deref().map(Traces::start).transpose()?.map(Arc::new))
    }

    fn run_app<E, F>(
        self,
        app: App,
        load: Option<impl FnOnce() -> Result<ServedModel, E> + Send + 'static>,
        stop: impl Fn() -> F,
    ) -> Result<(), ServerError>
    where
        E: Into<Box<dyn StdError + Send + Sync>> + Send + 'static,
        F: Future<Output = ()>,
    {
        let runtime = runtime()?;
        let app = Arc::new(app);
        let result = runtime.block_on(self.serve(&app, load, stop));
        runtime.shutdown_timeout(CLOSING_TIMEOUT);
        if let Some(traces) = &app.traces {
            traces.flush(CLOSING_TIMEOUT);
        }
        logs::flush();
        result
    }

    /// Loads a model, or all models on demand, and serves until `stop`.
    async fn serve<E, F>(
        self,
        app: &Arc<App>,
        load: Option<impl FnOnce() -> Result<ServedModel, E> + Send + 'static>,
        stop: impl Fn() -> F,
    ) -> Result<(), ServerError>
    where
        E: Into<Box<dyn StdError + Send + Sync>> + Send + 'static,
        F: Future<Output = ()>,
    {
        let listener =
            tokio::net::TcpListener::from_std(self.listener).map_err(ServerError::Runtime)?;
        let publisher = CacheEventPublisher::bind(&self.options.cache_events).await?;
        let (closing, is_closing) = watch::channel(false);
        let connections = Arc::new(Connections::new(
            router(Arc::clone(app)),
            self.tls,
            self.options.limits,
            is_closing,
        ));
        let accepting = tokio::spawn(Arc::clone(&connections).accept(listener));

        let mut background = JoinSet::new();
        // One future for both waits: between two, a signal would be lost.
        let mut stopped = pin!(stop());
        if let Some(load) = load {
            tokio::select! {
                result = load_model(load)? => {
                    let model = result.unwrap_or_else(|_| Err("the loading thread panicked".into()));
                    let model = model.map_err(ServerError::Load)?;
                    let kv_dtype = model.handle.kv_dtype();
                    tracing::info!(address = %self.address, model = model.info.name(), %kv_dtype, "ready");
                    if let Some(publisher) = publisher {
                        background = publisher.start(&model.handle);
                    }
                    app.publish(model);
                }
                () = &mut stopped => {
                    tracing::info!("stopped while loading");
                    return Ok(());
                }
            }
        } else if let Some(pool) = app.pool() {
            background.spawn(Arc::clone(pool).unload_idle());
            tracing::info!(address = %self.address, "ready");
        }

        stopped.await;
        drain(app, self.options.drain_timeout, &stop).await;
        let _ = closing.send(true);
        connections.closed(CLOSING_TIMEOUT).await;
        accepting.abort();
        background.shutdown().await;
        tracing::info!("stopped");
        Ok(())
    }
}

/// Starts the threads that run requests.
///
/// **Errors**: [`ServerError::Runtime`].
pub(crate) fn runtime() -> Result<Runtime, ServerError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(NUM_HTTP_THREADS)
        .thread_name("inferno-http")
        .thread_stack_size(PREPARATION_STACK_BYTES)
        .enable_all()
        .build()
        .map_err(ServerError::Runtime)
}

type LoadResult = Result<ServedModel, Box<dyn StdError + Send + Sync>>;

/// Loads the model on a separate thread.
///
/// **Errors**: no thread available.
fn load_model<E>(
    load: impl FnOnce() -> Result<ServedModel, E> + Send + 'static,
) -> Result<oneshot::Receiver<LoadResult>, ServerError>
where
    E: Into<Box<dyn StdError + Send + Sync>> + Send + 'static,
{
    let (sender, loaded) = oneshot::channel();
    std::thread::Builder::new()
        .name("inferno-load".to_owned())
        .spawn(move || {
            // The receiver is gone if the server was stopped in the meantime.
            let _ = sender.send(load().map_err(Into::into));
        })
        .map_err(ServerError::Runtime)?;
    Ok(loaded)
}

/// Lets running requests finish, until the timeout or until a future of `stop` is ready; then stops all models, for which
/// another future of `stop` does not wait.
async fn drain<F: Future<Output = ()>>(app: &Arc<App>, timeout: Duration, stop: impl Fn() -> F) {
    tracing::info!(running = app.num_in_flight(), ?timeout, "draining");
    app.drain();
    tokio::select! {
        () = app.idle() => {}
        () = tokio::time::sleep(timeout) => {
            tracing::warn!(running = app.num_in_flight(), "drain timeout reached");
        }
        () = stop() => tracing::warn!(running = app.num_in_flight(), "drain aborted"),
    }
    tokio::select! {
        () = app.stop() => {}
        () = stop() => tracing::warn!("stopped while a model was loaded or unloaded"),
    }
}
