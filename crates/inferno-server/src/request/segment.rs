//! The part of a path that names something.

use axum::extract::{FromRequestParts, Path};
use axum::http::StatusCode;
use axum::http::request::Parts;

use crate::errors::ApiError;

/// The part of a path that names something; one that is no text is refused like any other mistake.
pub(crate) struct Segment(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Segment {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let segment = Path::from_request_parts(parts, state).await;
        let Path(segment) =
            segment.map_err(|error| ApiError::new(StatusCode::BAD_REQUEST, error.body_text()))?;
        Ok(Self(segment))
    }
}
