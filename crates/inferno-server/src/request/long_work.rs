//! Work that takes longer than others should wait for a thread that speaks HTTP.

use crate::errors::ApiError;

/// Bytes that take longer to read or to write than others should wait.
const LARGE: usize = 64 << 10;

/// Reads or writes so many bytes, while others are served by another thread where it takes a while.
pub(crate) fn without_delaying_others<T>(num_bytes: usize, work: impl FnOnce() -> T) -> T {
    match num_bytes {
        0..LARGE => work(),
        _ => tokio::task::block_in_place(work),
    }
}

/// Does what may take a while, whatever its size, on a thread that speaks no HTTP.
///
/// **Errors**: those of the work, and a panic of it.
pub(crate) async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| ApiError::internal(error.to_string()))?
}
