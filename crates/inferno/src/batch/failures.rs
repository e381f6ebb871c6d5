//! Why requests failed, for the summary of a run.

use serde_json::Value;

/// Number of different codes that are counted. Failures with others are counted under the last one.
const MAX_CODES: usize = 32;

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestFailure {
    pub code: String,
    pub message: String,
}

/// Failures with the same code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailureCount {
    pub code: String,
    pub num_requests: usize,
    /// The number of the first of them, counted from 1 over all requests of the input.
    pub first: usize,
    /// The message of the first of them.
    pub message: String,
}

/// Failures by code, in the order in which the codes occurred first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Failures(Vec<FailureCount>);

impl RequestFailure {
    /// Returns the failure that an error object describes, or the body of a response, which contains one as `error`. The
    /// code is that of the error, else its type, else the status.
    pub fn new(error: &Value, status: Option<u16>) -> Self {
        let error = error.get("error").unwrap_or(error);
        let text = |name: &str| error.get(name).and_then(Value::as_str);
        let code = text("code").or_else(|| text("type")).map(str::to_owned);
        let status = || status.map_or("unknown error".to_owned(), |it| format!("status {it}"));
        let message = text("message").or(error.as_str()).unwrap_or("no message").to_owned();
        Self { code: code.unwrap_or_else(status), message }
    }
}

impl Failures {
    /// Counts the failure of request `number`.
    pub fn add(&mut self, number: usize, failure: RequestFailure) {
        let RequestFailure { code, message } = failure;
        self.add_count(FailureCount { code, num_requests: 1, first: number, message });
    }

    /// Counts the failures of a later run, whose requests follow `num_before` others.
    pub fn extend(&mut self, later: Self, num_before: usize) {
        for count in later.0 {
            self.add_count(FailureCount { first: num_before + count.first, ..count });
        }
    }

    fn add_count(&mut self, count: FailureCount) {
        let is_full = self.0.len() == MAX_CODES;
        let same = self.0.iter().position(|known| known.code == count.code);
        match same.or(is_full.then_some(MAX_CODES - 1)) {
            Some(index) => self.0[index].num_requests += count.num_requests,
            None => self.0.push(count),
        }
    }

    /// Returns the number of failures.
    pub fn num_requests(&self) -> usize {
        self.0.iter().map(|count| count.num_requests).sum()
    }

    /// Returns the failures by code.
    pub fn counts(&self) -> &[FailureCount] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn codes_are_those_of_every_api() {
        for (error, code, message) in [
            (json!({"code": "invalid_url", "message": "a"}), "invalid_url", "a"),
            (json!({"error": {"code": null, "type": "b", "message": "c"}}), "b", "c"),
            (json!({"type": "error", "error": {"type": "d", "message": "e"}}), "d", "e"),
            (json!({"error": "f"}), "status 400", "f"),
            (json!(null), "status 400", "no message"),
        ] {
            let expected = RequestFailure { code: code.to_owned(), message: message.to_owned() };
            assert_eq!(RequestFailure::new(&error, Some(400)), expected);
        }
    }
}
