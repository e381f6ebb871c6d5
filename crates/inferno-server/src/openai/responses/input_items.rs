//! `/v1/responses/{id}/input_items`: what a kept response answered.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::kept::not_found;
use super::response::ContentPart;
use crate::errors::{ApiError, OpenAiError};
use crate::request::{Query, Segment, fresh_id};
use crate::state::App;

/// Which of the items are told, and in what order.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct InputItemsQuery {
    /// The item after which to begin.
    after: Option<String>,
    /// How many to tell; 20 unless it is said otherwise.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
    /// `asc` begins with the oldest, `desc`, as where nothing is said, with the newest.
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

/// Some of the items of a conversation.
#[derive(Serialize, ToSchema)]
pub(crate) struct InputItemList {
    /// Always `list`.
    object: &'static str,
    /// Messages, calls, what they gave, reasoning; each with an id.
    #[schema(value_type = Vec<Object>)]
    data: Vec<Value>,
    first_id: Option<String>,
    /// What `after` names to go on.
    last_id: Option<String>,
    has_more: bool,
}

/// The items of an input, which may be a text, as OpenAI lists them: with ids, and contents in parts.
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
    /// **Errors**: a limit out of range, an item that is not there.
    fn new(mut items: Vec<Value>, query: &InputItemsQuery) -> Result<Self, ApiError> {
        let limit = query.limit.unwrap_or(20);
        if !(1..=100).contains(&limit) {
            let message = format!("limit must be from 1 to 100, but is {limit}");
            return Err(ApiError::invalid("limit", message));
        }
        if let Order::Desc = query.order.unwrap_or_default() {
            items.reverse();
        }
        if let Some(after) = &query.after {
            // Clients may have given an id twice; the last of them, so that who goes on gets to the end.
            let place =
                items.iter().rposition(|item| id(item) == Some(after)).ok_or_else(|| {
                    let message = format!("after names {after:?}, which is none of the items");
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

/// What a kept response answered: the items of its request, and those of the conversation that it went on from.
#[utoipa::path(get, path = "/v1/responses/{id}/input_items", tag = "openai",
    params(("id" = String, Path, description = "That of the response."), InputItemsQuery),
    responses(
        (status = 200, body = InputItemList),
        (status = 400, description = "The id is no text, or the query asks for what is not there.", body = OpenAiError)
    ))]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Segment(response): Segment,
    Query(query): Query<InputItemsQuery>,
) -> Result<Json<InputItemList>, ApiError> {
    let kept = app.responses.get(&response).ok_or_else(|| not_found(&response))?;
    let mut preparation = app.preparation.begin();
    preparation.reserve_stored(kept.parsed_bytes)?;
    let list = preparation.run(move || {
        let mut items = kept.items()?;
        items.truncate(kept.num_input_items);
        InputItemList::new(items, &query)
    });
    list.await.map(Json)
}
