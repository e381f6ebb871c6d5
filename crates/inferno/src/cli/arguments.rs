//! Options that several commands share.

pub(crate) mod api_keys;
pub(crate) mod chat;
pub(crate) mod compute;
pub(crate) mod device;
mod dry;
pub(crate) mod limits;
pub(crate) mod model;
pub(crate) mod output_format;
pub(crate) mod pooling;
pub(crate) mod report_format;
pub(crate) mod sampling;
pub(crate) mod served_model;
pub(crate) mod speculation;
pub(crate) mod values;
