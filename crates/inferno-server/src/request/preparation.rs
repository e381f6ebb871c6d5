//! The preparation of requests: everything between the first byte of a body and the engine.
//!
//! Parsing, rendering templates, encoding and compiling grammars take time, memory and stack that a request chooses. All of it
//! passes through one stage, which bounds:
//!
//! - **time**: from a request's arrival to the engine at most [`Limits::preparation_timeout`], or `--request-timeout` if that is
//!   shorter. Work that is running cannot be interrupted; it occupies its thread until its own limits end it.
//! - **concurrency**: [`NUM_THREADS`] pieces of work at once and [`Limits::max_num_preparing`] waiting; further ones are answered 503.
//! - **memory**: bodies and what they are parsed into, over all requests ([`Reservations`]). What does not fit waits.
//! - **stack**: [`PREPARATION_STACK_BYTES`] for each thread.
//!
//! A client that disconnects drops its place in all queues.

mod json_size;
mod memory;

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tokio::sync::Semaphore;
use tracing::Span;

use super::origin::RequestOrigin;
use crate::Limits;
use crate::errors::ApiError;
use crate::fields::UnknownFields;
pub(crate) use json_size::parsed_bytes;
pub(super) use memory::UNRESERVED_BYTES;
use memory::{Reservations, ReservedBytes};

/// Stack of each thread that prepares requests; the system commits only what is used. Grammars at the bounds of the compiler
/// take less than a quarter of it.
pub(crate) const PREPARATION_STACK_BYTES: usize = 256 << 20;
const _: () = assert!(PREPARATION_STACK_BYTES >= inferno_chat::GRAMMAR_STACK_BYTES);
/// Pieces of work that run at once.
const NUM_THREADS: usize = 4;

/// What all requests in preparation share.
pub(crate) struct PreparationStage {
    threads: Arc<Semaphore>,
    /// One for each piece of work that runs or waits.
    places: Arc<Semaphore>,
    reservations: Reservations,
    timeout: Duration,
}

/// One request in preparation; dropping it returns what it has reserved.
pub(crate) struct Preparation {
    stage: Arc<PreparationStage>,
    arrived: Instant,
    /// Collects what the preparation ignores.
    pub unknown: UnknownFields,
    body: Option<ReservedBytes>,
    parsed: Option<ReservedBytes>,
    stored: Option<ReservedBytes>,
}

impl PreparationStage {
    pub fn new(limits: &Limits) -> Self {
        let timeout = limits.preparation_timeout;
        let num_places = limits.max_num_preparing.saturating_add(NUM_THREADS);
        Self {
            threads: Arc::new(Semaphore::new(NUM_THREADS)),
            places: Arc::new(Semaphore::new(num_places.min(Semaphore::MAX_PERMITS))),
            reservations: Reservations::new(limits.max_body_bytes),
            timeout: limits.request_timeout.unwrap_or(timeout).min(timeout),
        }
    }

    /// Begins the preparation of a request that arrives now.
    pub fn begin(self: &Arc<Self>) -> Preparation {
        Preparation {
            stage: Arc::clone(self),
            arrived: Instant::now(),
            unknown: UnknownFields::default(),
            body: None,
            parsed: None,
            stored: None,
        }
    }
}

impl Preparation {
    /// When the request arrived.
    pub fn arrived(&self) -> Instant {
        self.arrived
    }

    /// Runs work on a thread of the stage, when one is free.
    ///
    /// **Errors**: those of the work; 503 if too many wait or the time is over; 500 if the work panics.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let place = Arc::clone(&self.stage.places).try_acquire_owned();
        let place = place.map_err(|_| {
            ApiError::overloaded("too many requests are being prepared; try again in a moment")
        })?;
        let threads = Arc::clone(&self.stage.threads);
        // Log lines of the work contain the id of the request, and so do the spans of what it submits.
        let (span, origin) = (Span::current(), RequestOrigin::current());
        let done = async {
            let thread = threads.acquire_owned().await;
            // Abandoned work occupies its place and its thread until it ends.
            let done = tokio::task::spawn_blocking(move || {
                let _held = (place, thread);
                origin.sync_scope(|| span.in_scope(work))
            });
            done.await.map_err(|error| ApiError::internal(error.to_string()))?
        };
        self.in_time(done).await
    }

    /// Reserves memory for a body of at most this many bytes.
    ///
    /// **Errors**: 503 if it is not available in time.
    pub async fn reserve_body(&mut self, num_bytes: usize) -> Result<(), ApiError> {
        let reservation = self.stage.reservations.body(num_bytes);
        self.body = self.in_time(async { Ok(reservation.await) }).await?;
        Ok(())
    }

    /// Returns the memory of the body, which has been parsed.
    pub fn release_body(&mut self) {
        self.body = None;
    }

    /// Reserves memory for what a body is parsed into.
    ///
    /// **Errors**: 413 if it is more than one request may use, 503 if it is not available in time.
    pub async fn reserve_parsed(&mut self, num_bytes: usize) -> Result<(), ApiError> {
        let reservation = self.stage.reservations.parsed(num_bytes)?;
        self.parsed = self.in_time(async { Ok(reservation.await) }).await?;
        Ok(())
    }

    /// Reserves memory for stored JSON that is parsed again. It does not wait, as the request may hold memory already that
    /// others wait for.
    ///
    /// **Errors**: 413 if it is more than one request may use, 503 if it is not available.
    pub fn reserve_stored(&mut self, num_bytes: usize) -> Result<(), ApiError> {
        let reservation = self.stage.reservations.parsed(num_bytes)?.now_or_never();
        let message = "too much memory is in use for other requests; try again in a moment";
        self.stored = reservation.ok_or_else(|| ApiError::overloaded(message))?;
        Ok(())
    }

    async fn in_time<T>(
        &self,
        future: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let left = self.stage.timeout.saturating_sub(self.arrived.elapsed());
        let done = tokio::time::timeout(left, future).await;
        done.unwrap_or_else(|_| {
            let message = format!(
                "the request could not be prepared within {:?}; simplify it, or try again later",
                self.stage.timeout
            );
            Err(ApiError::overloaded(message))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;

    use super::*;

    fn num_places() -> usize {
        NUM_THREADS + Limits::default().max_num_preparing
    }

    fn stage(limits: &Limits) -> Arc<PreparationStage> {
        Arc::new(PreparationStage::new(limits))
    }

    /// Fills all threads with work that ends when the channel closes, and lets as much wait as may.
    async fn fill(stage: &Arc<PreparationStage>) -> std::sync::mpsc::Sender<()> {
        let (hold, held) = channel::<()>();
        let held = Arc::new(std::sync::Mutex::new(held));
        for _ in 0..num_places() {
            let (preparation, held) = (stage.begin(), Arc::clone(&held));
            tokio::spawn(async move {
                let wait = move || {
                    let _ = held.lock().unwrap().recv();
                    Ok(())
                };
                preparation.run(wait).await
            });
        }
        while stage.places.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        hold
    }

    #[tokio::test]
    async fn a_full_queue_is_an_error_and_abandoned_work_leaves_it() {
        let stage = stage(&Limits::default());
        let hold = fill(&stage).await;
        let refused = stage.begin().run(|| Ok(())).await.unwrap_err();
        assert_eq!((refused.status.as_u16(), refused.retry_after), (503, Some(1)));
        drop(hold);
        while stage.places.available_permits() < num_places() {
            tokio::task::yield_now().await;
        }
        stage.begin().run(|| Ok(())).await.unwrap();
    }

    #[tokio::test]
    async fn work_whose_time_is_over_is_never_begun() {
        let request_timeout = Some(Duration::from_millis(50));
        let stage = stage(&Limits { request_timeout, ..Limits::default() });
        let (hold, held) = channel::<()>();
        let held = Arc::new(std::sync::Mutex::new(held));
        let num_begun = Arc::<AtomicUsize>::default();
        let work = (0..2 * NUM_THREADS).map(|_| {
            let (preparation, held) = (stage.begin(), Arc::clone(&held));
            let num_begun = Arc::clone(&num_begun);
            async move {
                let wait = move || {
                    num_begun.fetch_add(1, Ordering::Relaxed);
                    let _ = held.lock().unwrap().recv();
                    Ok(())
                };
                preparation.run(wait).await
            }
        });
        for done in futures_util::future::join_all(work).await {
            assert_eq!(done.unwrap_err().status.as_u16(), 503);
        }
        drop(hold);
        while stage.places.available_permits() < num_places() {
            tokio::task::yield_now().await;
        }
        assert_eq!(num_begun.load(Ordering::Relaxed), NUM_THREADS);
    }

    #[tokio::test]
    async fn memory_is_counted_over_all_requests_and_returned() {
        let request_timeout = Some(Duration::from_millis(50));
        let limits = Limits { max_body_bytes: 1 << 20, request_timeout, ..Limits::default() };
        let stage = stage(&limits);
        let mut held = Vec::new();
        for _ in 0..4 {
            let mut preparation = stage.begin();
            preparation.reserve_body(1 << 20).await.unwrap();
            held.push(preparation);
        }
        assert_eq!(stage.begin().reserve_body(1 << 20).await.unwrap_err().status.as_u16(), 503);
        stage.begin().reserve_body(UNRESERVED_BYTES).await.unwrap();
        held[0].release_body();
        stage.begin().reserve_body(1 << 20).await.unwrap();
        assert_eq!(stage.begin().reserve_parsed(9 << 20).await.unwrap_err().status.as_u16(), 413);
        held[0].reserve_parsed(8 << 20).await.unwrap();
        held[1].reserve_stored(8 << 20).unwrap();
        assert_eq!(held[2].reserve_stored(8 << 20).unwrap_err().status.as_u16(), 503);
        held.clear();
        stage.begin().reserve_stored(8 << 20).unwrap();
    }

    #[tokio::test]
    async fn work_that_panics_fails_alone() {
        let stage = stage(&Limits::default());
        let failed = stage.begin().run(|| -> Result<(), ApiError> { panic!("a mistake") }).await;
        assert_eq!(failed.unwrap_err().status.as_u16(), 500);
        stage.begin().run(|| Ok(())).await.unwrap();
    }
}
