//! Outputs that an earlier run has started.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Seek, SeekFrom};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::BatchCounts;
use super::answers::{LINE_START, is_success};
use super::failures::RequestFailure;
use super::lines::{Line, Lines};
use super::requests::BatchRequest;
use crate::{Error, OutputError};

/// The longest line that may be an answer. Other files may have lines of any length.
const MAX_ANSWER_BYTES: usize = 1 << 30;

/// An output file, after its complete lines.
pub(crate) struct ResumedOutput {
    pub file: File,
    /// The answers that it contains.
    pub counts: BatchCounts,
    /// The answers of another model.
    pub other_model: Option<OtherModel>,
}

/// Answers whose model has another name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OtherModel {
    /// The name of the first such model.
    pub name: String,
    pub num_answers: usize,
}

/// The fields of an answer that identify its request and its outcome.
#[derive(Deserialize)]
struct WrittenAnswer<'a> {
    id: String,
    #[serde(borrow)]
    response: Option<WrittenResponse<'a>>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct WrittenResponse<'a> {
    status_code: u16,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
}

/// The field of a body that names the model.
#[derive(Deserialize)]
struct WrittenModel {
    model: String,
}

impl WrittenAnswer<'_> {
    fn failure(&self) -> Option<RequestFailure> {
        match (&self.error, &self.response) {
            (Some(error), _) => Some(RequestFailure::new(error, None)),
            (None, Some(response)) if is_success(response.status_code) => None,
            (None, response) => {
                let body = self.body().and_then(|body| serde_json::from_str(body).ok());
                let status = response.as_ref().map(|response| response.status_code);
                Some(RequestFailure::new(&body.unwrap_or_default(), status))
            }
        }
    }

    /// Returns the name of the model that answered, if the body contains it.
    fn model(&self) -> Option<String> {
        let written: WrittenModel = serde_json::from_str(self.body()?).ok()?;
        Some(written.model)
    }

    fn body(&self) -> Option<&str> {
        Some(self.response.as_ref()?.body?.get())
    }
}

/// Opens an output and reads the requests that it answers from `requests`; `model` is the name in new answers. An incomplete
/// last line is removed. The file stays locked while it is open.
///
/// **Errors**: [`OutputError::OtherBatch`] for a file that is not the output of these requests, which is left unchanged;
/// [`OutputError::InUse`]; a file that cannot be read or written.
pub(crate) fn resume(
    path: &Path,
    model: &str,
    requests: &mut impl Iterator<Item = io::Result<BatchRequest>>,
    unreadable: impl Fn(io::Error) -> Error,
) -> Result<ResumedOutput, Error> {
    let failed = |error| Error::io(path, error);
    let differs = |line| Error::Output(OutputError::OtherBatch { path: path.to_owned(), line });
    let mut file = open(path)?;
    let (mut counts, mut complete_bytes) = (BatchCounts::default(), 0);
    let mut other_model: Option<OtherModel> = None;
    for line in Lines::new(BufReader::new(&file), MAX_ANSWER_BYTES) {
        let line = line.map_err(failed)?;
        let number = counts.num_requests + 1;
        if !line.is_terminated {
            // Only an answer that was not completely written may be removed.
            let start = &line.bytes[..line.bytes.len().min(LINE_START.len())];
            if !LINE_START.starts_with(start) {
                return Err(differs(number));
            }
            break;
        }
        let request = requests.next().transpose().map_err(&unreadable)?;
        match (request, parsed(&line)) {
            (Some(request), Some(answer)) if request.id == answer.id => {
                counts.add(answer.failure());
                if let Some(name) = answer.model().filter(|name| name != model) {
                    other_model.get_or_insert(OtherModel { name, num_answers: 0 }).num_answers += 1;
                }
            }
            _ => return Err(differs(number)),
        }
        complete_bytes += line.num_bytes;
    }
    if file.metadata().map_err(failed)?.len() > complete_bytes {
        file.set_len(complete_bytes).map_err(failed)?;
    }
    file.seek(SeekFrom::Start(complete_bytes)).map_err(failed)?;
    Ok(ResumedOutput { file, counts, other_model })
}

/// Opens a regular file for reading and writing, and locks it.
fn open(path: &Path) -> Result<File, Error> {
    let failed = |error| Error::io(path, error);
    if path.exists() && !path.is_file() {
        return Err(Error::Output(OutputError::NotFile { path: path.to_owned() }));
    }
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    let file = file.map_err(failed)?;
    match file.try_lock() {
        // Some file systems have no locks.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(Error::Output(OutputError::InUse { path: path.to_owned() }))
        }
    }
}

fn parsed(line: &Line) -> Option<WrittenAnswer<'_>> {
    serde_json::from_slice(&line.bytes).ok().filter(|_| !line.is_too_long)
}
