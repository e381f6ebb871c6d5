//! Memory of requests in preparation, counted over all of them.

use std::future::Future;
use std::sync::Arc;

use axum::http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::errors::ApiError;

/// Bodies, and what they are parsed into, need no reservation up to this size: as many as there are connections fit in memory.
pub(crate) const UNRESERVED_BYTES: usize = 64 << 10;
/// Largest bodies that are read at once.
const NUM_LARGEST_BODIES: usize = 4;
/// What one request may be parsed into, as a multiple of the largest body. Text takes twice its length, lists of small values
/// over a hundred times theirs.
const MAX_EXPANSION: usize = 8;
/// Requests of the largest parsed size that are in preparation at once.
const NUM_LARGEST_PARSED: usize = 2;
/// What one request may be parsed into at least, however small bodies must be.
const MIN_PARSED_BYTES: usize = 1 << 20;
/// Bytes of a permit, so that every size fits into a semaphore.
const UNIT: usize = 4 << 10;

/// Memory that requests in preparation share: the bytes of their bodies, and those of what bodies are parsed into. A request
/// that waits for the second may hold the first but not the other way round, so that there is no deadlock.
pub(super) struct Reservations {
    /// Of one request.
    max_parsed_bytes: usize,
    bodies: Arc<Semaphore>,
    parsed: Arc<Semaphore>,
}

/// Memory that one request has reserved, until this is dropped.
pub(crate) struct ReservedBytes(
    #[allow(dead_code, reason = "held, not read")] OwnedSemaphorePermit,
);

impl Reservations {
    pub fn new(max_body_bytes: usize) -> Self {
        let permits = |num_bytes: usize| {
            // Each reservation is a 32-bit number of permits.
            Arc::new(Semaphore::new(num_bytes.div_ceil(UNIT).min(u32::MAX as usize)))
        };
        let max_parsed_bytes = max_body_bytes.saturating_mul(MAX_EXPANSION).max(MIN_PARSED_BYTES);
        Self {
            max_parsed_bytes,
            bodies: permits(max_body_bytes.saturating_mul(NUM_LARGEST_BODIES)),
            parsed: permits(max_parsed_bytes.saturating_mul(NUM_LARGEST_PARSED)),
        }
    }

    /// Waits for the memory of a body that passes the limit; `None` if it needs no reservation.
    pub fn body(&self, num_bytes: usize) -> impl Future<Output = Option<ReservedBytes>> + use<> {
        reserve(&self.bodies, num_bytes)
    }

    /// Waits for the memory of a parsed body; `None` if it needs no reservation.
    ///
    /// **Errors**: 413 for more than one request may use.
    pub fn parsed(
        &self,
        num_bytes: usize,
    ) -> Result<impl Future<Output = Option<ReservedBytes>> + use<>, ApiError> {
        let limit = self.max_parsed_bytes;
        if num_bytes > limit {
            let message = format!(
                "the JSON values of the body would take {num_bytes} bytes of memory, but at most {limit} are accepted; send \
                 fewer values"
            );
            return Err(
                ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, message).with_code("too_many_values")
            );
        }
        Ok(reserve(&self.parsed, num_bytes))
    }
}

fn reserve(
    semaphore: &Arc<Semaphore>,
    num_bytes: usize,
) -> impl Future<Output = Option<ReservedBytes>> + use<> {
    let semaphore = Arc::clone(semaphore);
    async move {
        if num_bytes <= UNRESERVED_BYTES {
            return None;
        }
        let units = u32::try_from(num_bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        semaphore.acquire_many_owned(units).await.ok().map(ReservedBytes)
    }
}
