//! Request bodies: JSON whose every field is either read or rejected by name.

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;

use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Body as _;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::UnknownFields;
use super::mismatch::mismatch;
use super::preparation::{Preparation, UNRESERVED_BYTES, parsed_bytes};
use crate::Limits;
use crate::errors::{ApiError, shortened};
use crate::state::App;

/// A field that an API defines and this server does not support, with the reason.
pub(crate) type Unsupported = (&'static str, &'static str);

/// A request that is read from a JSON object.
pub(crate) trait RequestBody: Sized + Send + 'static {
    /// Fields that the API defines and that are rejected, even if unknown fields are ignored.
    const UNSUPPORTED: &'static [&'static [Unsupported]] = &[];

    /// Fields of other endpoints, and what to use instead.
    const ELSEWHERE: &'static [Unsupported] = &[];

    /// Reads each structure of the request; a field is known if any of them has it.
    ///
    /// **Errors**: those of [`Reader::part`].
    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError>;
}

/// A received, checked and parsed body.
pub(crate) struct Body<T> {
    pub request: T,
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

    /// Rejects the fields that were not read.
    fn finish(
        self,
        unsupported: &[&[Unsupported]],
        elsewhere: &[Unsupported],
        unknown: UnknownFields,
    ) -> Result<(), ApiError> {
        let unread = self.unread.unwrap_or_default();
        for name in &unread {
            if let Some((_, why)) =
                unsupported.iter().copied().flatten().find(|(field, _)| field == name)
            {
                return Err(ApiError::unsupported(name, why));
            }
        }
        match unread.iter().chain(&self.unread_inside).next() {
            Some(name) if unknown == UnknownFields::Rejected => Err(unknown_field(name, elsewhere)),
            _ => Ok(()),
        }
    }
}

/// Whether the value at a path is not null; null fields count as missing.
pub(super) fn is_given(json: &Value, path: &serde_ignored::Path<'_>) -> bool {
    !found(json, path).is_null()
}

fn found<'j>(json: &'j Value, path: &serde_ignored::Path<'_>) -> &'j Value {
    use serde_ignored::Path;
    match path {
        Path::Root => json,
        Path::Seq { parent, index } => &found(json, parent)[*index],
        Path::Map { parent, key } => &found(json, parent)[key.as_str()],
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => found(json, parent),
    }
}

/// A path in the notation of type errors, such as `messages[0].role`.
pub(super) fn path_notation(path: &serde_ignored::Path<'_>) -> String {
    use serde_ignored::Path;
    match path {
        Path::Root => String::new(),
        Path::Seq { parent, index } => format!("{}[{index}]", path_notation(parent)),
        Path::Map { parent, key } => match path_notation(parent) {
            parent if parent.is_empty() => key.clone(),
            parent => format!("{parent}.{key}"),
        },
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => path_notation(parent),
    }
}

/// The error for a field that the API does not define, or that another endpoint has.
pub(super) fn unknown_field(path: &str, elsewhere: &[Unsupported]) -> ApiError {
    let known = elsewhere.iter().find(|(field, _)| *field == path);
    let advice = known.map_or("remove it", |(_, advice)| advice);
    let message = format!("unknown field {}; {advice}", shortened(path));
    ApiError::invalid(path, message).with_code("unknown_field")
}

impl<T: RequestBody> FromRequest<Arc<App>> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ApiError> {
        check_content_type(request.headers())?;
        let mut preparation = app.preparation.begin();
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
        let unknown = app.options.unknown_fields();
        let parse = move || parse(&bytes, unknown);
        let request = match is_small {
            true => parse()?,
            false => preparation.run(parse).await?,
        };
        preparation.release_body();
        Ok(Self { request, preparation })
    }
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

fn not_json(error: serde_json::Error) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, format!("the body is not JSON: {error}"))
        .with_code("invalid_json")
}

fn parse<T: RequestBody>(bytes: &[u8], unknown: UnknownFields) -> Result<T, ApiError> {
    let json: Value = serde_json::from_slice(bytes).map_err(not_json)?;
    if !json.is_object() {
        let message = "the body must be a JSON object";
        return Err(ApiError::new(StatusCode::BAD_REQUEST, message).with_code("invalid_type"));
    }
    let mut reader = Reader::new(&json);
    let body = T::read(&mut reader).map_err(|error| {
        // The wrong endpoint is the more useful error.
        let mut elsewhere = T::ELSEWHERE.iter().map(|(field, _)| field);
        let field = elsewhere.find(|field| !json[field].is_null());
        field.map_or(error, |field| unknown_field(field, T::ELSEWHERE))
    })?;
    reader.finish(T::UNSUPPORTED, T::ELSEWHERE, unknown)?;
    Ok(body)
}

fn check_content_type(headers: &HeaderMap) -> Result<(), ApiError> {
    if headers.get(header::CONTENT_ENCODING).is_some_and(|coding| coding != "identity") {
        let message = "the body is compressed; send it without a content-encoding";
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let found = if essence.is_empty() { "none" } else { essence };
    let message = format!(
        "the content type must be application/json, found {found}; send the header \"content-type: application/json\""
    );
    Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message))
}

fn unreadable(error: &(dyn Error + Send + Sync + 'static), limit: usize) -> ApiError {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<http_body_util::LengthLimitError>() {
            let message = format!("the body exceeds the limit of {limit} bytes (--max-body-size)");
            return ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, message);
        }
        cause = error.source();
    }
    ApiError::new(StatusCode::BAD_REQUEST, format!("failed to receive the body: {error}"))
}
