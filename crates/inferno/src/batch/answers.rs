//! The lines of the output, in the order of the requests.

use std::collections::VecDeque;

use inferno_server::CompleteResponse;
use serde::Serialize;
use serde_json::value::RawValue;

use super::failures::RequestFailure;
use super::requests::BatchError;

/// How lines of the output begin.
pub(super) const LINE_START: &[u8] = br#"{"id":"batch_req_"#;

/// Headers that report what a response leaves out of account.
const REPORTS: [(&str, &str); 2] = [
    ("x-inferno-ignored-fields", "fields of requests were ignored"),
    ("x-inferno-unenforced-schema", "parts of JSON schemas were not enforced"),
];

/// The answer to a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The encoded answer, with its line break.
    pub line: Vec<u8>,
    /// Why there is no response, or what error it reports.
    pub failure: Option<RequestFailure>,
    /// What was ignored in the request.
    pub reports: Vec<String>,
}

#[derive(Serialize)]
struct AnswerFields<'a> {
    id: &'a str,
    custom_id: Option<&'a str>,
    response: Option<ResponseFields<'a>>,
    error: Option<BatchError>,
}

#[derive(Serialize)]
struct ResponseFields<'a> {
    status_code: u16,
    request_id: &'a str,
    body: &'a RawValue,
}

impl Answer {
    /// Encodes the response to a request, or why there is none.
    pub fn new(
        id: &str,
        custom_id: Option<&str>,
        response: &Result<CompleteResponse, BatchError>,
    ) -> Self {
        let (response, error) = match response.as_ref().map_err(Clone::clone).and_then(fields) {
            Ok(response) => (Some(response), None),
            Err(error) => (None, Some(error)),
        };
        let failure = failure(response.as_ref(), error.as_ref());
        let fields = AnswerFields { id, custom_id, response, error };
        let mut line = serde_json::to_vec(&fields).expect("strings and numbers have an encoding");
        // JSON contains line breaks only between its tokens, where a space is equivalent.
        line.iter_mut().filter(|byte| b"\r\n".contains(byte)).for_each(|byte| *byte = b' ');
        line.push(b'\n');
        Self { line, failure, reports: Vec::new() }
    }

    /// Adds what the response reports as ignored.
    pub fn with_reports(mut self, response: &CompleteResponse) -> Self {
        self.reports.extend(
            REPORTS.iter().filter_map(|(name, report)| {
                Some(format!("{report}: {}", header(response, name)?))
            }),
        );
        self
    }
}

/// Returns why a request failed, if it did.
fn failure(
    response: Option<&ResponseFields<'_>>,
    error: Option<&BatchError>,
) -> Option<RequestFailure> {
    if let Some(BatchError { code, message }) = error {
        return Some(RequestFailure { code: (*code).to_owned(), message: message.clone() });
    }
    let ResponseFields { status_code, body, .. } = response?;
    (!is_success(*status_code)).then(|| {
        let body = serde_json::from_str(body.get()).unwrap_or_default();
        RequestFailure::new(&body, Some(*status_code))
    })
}

/// **Errors**: a body that is not JSON.
fn fields(response: &CompleteResponse) -> Result<ResponseFields<'_>, BatchError> {
    let body = serde_json::from_slice(&response.body).map_err(|error| BatchError {
        code: "invalid_response",
        message: format!("the response is not JSON: {error}"),
    })?;
    let request_id = header(response, "x-request-id").unwrap_or_default();
    Ok(ResponseFields { status_code: response.status, request_id, body })
}

/// Returns whether a status is not an error.
pub(super) fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

/// Returns the value of a header, if it is text.
fn header<'a>(response: &'a CompleteResponse, name: &str) -> Option<&'a str> {
    let (_, value) = response.headers.iter().find(|(known, _)| known == name)?;
    std::str::from_utf8(value).ok()
}

/// Answers that wait for those to earlier requests.
#[derive(Debug, Default)]
pub(super) struct OrderedAnswers {
    /// Number of requests whose answers were taken.
    num_taken: u64,
    /// The answers after them, once they are complete.
    waiting: VecDeque<Option<Answer>>,
    /// Size of the waiting answers.
    waiting_bytes: usize,
}

impl OrderedAnswers {
    /// Returns the place of the next request.
    pub fn reserve(&mut self) -> u64 {
        self.waiting.push_back(None);
        self.num_taken + self.waiting.len() as u64 - 1
    }

    /// Adds the answer to the request at `place`.
    pub fn insert(&mut self, place: u64, answer: Answer) {
        self.waiting_bytes += answer.line.len();
        let index = place.checked_sub(self.num_taken).and_then(|index| usize::try_from(index).ok());
        if let Some(free) = index.and_then(|index| self.waiting.get_mut(index)) {
            *free = Some(answer);
        }
    }

    /// Takes the next answer in order, if it is complete.
    pub fn take_next(&mut self) -> Option<Answer> {
        let answer = self.waiting.front_mut()?.take()?;
        self.waiting.pop_front();
        self.num_taken += 1;
        self.waiting_bytes -= answer.line.len();
        Some(answer)
    }

    /// Returns the size of the answers that wait, in bytes.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(line: &str) -> Answer {
        Answer { line: line.into(), failure: None, reports: Vec::new() }
    }

    #[test]
    fn answers_are_taken_in_the_order_of_requests() {
        let mut answers = OrderedAnswers::default();
        assert_eq!((answers.reserve(), answers.reserve()), (0, 1));
        answers.insert(1, answer("second"));
        assert_eq!((answers.take_next(), answers.waiting_bytes()), (None, 6));
        answers.insert(0, answer("first"));
        assert_eq!(answers.take_next(), Some(answer("first")));
        assert_eq!(answers.reserve(), 2);
        assert_eq!(answers.take_next(), Some(answer("second")));
        assert_eq!((answers.take_next(), answers.waiting_bytes()), (None, 0));
        answers.insert(2, answer("third"));
        assert_eq!(answers.take_next(), Some(answer("third")));
    }

    #[test]
    fn bodies_are_copied_into_one_line() {
        let body = b"{\r\n \"x\": 0.30000001192092896, \"y\": \"a\\nb\"\n}".to_vec();
        let headers = vec![
            ("x-request-id".to_owned(), b"req_1".to_vec()),
            ("x-inferno-ignored-fields".to_owned(), b"mood".to_vec()),
        ];
        let response = CompleteResponse { status: 200, headers, body };
        let answer = Answer::new("batch_req_0", Some("a"), &Ok(response.clone()));
        let expected = r#"{"id":"batch_req_0","custom_id":"a","response":{"status_code":200,"request_id":"req_1","body":{   "x": 0.30000001192092896, "y": "a\nb" }},"error":null}"#;
        assert_eq!(String::from_utf8_lossy(&answer.line), format!("{expected}\n"));
        assert!(answer.line.starts_with(LINE_START) && answer.failure.is_none());
        let reports = answer.with_reports(&response).reports;
        assert_eq!(reports, ["fields of requests were ignored: mood"]);

        let rejected = CompleteResponse { status: 400, body: b"{}".to_vec(), ..response };
        assert!(Answer::new("i", None, &Ok(rejected)).failure.is_some());
        let cut = CompleteResponse { status: 200, headers: Vec::new(), body: b"{\"a\":".to_vec() };
        let answer = Answer::new("i", None, &Ok(cut));
        let line: serde_json::Value = serde_json::from_slice(&answer.line).unwrap();
        assert_eq!((&line["response"], answer.failure.is_some()), (&serde_json::Value::Null, true));
        assert_eq!(line["error"]["code"], "invalid_response");
    }
}
