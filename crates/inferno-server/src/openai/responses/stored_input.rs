//! What a request continues or refers to: stored responses and their items.

use std::sync::Arc;

use serde_json::Value;

use super::ResponsesFields;
use super::store::{ItemHandle, ResponseStore, StoredResponse};
use crate::errors::{ApiError, shortened};
use crate::request::Preparation;

/// The stored responses and items that a request needs, not yet parsed.
pub(super) struct StoredInput {
    earlier: Option<Arc<StoredResponse>>,
    /// Items of the input that are references, by index.
    references: Vec<(usize, ItemHandle)>,
}

impl StoredInput {
    /// Finds what the request needs, and reserves memory to parse it.
    ///
    /// **Errors**: a response or item that is not stored; 413 or 503 without memory.
    pub fn find(
        fields: &ResponsesFields,
        store: &ResponseStore,
        preparation: &mut Preparation,
    ) -> Result<Self, ApiError> {
        let earlier = match &fields.previous_response_id {
            Some(id) => Some(store.get(id).ok_or_else(|| response_not_found(id))?),
            None => None,
        };
        let mut references = Vec::new();
        for (index, item) in fields.input.as_array().into_iter().flatten().enumerate() {
            if item["type"] == "item_reference" {
                let id = item["id"].as_str().unwrap_or_default();
                let found = store.item(id).ok_or_else(|| item_not_found(index, id))?;
                references.push((index, found));
            }
        }
        let sizes = references.iter().map(|(_, item)| item.parsed_bytes());
        let sizes = sizes.chain(earlier.iter().map(|earlier| earlier.parsed_bytes));
        let size = sizes.fold(0, usize::saturating_add);
        if size > 0 {
            preparation.reserve_stored(size)?;
        }
        Ok(Self { earlier, references })
    }

    /// Replaces the references in the input, and returns the items of the response that the request continues.
    ///
    /// **Errors**: stored JSON that is invalid, which is an internal error.
    pub fn resolve(self, input: &mut Value) -> Result<Vec<Value>, ApiError> {
        for (index, item) in self.references {
            input[index] = item.parse()?;
        }
        self.earlier.map_or(Ok(Vec::new()), |earlier| earlier.items())
    }
}

fn response_not_found(id: &str) -> ApiError {
    const FIELD: &str = "previous_response_id";
    let message = format!(
        "{FIELD}: response {:?} not found, or evicted; send the whole conversation as input",
        shortened(id)
    );
    ApiError::invalid(FIELD, message).with_code("previous_response_not_found")
}

fn item_not_found(index: usize, id: &str) -> ApiError {
    let param = format!("input[{index}].id");
    let message =
        format!("{param}: item {:?} not found, or evicted; send the item itself", shortened(id));
    ApiError::invalid(param, message).with_code("item_not_found")
}
