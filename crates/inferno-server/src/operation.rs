//! What operators read: health, version, metrics, the description of the API, logs.

pub(crate) mod health;
pub(crate) mod logs;
pub(crate) mod metrics;
pub(crate) mod openapi;
pub(crate) mod version;
