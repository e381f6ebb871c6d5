//! Request bodies: JSON whose every field is read, ignored with a report, or rejected by name.

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;

use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Body as _;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::preparation::{Preparation, UNRESERVED_BYTES, parsed_bytes};
use crate::Limits;
use crate::errors::ApiError;
use crate::fields::{
    self, FieldTable, UnknownFields, is_given, mismatch, path_notation, unknown_field,
};
use crate::state::App;

/// A request that is read from a JSON object.
pub(crate) trait RequestBody: Sized + Send + 'static {
    /// Fields that the API defines and this server does not implement.
    const UNIMPLEMENTED: &'static [FieldTable] = &[];

    /// Fields of other endpoints, and what to use instead. They would change the answer, so they are errors.
    const ELSEWHERE: &'static [(&'static str, &'static str)] = &[];

    /// Reads each structure of the request; a field is known if any of them has it.
    ///
    /// **Errors**: those of [`Reader::part`].
    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError>;
}

/// A received, checked and parsed body.
pub(crate) struct Body<T> {
    pub request: T,
    /// What is ignored in the request, for parts that are read later.
    pub unknown: UnknownFields,
    /// Runs the remaining preparation, and holds the memory reservation until it is dropped.
    pub preparation: Preparation,
}

/// Reads one JSON object as one or more structures, and collects the fields that none of them has.
///
/// It replaces serde's `flatten`, which does not report unknown fields.
pub(crate) struct Reader<'j> {
    json: &'j Value,
    /// Fields of the object itself that no structure has read so far.
    unread: Option<BTreeSet<String>>,
    /// Nested fields that no structure reads.
    unread_inside: Vec<String>,
}

impl<'j> Reader<'j> {
    fn new(json: &'j Value) -> Self {
        Self { json, unread: None, unread_inside: Vec::new() }
    }

    /// Whether the object has this field, and it is not null.
    pub fn has(&self, name: &str) -> bool {
        !self.json[name].is_null()
    }

    /// Reads the fields of `T`.
    ///
    /// **Errors**: 400 that names the field which is missing or has the wrong type.
    pub fn part<T: DeserializeOwned>(&mut self) -> Result<T, ApiError> {
        let mut unread = BTreeSet::new();
        let inside = &mut self.unread_inside;
        let mut track = serde_path_to_error::Track::new();
        let deserializer = serde_path_to_error::Deserializer::new(self.json, &mut track);
        let part = serde_ignored::deserialize(deserializer, |path| match path {
            path if !is_given(self.json, &path) => {}
            serde_ignored::Path::Map { parent: serde_ignored::Path::Root, key } => {
                unread.insert(key);
            }
            path => inside.push(path_notation(&path)),
        })
        .map_err(|error| mismatch(&track.path().to_string(), &error))?;
        self.unread = Some(match self.unread.take() {
            Some(before) => before.intersection(&unread).cloned().collect(),
            None => unread,
        });
        Ok(part)
    }

    /// Reports or rejects the fields that were neither read nor listed as unimplemented.
    fn finish<R: RequestBody>(self, unknown: &UnknownFields) -> Result<(), ApiError> {
        let unread = self.unread.unwrap_or_default();
        for name in unread.iter().chain(&self.unread_inside) {
            if fields::is_listed(R::UNIMPLEMENTED, name) {
                continue;
            }
            if let Some((_, advice)) = R::ELSEWHERE.iter().find(|(field, _)| field == name) {
                return Err(unknown_field(name, advice));
            }
            unknown.found(name)?;
        }
        Ok(())
    }
}

impl<T: RequestBody> FromRequest<Arc<App>> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ApiError> {
        check_content_type(request.headers())?;
        let unknown = request.extensions().get::<UnknownFields>().cloned().unwrap_or_default();
        let mut preparation = app.preparation.begin();
        preparation.unknown = unknown.clone();
        let bytes = receive(request.into_body(), app.options.limits, &mut preparation).await?;
        let is_small = bytes.len() <= UNRESERVED_BYTES;
        if bytes.is_empty() {
            let message = "the body is empty; it must be a JSON object";
            return Err(ApiError::new(StatusCode::BAD_REQUEST, message).with_code("invalid_json"));
        }
        let measure = move || parsed_bytes(&bytes).map(|size| (bytes, size)).map_err(not_json);
        let (bytes, size) = match is_small {
            // Parsing takes less time than switching threads.
            true => measure()?,
            false => preparation.run(measure).await?,
        };
        preparation.reserve_parsed(size).await?;
        let unread = unknown.clone();
        let parse = move || parse(&bytes, &unread);
        let request = match is_small {
            true => parse()?,
            false => preparation.run(parse).await?,
        };
        preparation.release_body();
        Ok(Self { request, unknown, preparation })
    }
}

/// Receives a body that is read again by the endpoint, and reserves its memory until the preparation is dropped.
///
/// **Errors**: as those of [`Body`], before it is parsed.
pub(crate) async fn receive_whole(
    body: axum::body::Body,
    app: &App,
) -> Result<(Vec<u8>, Preparation), ApiError> {
    let mut preparation = app.preparation.begin();
    let bytes = receive(body, app.options.limits, &mut preparation).await?;
    Ok((bytes, preparation))
}

/// Receives a body. Beyond the bytes that need no reservation, it reserves memory before it continues.
///
/// **Errors**: 413 for more than the limit, 408 for a client that is too slow, 503 without memory.
async fn receive(
    body: axum::body::Body,
    limits: Limits,
    preparation: &mut Preparation,
) -> Result<Vec<u8>, ApiError> {
    let declared = body.size_hint().upper().and_then(|len| usize::try_from(len).ok());
    let expected = declared.unwrap_or(limits.max_body_bytes).min(limits.max_body_bytes);
    let mut body = Limited::new(body, limits.max_body_bytes);
    let mut bytes = Vec::new();
    receive_until(&mut body, &mut bytes, UNRESERVED_BYTES, limits).await?;
    if bytes.len() >= UNRESERVED_BYTES {
        preparation.reserve_body(expected).await?;
        bytes.reserve_exact(declared.map_or(0, |_| expected.saturating_sub(bytes.len())));
        receive_until(&mut body, &mut bytes, usize::MAX, limits).await?;
    }
    Ok(bytes)
}

/// Receives at least `len` bytes, or all there are.
async fn receive_until(
    body: &mut Limited<axum::body::Body>,
    bytes: &mut Vec<u8>,
    len: usize,
    limits: Limits,
) -> Result<(), ApiError> {
    let receiving = async {
        while bytes.len() < len {
            let Some(frame) = body.frame().await else {
                break;
            };
            let frame = frame.map_err(|error| unreadable(&*error, limits.max_body_bytes))?;
            if let Some(data) = frame.data_ref() {
                bytes.extend_from_slice(data);
            }
        }
        Ok(())
    };
    tokio::time::timeout(limits.read_timeout, receiving).await.unwrap_or_else(|_| {
        let message = format!("the body was not received within {:?}", limits.read_timeout);
        Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, message))
    })
}

pub(crate) fn not_json(error: serde_json::Error) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, format!("the body is not JSON: {error}"))
        .with_code("invalid_json")
}

fn parse<T: RequestBody>(bytes: &[u8], unknown: &UnknownFields) -> Result<T, ApiError> {
    let mut json: Value = serde_json::from_slice(bytes).map_err(not_json)?;
    let Some(fields) = json.as_object_mut() else {
        let message = "the body must be a JSON object";
        return Err(ApiError::new(StatusCode::BAD_REQUEST, message).with_code("invalid_type"));
    };
    fields.values_mut().for_each(to_integer);
    fields::check(&json, T::UNIMPLEMENTED, unknown)?;
    let mut reader = Reader::new(&json);
    let body = T::read(&mut reader).map_err(|error| {
        // The wrong endpoint is the more useful error.
        let mut others = T::ELSEWHERE.iter().filter(|(field, _)| !json[field].is_null());
        others.next().map_or(error, |(field, advice)| unknown_field(field, advice))
    })?;
    reader.finish::<T>(unknown)?;
    Ok(body)
}

/// Converts a number without a fractional part, such as `3.0`, to an integer, as JSON Schema defines integers.
pub(crate) fn to_integer(value: &mut Value) {
    /// Integers up to 2^53 are exact.
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    let float = value.as_f64().filter(|_| value.is_f64());
    if let Some(float) = float.filter(|it| it.fract() == 0.0 && it.abs() <= MAX_EXACT) {
        *value = Value::from(float as i64);
    }
}

/// Accepts bodies of any declared type, as `curl -d` declares a form, except from browsers. A page of any site may send a
/// form or plain text without a preflight request, but not JSON; browsers mark all requests of pages with these headers.
///
/// **Errors**: 415 for a browser's request without a JSON content type; 415 for a compressed body.
pub(crate) fn check_content_type(headers: &HeaderMap) -> Result<(), ApiError> {
    if headers.get(header::CONTENT_ENCODING).is_some_and(|coding| coding != "identity") {
        let message = "the body is compressed; send it without a content-encoding";
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let is_from_browser = headers.contains_key(header::ORIGIN)
        || headers.contains_key(HeaderName::from_static("sec-fetch-site"));
    if essence.eq_ignore_ascii_case("application/json") || !is_from_browser {
        return Ok(());
    }
    let found = if essence.is_empty() { "none" } else { essence };
    let message = format!(
        "the content type of requests from browsers must be application/json, found {found}; send the header \"content-type: \
         application/json\""
    );
    Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message))
}

fn unreadable(error: &(dyn Error + Send + Sync + 'static), limit: usize) -> ApiError {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<http_body_util::LengthLimitError>() {
            let message = format!(
                "the body exceeds the limit of {limit} bytes (--max-body-size, in Python max_body_bytes)"
            );
            return ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, message);
        }
        cause = error.source();
    }
    ApiError::new(StatusCode::BAD_REQUEST, format!("failed to receive the body: {error}"))
}
