//! `/version`.

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

/// Identifies the build: llama-server's name begins with a b.
pub(crate) const BUILD_INFO: &str = concat!("build-", env!("CARGO_PKG_VERSION"));

/// The server's version.
#[derive(Serialize, ToSchema)]
pub(crate) struct Version {
    /// As in `Cargo.toml`.
    version: &'static str,
}

/// Returns the version of the server.
#[utoipa::path(get, path = "/version", tag = "operation", responses((status = 200, body = Version)))]
pub(crate) async fn version() -> Json<Version> {
    Json(Version { version: env!("CARGO_PKG_VERSION") })
}
