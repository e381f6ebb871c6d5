//! The requests of a batch, and what is wrong with those that cannot be sent.

use std::collections::HashSet;
use std::io::{self, BufRead};

use inferno_server::LocalRequest;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::lines::{Line, Lines};

/// The paths that requests may have.
const URLS: [&str; 10] = [
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/responses",
    "/v1/embeddings",
    "/v1/messages",
    "/v1/rerank",
    "/v1/score",
    // Other names that vLLM accepts.
    "/rerank",
    "/v2/rerank",
    "/score",
];

/// Bytes of a line besides the body.
const MAX_ENVELOPE_BYTES: usize = 64 << 10;

/// A line of the input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BatchRequest {
    /// Identifies the line and its number.
    pub id: String,
    /// The id that the input assigns, if it has one.
    pub custom_id: Option<String>,
    /// The request, or why it cannot be sent.
    pub request: Result<LocalRequest, BatchError>,
    /// Bytes of the input up to the end of this line.
    pub input_bytes: u64,
}

/// Why a request has no response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct BatchError {
    pub code: &'static str,
    pub message: String,
}

/// Reads the requests of an input, one after another. Blank lines are skipped.
pub(crate) struct BatchRequests<R> {
    lines: Lines<R>,
    num_lines: u64,
    num_bytes: u64,
    /// Hashes of the custom ids so far.
    custom_ids: HashSet<[u8; 16]>,
}

/// The fields of a line; other fields are ignored.
#[derive(Deserialize)]
struct Fields<'a> {
    custom_id: Option<Value>,
    method: Option<Value>,
    url: Option<Value>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
}

/// The field of a body that a batch does not support.
#[derive(Deserialize)]
struct BodyFields {
    stream: Option<Value>,
}

impl<R: BufRead> BatchRequests<R> {
    /// `max_body_bytes` is the largest body that the server accepts.
    pub fn new(reader: R, max_body_bytes: usize) -> Self {
        Self {
            lines: Lines::new(reader, max_body_bytes.saturating_add(MAX_ENVELOPE_BYTES)),
            num_lines: 0,
            num_bytes: 0,
            custom_ids: HashSet::new(),
        }
    }

    fn request(&mut self, line: &Line) -> BatchRequest {
        let id = self.id(line);
        let mut custom_id = None;
        let request = self.checked(line, &mut custom_id);
        BatchRequest { id, custom_id, request, input_bytes: self.num_bytes }
    }

    /// Returns the id of the current line.
    fn id(&self, line: &Line) -> String {
        let hash = Sha256::new()
            .chain_update(self.num_lines.to_le_bytes())
            .chain_update(line.num_bytes.to_le_bytes())
            .chain_update(&line.bytes)
            .finalize();
        hash[..16].iter().fold("batch_req_".to_owned(), |id, byte| format!("{id}{byte:02x}"))
    }

    /// Returns the request of a line, and its custom id even if the rest is invalid.
    fn checked(
        &mut self,
        line: &Line,
        custom_id: &mut Option<String>,
    ) -> Result<LocalRequest, BatchError> {
        if line.is_too_long {
            let bytes = line.num_bytes;
            let message = format!("the line of {bytes} bytes exceeds the limit of the server");
            return Err(error("request_too_large", message));
        }
        let not_object = |cause: String| {
            error("invalid_json_line", format!("this line is not a JSON object: {cause}"))
        };
        let text = line.bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line.bytes);
        // Structures could be read from arrays as well.
        if !text.trim_ascii_start().starts_with(b"{") {
            return Err(not_object("it does not start with {".to_owned()));
        }
        let fields: Fields =
            serde_json::from_slice(text).map_err(|cause| not_object(cause.to_string()))?;
        let own_id = string(fields.custom_id, "custom_id")?;
        *custom_id = Some(own_id.clone());
        self.ensure_unique(&own_id)?;
        match string(fields.method, "method")?.as_str() {
            "POST" => {}
            other => {
                let message = format!("the method must be POST, but is {other:?}");
                return Err(error("invalid_method", message));
            }
        }
        let url = string(fields.url, "url")?;
        if !URLS.contains(&url.as_str()) {
            let known = URLS.join(", ");
            let message = format!("the url {url:?} is not supported; expected one of {known}");
            return Err(error("invalid_url", message));
        }
        Ok(LocalRequest {
            method: "POST".to_owned(),
            target: url,
            headers: vec![
                ("host".to_owned(), b"localhost".to_vec()),
                ("content-type".to_owned(), b"application/json".to_vec()),
            ],
            body: body(fields.body)?,
        })
    }

    /// **Errors**: an id that an earlier line has.
    fn ensure_unique(&mut self, custom_id: &str) -> Result<(), BatchError> {
        let hash = Sha256::digest(custom_id);
        let mut short = [0; 16];
        short.copy_from_slice(&hash[..16]);
        match self.custom_ids.insert(short) {
            true => Ok(()),
            false => Err(error(
                "duplicate_custom_id",
                format!("an earlier line has the custom_id {custom_id:?} too; it must be unique"),
            )),
        }
    }
}

impl<R: BufRead> Iterator for BatchRequests<R> {
    type Item = io::Result<BatchRequest>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = match self.lines.next()? {
                Ok(line) => line,
                Err(error) => return Some(Err(error)),
            };
            self.num_lines += 1;
            self.num_bytes += line.num_bytes;
            if line.is_too_long || !line.bytes.trim_ascii().is_empty() {
                return Some(Ok(self.request(&line)));
            }
        }
    }
}

/// **Errors**: a missing body; one that is not an object or requests a stream.
fn body(body: Option<&RawValue>) -> Result<Vec<u8>, BatchError> {
    let Some(body) = body else { return Err(missing("body")) };
    let fields: Option<BodyFields> = Some(body.get())
        .filter(|it| it.starts_with('{'))
        .and_then(|it| serde_json::from_str(it).ok());
    let Some(fields) = fields else {
        let message = "body must be an object, the body of the request";
        return Err(error("invalid_type", message.to_owned()));
    };
    match fields.stream {
        None | Some(Value::Null | Value::Bool(false)) => Ok(body.get().as_bytes().to_vec()),
        Some(_) => Err(error(
            "unsupported_parameter",
            "responses are not streamed in a batch; remove stream from the body".to_owned(),
        )),
    }
}

/// Returns a field that must be a string.
fn string(field: Option<Value>, name: &str) -> Result<String, BatchError> {
    match field {
        None | Some(Value::Null) => Err(missing(name)),
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(error("invalid_type", format!("{name} must be a string"))),
    }
}

fn missing(name: &str) -> BatchError {
    error("missing_required_parameter", format!("missing required parameter: {name}"))
}

fn error(code: &'static str, message: String) -> BatchError {
    BatchError { code, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(input: &str) -> Vec<BatchRequest> {
        let requests: io::Result<_> = BatchRequests::new(input.as_bytes(), 1000).collect();
        requests.unwrap()
    }

    /// The code of the error of a line.
    fn code(line: &str) -> &'static str {
        requests(line).remove(0).request.expect_err(line).code
    }

    #[test]
    fn bodies_are_passed_unchanged_and_ids_depend_on_line_and_number() {
        let line = r#"{"custom_id": "a", "method": "POST", "url": "/v1/completions", "x": 1, "body": { "top_p": 0.1 } }"#;
        let other = line.replace("\"a\"", "\"b\"");
        let read = requests(&format!("\u{feff}{line}\r\n\n  \n{other}"));
        let request = read[0].request.as_ref().unwrap();
        assert_eq!((request.target.as_str(), read.len()), ("/v1/completions", 2));
        assert_eq!(request.body, b"{ \"top_p\": 0.1 }");
        assert_eq!(read[1].custom_id.as_deref(), Some("b"));
        assert_eq!(read[1].input_bytes as usize, 2 * line.len() + 9);
        assert_eq!(read[0].id.len(), "batch_req_".len() + 32);
        let moved = requests(&format!("\n\n\n{other}"));
        assert_eq!(moved[0].id, read[1].id, "the same line with the same number");
        assert_ne!(requests(&other)[0].id, read[1].id);
    }

    #[test]
    fn lines_that_cannot_be_sent_have_an_error() {
        for (line, expected) in [
            ("{", "invalid_json_line"),
            (r#"["a", "POST", "/v1/completions", {}]"#, "invalid_json_line"),
            ("\u{0}", "invalid_json_line"),
            (r#"{"method": "POST"}"#, "missing_required_parameter"),
            (r#"{"custom_id": 7}"#, "invalid_type"),
            (r#"{"custom_id": "a"}"#, "missing_required_parameter"),
            (r#"{"custom_id": "a", "method": "GET"}"#, "invalid_method"),
            (r#"{"custom_id": "a", "method": "POST"}"#, "missing_required_parameter"),
            (r#"{"custom_id": "a", "method": "POST", "url": "/health"}"#, "invalid_url"),
            (
                r#"{"custom_id": "a", "method": "POST", "url": "/v1/responses"}"#,
                "missing_required_parameter",
            ),
            (
                r#"{"custom_id": "a", "method": "POST", "url": "/v1/responses", "body": [1]}"#,
                "invalid_type",
            ),
            (
                r#"{"custom_id": "a", "method": "POST", "url": "/v1/responses", "body": {"stream": true}}"#,
                "unsupported_parameter",
            ),
        ] {
            assert_eq!(code(line), expected, "{line}");
        }
        let long = "x".repeat(1000 + MAX_ENVELOPE_BYTES + 1);
        assert_eq!(code(&long), "request_too_large");
        let twice = requests("{\"custom_id\": \"a\"}\n{\"custom_id\": \"a\"}");
        assert_eq!(twice[1].request.as_ref().unwrap_err().code, "duplicate_custom_id");
        assert_eq!(twice[1].custom_id.as_deref(), Some("a"));
    }
}
