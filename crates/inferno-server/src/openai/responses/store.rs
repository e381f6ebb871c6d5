//! Responses that are stored in memory, as JSON text, so that later requests can continue them.
//!
//! Each is stored with its whole conversation, so that none depends on another. Their total size is bounded: the oldest are
//! evicted first.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::errors::ApiError;
use crate::request::parsed_bytes;

/// Stored responses, up to a number of bytes.
pub(crate) struct ResponseStore {
    max_bytes: usize,
    stored: Mutex<Stored>,
}

#[derive(Default)]
struct Stored {
    /// Keys of `responses`, by id.
    arrivals: HashMap<String, u64>,
    /// Output items by id: the key of their response, and their position in it.
    outputs: HashMap<String, (u64, usize)>,
    /// By arrival, the oldest first.
    responses: BTreeMap<u64, Arc<StoredResponse>>,
    num_bytes: usize,
    num_arrived: u64,
}

/// A response and its conversation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StoredResponse {
    pub id: String,
    pub response: String,
    /// A JSON array of all items, those of the response last.
    pub items: String,
    /// About how much memory the items take once they are parsed.
    pub parsed_bytes: usize,
    /// Number of input items, without those of the response.
    pub num_input_items: usize,
    /// The items of the response itself.
    pub outputs: Vec<StoredItem>,
}

/// An output item.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StoredItem {
    id: String,
    json: String,
    /// About how much memory the item takes once it is parsed.
    parsed_bytes: usize,
}

/// An output item that stays available while it is used.
pub(super) struct ItemHandle {
    response: Arc<StoredResponse>,
    index: usize,
}

impl ItemHandle {
    /// About how much memory the item takes once it is parsed.
    pub fn parsed_bytes(&self) -> usize {
        self.response.outputs[self.index].parsed_bytes
    }

    /// The item.
    ///
    /// **Errors**: invalid JSON, which is an internal error.
    pub fn parse(&self) -> Result<Value, ApiError> {
        let item = serde_json::from_str(&self.response.outputs[self.index].json);
        item.map_err(|error| ApiError::internal(error.to_string()))
    }
}

impl StoredItem {
    /// An item without an id cannot be referred to.
    fn new(item: &Value) -> Option<Self> {
        let (id, json) = (item["id"].as_str()?.to_owned(), item.to_string());
        let parsed_bytes = parsed_bytes(json.as_bytes()).unwrap_or(usize::MAX);
        Some(Self { id, json, parsed_bytes })
    }
}

impl StoredResponse {
    /// The items of the conversation, those of the response last.
    ///
    /// **Errors**: invalid JSON, which is an internal error.
    pub fn items(&self) -> Result<Vec<Value>, ApiError> {
        serde_json::from_str(&self.items).map_err(|error| ApiError::internal(error.to_string()))
    }

    fn num_bytes(&self) -> usize {
        // The indices contain the ids as well.
        let outputs: usize =
            self.outputs.iter().map(|item| 2 * item.id.len() + item.json.len()).sum();
        2 * self.id.len() + self.response.len() + self.items.len() + outputs
    }
}

impl ResponseStore {
    /// An empty store; with 0 bytes, it stores nothing.
    pub fn new(max_bytes: usize) -> Self {
        Self { max_bytes, stored: Mutex::default() }
    }

    /// Whether responses are stored at all.
    pub fn is_open(&self) -> bool {
        self.max_bytes > 0
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<StoredResponse>> {
        let stored = self.stored();
        stored.responses.get(stored.arrivals.get(id)?).cloned()
    }

    /// An output item of a stored response.
    pub(super) fn item(&self, id: &str) -> Option<ItemHandle> {
        let stored = self.stored();
        let &(arrival, index) = stored.outputs.get(id)?;
        Some(ItemHandle { response: Arc::clone(stored.responses.get(&arrival)?), index })
    }

    /// Deletes a response; returns false if it is not stored.
    pub(super) fn remove(&self, id: &str) -> bool {
        let mut stored = self.stored();
        let arrival = stored.arrivals.get(id).copied();
        arrival.is_some_and(|arrival| stored.remove(arrival))
    }

    /// Stores a response, and evicts the oldest ones to make room. One that is larger than the store evicts none: the
    /// result is false.
    fn insert(&self, response: StoredResponse) -> bool {
        if response.num_bytes() > self.max_bytes {
            return false;
        }
        let mut stored = self.stored();
        let arrival = stored.num_arrived;
        stored.num_arrived += 1;
        stored.num_bytes += response.num_bytes();
        stored.arrivals.insert(response.id.clone(), arrival);
        for (index, item) in response.outputs.iter().enumerate() {
            stored.outputs.insert(item.id.clone(), (arrival, index));
        }
        stored.responses.insert(arrival, Arc::new(response));
        while stored.num_bytes > self.max_bytes {
            let oldest = stored.responses.first_key_value().map(|(&arrival, _)| arrival);
            if !oldest.is_some_and(|arrival| stored.remove(arrival)) {
                break;
            }
        }
        true
    }

    fn stored(&self) -> MutexGuard<'_, Stored> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stored {
    fn remove(&mut self, arrival: u64) -> bool {
        let Some(response) = self.responses.remove(&arrival) else {
            return false;
        };
        self.arrivals.remove(&response.id);
        for item in &response.outputs {
            self.outputs.remove(&item.id);
        }
        self.num_bytes -= response.num_bytes();
        true
    }
}

/// A response that will be stored when it has finished.
pub(super) struct PendingResponse {
    responses: Arc<ResponseStore>,
    /// The conversation before it, as text: parsed, it takes many times as much memory.
    items: Vec<Box<RawValue>>,
}

impl PendingResponse {
    /// **Errors**: items without a JSON text, which is an internal error.
    pub fn new(responses: &Arc<ResponseStore>, items: &[Value]) -> Result<Self, ApiError> {
        let items = items.iter().map(json_text).collect::<Result<_, _>>()?;
        Ok(Self { responses: Arc::clone(responses), items })
    }

    /// Stores the finished response, with its output items. Returns false if it is larger than the store.
    ///
    /// **Errors**: items without a JSON text, which is an internal error.
    pub fn store(mut self, id: &str, response: String, output: &[Value]) -> Result<bool, ApiError> {
        let num_input_items = self.items.len();
        let outputs = output.iter().filter_map(StoredItem::new).collect();
        for item in output {
            self.items.push(json_text(item)?);
        }
        let items = json_text(&self.items)?.get().to_owned();
        Ok(self.responses.insert(StoredResponse {
            id: id.to_owned(),
            response,
            parsed_bytes: parsed_bytes(items.as_bytes()).unwrap_or(usize::MAX),
            items,
            num_input_items,
            outputs,
        }))
    }
}

/// The JSON text of a value.
///
/// **Errors**: there is none, which is an internal error.
pub(super) fn json_text(value: &impl Serialize) -> Result<Box<RawValue>, ApiError> {
    to_raw_value(value).map_err(|error| ApiError::internal(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(id: &str, len: usize) -> StoredResponse {
        let (id, items) = (id.to_owned(), "[]".to_owned());
        let response = "x".repeat(len);
        StoredResponse {
            id,
            response,
            items,
            parsed_bytes: 0,
            num_input_items: 0,
            outputs: Vec::new(),
        }
    }

    #[test]
    fn the_oldest_are_evicted_and_the_limit_holds() {
        let store = ResponseStore::new(100);
        for id in ["a", "b", "c"] {
            assert!(store.insert(response(id, 40)));
        }
        assert!(store.get("a").is_none());
        assert_eq!(store.get("b").as_deref(), Some(&response("b", 40)));
        assert!(store.insert(response("d", 90)));
        assert_eq!(store.stored().num_bytes, 94);
        assert!(store.get("c").is_none());
        // A response larger than the store evicts no other.
        assert!(!store.insert(response("e", 100)));
        assert!(store.get("e").is_none() && store.get("d").is_some());
    }

    #[test]
    fn deleted_responses_free_their_bytes() {
        let store = ResponseStore::new(100);
        assert!(store.insert(response("a", 80)));
        assert!(store.remove("a") && !store.remove("a"));
        assert!(store.insert(response("b", 80)));
        assert!(store.get("b").is_some());
        assert_eq!(store.stored().num_bytes, 84);
    }
}
