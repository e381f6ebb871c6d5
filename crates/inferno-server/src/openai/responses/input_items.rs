//! `/v1/responses/{id}/input_items`: the input of a stored response.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::response::ContentPart;
use super::stored::not_found;
use crate::errors::{ApiError, OpenAiError};
use crate::request::{Query, Segment, fresh_id};
use crate::state::App;

/// Selection and order of the items.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct InputItemsQuery {
    /// Id of the item after which to start.
    after: Option<String>,
    /// Maximum number of items (default: 20).
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
    /// `asc` starts with the oldest item, `desc` (default) with the newest.
    #[param(inline)]
    order: Option<Order>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Order {
    Asc,
    #[default]
    Desc,
}

/// A page of items.
#[derive(Serialize, ToSchema)]
pub(crate) struct InputItemList {
    /// Always `list`.
    object: &'static str,
    /// Messages, function calls and their outputs, reasoning; each with an id.
    #[schema(value_type = Vec<Object>)]
    data: Vec<Value>,
    first_id: Option<String>,
    /// The value of `after` for the next page.
    last_id: Option<String>,
    has_more: bool,
}

/// The items of an input, which may be a string, as OpenAI lists them: with ids, and contents as parts.
pub(super) fn listed(input: &Value) -> Vec<Value> {
    let mut items = match input {
        Value::Array(items) => items.clone(),
        text => vec![json!({"role": "user", "content": text})],
    };
    for item in items.iter_mut().filter_map(Value::as_object_mut) {
        let kind = item.get("type").and_then(Value::as_str).unwrap_or("message").to_owned();
        let prefix = match kind.as_str() {
            "function_call" => "fc_",
            "function_call_output" => "fco_",
            "custom_tool_call" => "ctc_",
            "custom_tool_call_output" => "ctco_",
            "reasoning" => "rs_",
            _ => "msg_",
        };
        if let Some(Value::String(text)) = item.get("content") {
            let part = match item.get("role").and_then(Value::as_str) {
                Some("assistant") => json!(ContentPart::output(text.clone())),
                _ => json!({"type": "input_text", "text": text}),
            };
            item.insert("content".to_owned(), json!([part]));
        }
        let missing = [
            ("type", json!(kind)),
            ("id", json!(fresh_id(prefix))),
            ("status", json!("completed")),
        ];
        for (field, value) in missing {
            let found = item.entry(field).or_insert(Value::Null);
            if found.is_null() {
                *found = value;
            }
        }
    }
    items
}

fn id(item: &Value) -> Option<&str> {
    item["id"].as_str()
}

impl InputItemList {
    /// **Errors**: a limit out of range, an unknown item.
    fn new(mut items: Vec<Value>, query: &InputItemsQuery) -> Result<Self, ApiError> {
        let limit = query.limit.unwrap_or(20);
        if !(1..=100).contains(&limit) {
            let message = format!("limit must be between 1 and 100, but is {limit}");
            return Err(ApiError::invalid("limit", message));
        }
        if let Order::Desc = query.order.unwrap_or_default() {
            items.reverse();
        }
        if let Some(after) = &query.after {
            // Clients may have used an id twice; the last occurrence guarantees progress.
            let place =
                items.iter().rposition(|item| id(item) == Some(after)).ok_or_else(|| {
                    let message = format!("after: item {after:?} not found");
                    ApiError::invalid("after", message)
                })?;
            items.drain(..=place);
        }
        let has_more = items.len() > limit;
        items.truncate(limit);
        Ok(Self {
            object: "list",
            first_id: items.first().and_then(id).map(str::to_owned),
            last_id: items.last().and_then(id).map(str::to_owned),
            has_more,
            data: items,
        })
    }
}

/// Lists the input of a stored response: the items of its request, and of the conversation that it continued.
#[utoipa::path(get, path = "/v1/responses/{id}/input_items", tag = "openai",
    params(("id" = String, Path, description = "Id of the response."), InputItemsQuery),
    responses(
        (status = 200, body = InputItemList),
        (status = 400, description = "The id is not valid UTF-8, or the query is invalid.", body = OpenAiError)
    ))]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Segment(response): Segment,
    Query(query): Query<InputItemsQuery>,
) -> Result<Json<InputItemList>, ApiError> {
    let stored = app.responses.get(&response).ok_or_else(|| not_found(&response))?;
    let mut preparation = app.preparation.begin();
    preparation.reserve_stored(stored.parsed_bytes)?;
    let list = preparation.run(move || {
        let mut items = stored.items()?;
        items.truncate(stored.num_input_items);
        InputItemList::new(items, &query)
    });
    list.await.map(Json)
}
