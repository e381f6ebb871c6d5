//! Request processing before an endpoint runs: ids, keys, hosts, bodies, preparation.

mod api_key;
mod body;
mod host;
mod id;
mod ignored_fields;
mod origin;
mod preparation;
mod query;
mod segment;

pub(crate) use api_key::require_api_key;
pub(crate) use body::{
    Body, Reader, RequestBody, check_content_type, not_json, receive_whole, to_integer,
};
pub(crate) use host::{is_loopback, require_allowed_host};
pub(crate) use id::with_request_id;
pub(crate) use ignored_fields::{IGNORED_FIELDS, UNENFORCED_SCHEMA, report_ignored_fields};
pub(crate) use inferno_chat::unique_id as fresh_id;
pub(crate) use origin::RequestOrigin;
pub(crate) use preparation::{
    PREPARATION_STACK_BYTES, Preparation, PreparationStage, parsed_bytes,
};
pub(crate) use query::Query;
pub(crate) use segment::Segment;
