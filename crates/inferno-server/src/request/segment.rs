//! A path parameter.

use axum::extract::{FromRequestParts, Path};
use axum::http::StatusCode;
use axum::http::request::Parts;

use crate::errors::ApiError;

/// A path parameter; one that is not valid UTF-8 is rejected with an error body.
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
