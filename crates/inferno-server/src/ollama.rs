//! Ollama's API.

mod answer_fields;
pub(crate) mod chat;
pub(crate) mod embed;
pub(crate) mod generate;
mod lines;
pub(crate) mod manage;
mod messages;
pub(crate) mod models;
pub(crate) mod show;

use std::sync::Arc;

use crate::ServedModel;
use crate::errors::ApiError;
use crate::state::App;

/// The model with this name; clients may add the tag `latest`.
///
/// **Errors**: as [`App::model_named`].
fn model_named(app: &App, name: Option<&str>) -> Result<Arc<ServedModel>, ApiError> {
    let untagged = name.and_then(|name| name.strip_suffix(":latest"));
    app.model_named(name).or_else(|error| match untagged {
        Some(untagged) => app.model_named(Some(untagged)),
        None => Err(error),
    })
}
