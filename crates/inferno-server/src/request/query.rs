//! Query parameters.

use axum::extract::{FromRequestParts, Query as AxumQuery};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::errors::ApiError;

/// Query parameters; invalid ones are rejected with an error body.
pub(crate) struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let query = AxumQuery::from_request_parts(parts, state).await;
        let AxumQuery(query) =
            query.map_err(|error| ApiError::new(StatusCode::BAD_REQUEST, error.body_text()))?;
        Ok(Self(query))
    }
}
