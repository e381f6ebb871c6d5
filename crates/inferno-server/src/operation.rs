//! Endpoints and logs for operators.

pub(crate) mod health;
pub(crate) mod loads;
pub(crate) mod logs;
pub(crate) mod metrics;
pub(crate) mod openapi;
pub(crate) mod server_info;
pub(crate) mod traces;
pub(crate) mod version;
