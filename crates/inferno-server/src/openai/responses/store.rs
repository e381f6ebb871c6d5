//! Responses that are kept in memory, as JSON text, so that a conversation can go on from one of them.
//!
//! Each is kept with its whole conversation, so that none needs another. What they take is bounded, whoever asks for however
//! many: the oldest go first.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::response::{OutputItem, ResponseObject};
use crate::errors::ApiError;
use crate::request::parsed_bytes;
use crate::state::App;

/// Responses that are kept, up to a number of bytes.
pub(crate) struct ResponseStore {
    max_bytes: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// Their arrivals, by their ids.
    arrivals: HashMap<String, u64>,
    /// The oldest first.
    responses: BTreeMap<u64, Arc<KeptResponse>>,
    num_bytes: usize,
    num_arrived: u64,
}

/// A response and the conversation that it is the end of.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KeptResponse {
    pub id: String,
    pub response: String,
    /// A list of all items, those of the response at its end.
    pub items: String,
    /// About how much memory the items take once they are parsed.
    pub parsed_bytes: usize,
    /// Those that were answered, without the response's own.
    pub num_input_items: usize,
}

impl KeptResponse {
    /// The items of the conversation, those of the response at its end.
    ///
    /// **Errors**: none but a mistake of this server.
    pub fn items(&self) -> Result<Vec<Value>, ApiError> {
        serde_json::from_str(&self.items).map_err(|error| ApiError::internal(error.to_string()))
    }

    fn num_bytes(&self) -> usize {
        // The id stands in the index too.
        2 * self.id.len() + self.response.len() + self.items.len()
    }
}

impl ResponseStore {
    /// An empty store that never holds more; with 0, nothing is kept.
    pub fn new(max_bytes: usize) -> Self {
        Self { max_bytes, kept: Mutex::default() }
    }

    /// Whether anything is kept at all.
    pub fn is_open(&self) -> bool {
        self.max_bytes > 0
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<KeptResponse>> {
        let kept = self.kept();
        kept.responses.get(kept.arrivals.get(id)?).cloned()
    }

    /// Forgets a response; false where it is not kept.
    pub(super) fn remove(&self, id: &str) -> bool {
        let mut kept = self.kept();
        let arrival = kept.arrivals.get(id).copied();
        arrival.is_some_and(|arrival| kept.remove(arrival))
    }

    /// Keeps a response, and forgets as many of the oldest as that takes.
    fn insert(&self, response: KeptResponse) {
        let mut kept = self.kept();
        let arrival = kept.num_arrived;
        kept.num_arrived += 1;
        kept.num_bytes += response.num_bytes();
        kept.arrivals.insert(response.id.clone(), arrival);
        kept.responses.insert(arrival, Arc::new(response));
        while kept.num_bytes > self.max_bytes {
            let oldest = kept.responses.first_key_value().map(|(&arrival, _)| arrival);
            if !oldest.is_some_and(|arrival| kept.remove(arrival)) {
                break;
            }
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn remove(&mut self, arrival: u64) -> bool {
        let Some(response) = self.responses.remove(&arrival) else {
            return false;
        };
        self.arrivals.remove(&response.id);
        self.num_bytes -= response.num_bytes();
        true
    }
}

/// A response that will be kept when it has ended.
pub(super) struct Keeping {
    app: Arc<App>,
    /// The conversation before it.
    items: Vec<Value>,
}

impl Keeping {
    pub fn new(app: &Arc<App>, items: Vec<Value>) -> Self {
        Self { app: Arc::clone(app), items }
    }

    /// Keeps the response, which has ended.
    pub fn keep(mut self, id: &str, response: &ResponseObject, output: &[OutputItem]) {
        let num_input_items = self.items.len();
        self.items.extend(output.iter().map(|item| json!(item)));
        let items = Value::Array(self.items).to_string();
        self.app.responses.insert(KeptResponse {
            id: id.to_owned(),
            response: json!(response).to_string(),
            parsed_bytes: parsed_bytes(items.as_bytes()).unwrap_or(usize::MAX),
            items,
            num_input_items,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(id: &str, len: usize) -> KeptResponse {
        let (id, items) = (id.to_owned(), "[]".to_owned());
        KeptResponse { id, response: "x".repeat(len), items, parsed_bytes: 0, num_input_items: 0 }
    }

    #[test]
    fn the_oldest_go_first_and_the_bound_holds() {
        let store = ResponseStore::new(100);
        for id in ["a", "b", "c"] {
            store.insert(response(id, 40));
        }
        assert!(store.get("a").is_none());
        assert_eq!(store.get("b").as_deref(), Some(&response("b", 40)));
        store.insert(response("d", 90));
        assert_eq!(store.kept().num_bytes, 94);
        assert!(store.get("c").is_none());
        // What is larger than all may be is not kept, and leaves nothing behind.
        store.insert(response("e", 100));
        assert!(store.get("e").is_none());
        let kept = store.kept();
        assert_eq!((kept.num_bytes, kept.arrivals.len(), kept.responses.len()), (0, 0, 0));
    }

    #[test]
    fn what_is_removed_makes_room() {
        let store = ResponseStore::new(100);
        store.insert(response("a", 80));
        assert!(store.remove("a") && !store.remove("a"));
        store.insert(response("b", 80));
        assert!(store.get("b").is_some());
        assert_eq!(store.kept().num_bytes, 84);
    }
}
