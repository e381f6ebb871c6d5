//! Checkpoints that are split into several files, `NAME-00001-of-00003.gguf` and so on.
//!
//! Invariant: the paths of the other shards are that of the given one with another number; they never depend on the
//! contents of a file.

use std::io;
use std::path::Path;

use crate::file::{Contents, Storage};
use crate::{GgufError, Metadata, Result};

const NUMBER_KEY: &str = "split.no";
const COUNT_KEY: &str = "split.count";
const TENSOR_COUNT_KEY: &str = "split.tensors.count";

/// The parsed name of a shard, `PREFIX-00001-of-00003.gguf`.
///
/// ```
/// use inferno_gguf::ShardName;
///
/// let name = ShardName::parse("q8_0/model-00002-of-00011.gguf").expect("a shard's name");
/// assert_eq!((name.prefix(), name.number(), name.count()), ("q8_0/model", 2, 11));
/// assert_eq!(name.sibling(1), "q8_0/model-00001-of-00011.gguf");
/// assert_eq!(ShardName::parse("model.gguf"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardName<'a> {
    prefix: &'a str,
    number: u64,
    count: u64,
}

impl<'a> ShardName<'a> {
    /// Parses a file name, or a path with slashes; `None` if it does not have the form of a shard's name.
    pub fn parse(name: &'a str) -> Option<Self> {
        let (rest, count) = name.strip_suffix(".gguf")?.rsplit_once("-of-")?;
        let (prefix, number) = rest.rsplit_once('-')?;
        let parse = |digits: &str| {
            let five_digits = digits.len() == 5 && digits.bytes().all(|b| b.is_ascii_digit());
            five_digits.then(|| digits.parse().ok())?
        };
        let (number, count) = (parse(number)?, parse(count)?);
        (1..=count).contains(&number).then_some(Self { prefix, number, count })
    }

    /// What precedes the shard's number, without the hyphen.
    pub fn prefix(&self) -> &'a str {
        self.prefix
    }

    /// The shard's number, starting at 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Number of shards.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The name of another shard.
    pub fn sibling(&self, number: u64) -> String {
        format!("{}-{number:05}-of-{:05}.gguf", self.prefix, self.count)
    }
}

/// Opens the file at `path`, or all shards in order if it is part of a split checkpoint.
pub(crate) fn open_all(path: &Path) -> Result<Vec<(Storage, Contents)>> {
    let given = open(path)?;
    let stated_count = given.1.metadata.optional::<u64>(COUNT_KEY).map_err(|e| e.in_file(path))?;
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.and_then(ShardName::parse);
    let (name, count) = match (name, stated_count) {
        // Not split, whatever its name.
        (_, None) => return Ok(vec![given]),
        // Some tools write a count of 0 or 1 for a single file.
        (None, Some(0 | 1)) => return Ok(vec![given]),
        (Some(name), Some(0 | 1)) if name.count == 1 => return Ok(vec![given]),
        (None, Some(count)) => {
            return Err(GgufError::ShardName { path: path.to_owned(), count });
        }
        (Some(name), Some(found)) if name.count != found => {
            let expected = name.count;
            return Err(GgufError::ShardMismatch {
                path: path.to_owned(),
                key: COUNT_KEY,
                expected,
                found,
            });
        }
        (Some(name), Some(count)) => (name, count),
    };

    let mut given = Some(given);
    let mut shards = Vec::new();
    for number in 1..=count {
        let shard_path = path.with_file_name(name.sibling(number));
        let shard = match given.take_if(|_| number == name.number) {
            Some(given) => given,
            None => open(&shard_path).map_err(|error| missing(error, count))?,
        };
        check(&shard.1.metadata, &shard_path, number, count)?;
        shards.push(shard);
    }
    check_tensor_counts(path, &shards)?;
    Ok(shards)
}

fn open(path: &Path) -> Result<(Storage, Contents)> {
    let storage = Storage::map(path)?;
    let contents = Contents::read(&storage.bytes).map_err(|error| error.in_file(path))?;
    Ok((storage, contents))
}

/// Converts "file not found" to a missing shard.
fn missing(error: GgufError, count: u64) -> GgufError {
    match error {
        GgufError::Io { path, error } if error.kind() == io::ErrorKind::NotFound => {
            GgufError::ShardMissing { path, count }
        }
        error => error,
    }
}

/// Checks that a shard's metadata matches its name.
fn check(metadata: &Metadata, path: &Path, number: u64, count: u64) -> Result<()> {
    for (key, expected) in [(COUNT_KEY, count), (NUMBER_KEY, number - 1)] {
        let found = metadata.required::<u64>(key).map_err(|error| error.in_file(path))?;
        if found != expected {
            return Err(GgufError::ShardMismatch { path: path.to_owned(), key, expected, found });
        }
    }
    Ok(())
}

/// Checks the total number of tensors against the metadata of each shard.
fn check_tensor_counts(path: &Path, shards: &[(Storage, Contents)]) -> Result<()> {
    let found_tensors: u64 = shards.iter().map(|(_, c)| c.index.tensors().len() as u64).sum();
    for (storage, contents) in shards {
        let path = storage.path.as_deref().unwrap_or(path);
        let stated = contents.metadata.required::<u64>(TENSOR_COUNT_KEY);
        let found = stated.map_err(|error| error.in_file(path))?;
        if found != found_tensors {
            return Err(GgufError::ShardMismatch {
                path: path.to_owned(),
                key: TENSOR_COUNT_KEY,
                expected: found_tensors,
                found,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_name_is_parsed_and_gives_its_siblings() {
        let name = ShardName::parse("models/a-of-b-00002-of-00011.gguf").unwrap();
        assert_eq!(name, ShardName { prefix: "models/a-of-b", number: 2, count: 11 });
        assert_eq!(name.sibling(10), "models/a-of-b-00010-of-00011.gguf");
    }

    #[test]
    fn other_names_are_not_shard_names() {
        for name in [
            "model.gguf",
            "model-00001-of-00003.bin",
            "model-1-of-3.gguf",
            "model-00000-of-00003.gguf",
            "model-00004-of-00003.gguf",
            "model-+0001-of-00003.gguf",
            "-of-.gguf",
        ] {
            assert_eq!(ShardName::parse(name), None, "{name}");
        }
    }
}
