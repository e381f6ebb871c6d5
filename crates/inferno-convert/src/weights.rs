//! The tensors of a checkpoint: safetensors files, mapped, and their index.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::ops::Range;
use std::path::Path;

use bytes::Bytes;
use inferno_gguf::MappedFile;
use safetensors::{Dtype, SafeTensors};
use serde_json::Value;

use crate::{ConvertError, json};

/// A tensor in a file.
#[derive(Debug, Clone)]
pub(crate) struct SourceTensor {
    pub(crate) name: String,
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<usize>,
    file: usize,
    /// Position in the file, in bytes.
    range: Range<usize>,
}

impl SourceTensor {
    /// Number of elements.
    pub(crate) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// The error of a tensor whose elements cannot be read as weights; `detail` follows the type.
    pub(crate) fn unexpected_type(&self, detail: &str) -> ConvertError {
        let found = format!("{:?} {detail}", self.dtype).trim_end().to_owned();
        ConvertError::ElementType { name: self.name.clone(), found }
    }
}

/// All tensors of a checkpoint, in the order of their names.
#[derive(Debug)]
pub(crate) struct Weights {
    files: Vec<MappedFile>,
    tensors: Vec<SourceTensor>,
    numbers: HashMap<String, usize>,
}

const INDEX: &str = "model.safetensors.index.json";

/// What Git stores for a large file.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1";

impl Weights {
    /// Maps the files in `folder` and validates their headers.
    pub(crate) fn open(folder: &Path) -> Result<Self, ConvertError> {
        let index = Index::read(folder)?;
        let names = match &index {
            Some(index) => index.files.keys().cloned().collect(),
            None => files_named(folder, "model", ".safetensors")?,
        };
        if names.is_empty() {
            let pickles = files_named(folder, "pytorch_model", ".bin")?;
            let folder = folder.to_owned();
            return Err(match pickles.into_iter().next() {
                Some(found) => ConvertError::Pickle { folder, found },
                None => ConvertError::MissingFile { folder, expected: "model.safetensors" },
            });
        }
        if index.is_none() {
            check_shards(folder, &names)?;
        }
        let (mut files, mut tensors) = (Vec::new(), BTreeMap::new());
        for name in names {
            let path = folder.join(&name);
            if let Some(index) = index.as_ref().filter(|_| !path.exists()) {
                let num_tensors = index.files[&name];
                return Err(ConvertError::MissingListedShard { path, num_tensors });
            }
            let mapped = MappedFile::open(&path)?;
            for tensor in read_header(&path, &mapped.bytes(), files.len())? {
                if let Some(index) = &index {
                    index.check(&tensor.name, &name)?;
                }
                if let Some(other) = tensors.insert(tensor.name.clone(), tensor) {
                    let reason = format!("tensor {} is in another file, too", other.name);
                    return Err(ConvertError::invalid(path, reason));
                }
            }
            files.push(mapped);
        }
        if let Some(index) = &index {
            index.check_complete(&tensors)?;
        }
        let tensors: Vec<_> = tensors.into_values().collect();
        let numbers = numbers(&tensors);
        Ok(Self { files, tensors, numbers })
    }

    /// Maps another file, whose tensors are named `prefix.NAME`.
    pub(crate) fn add(&mut self, path: &Path, prefix: &str) -> Result<(), ConvertError> {
        let mapped = MappedFile::open(path)?;
        for tensor in read_header(path, &mapped.bytes(), self.files.len())? {
            let name = format!("{prefix}.{}", tensor.name);
            self.tensors.push(SourceTensor { name, ..tensor });
        }
        self.files.push(mapped);
        self.tensors.sort_by(|a, b| a.name.cmp(&b.name));
        self.numbers = numbers(&self.tensors);
        Ok(())
    }

    /// The mapped files.
    pub(crate) fn files(&self) -> &[MappedFile] {
        &self.files
    }

    /// All tensors.
    pub(crate) fn tensors(&self) -> &[SourceTensor] {
        &self.tensors
    }

    /// The number of a tensor.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// The tensor with a number.
    pub(crate) fn tensor(&self, number: usize) -> &SourceTensor {
        &self.tensors[number]
    }

    /// Describes a tensor by another name and shape than the file does, for one whose elements are parts of words.
    pub(crate) fn describe(&mut self, number: usize, name: String, shape: Vec<usize>) {
        let tensor = &mut self.tensors[number];
        self.numbers.remove(&tensor.name);
        self.numbers.insert(name.clone(), number);
        (tensor.name, tensor.shape) = (name, shape);
    }

    /// The elements of a small tensor of numbers of 32 or 64 bits; none if they are of another type, negative or too large.
    pub(crate) fn sizes(&self, number: usize) -> Vec<usize> {
        let bytes = self.data(number);
        // Little-endian numbers of 32 or 64 bits, whose upper half is zero.
        let len = match self.tensor(number).dtype {
            Dtype::I32 => 4,
            Dtype::I64 => 8,
            _ => return Vec::new(),
        };
        let sizes = bytes.chunks_exact(len).map(|size| {
            let size = size.iter().rev().fold(0_u64, |size, &byte| size << 8 | u64::from(byte));
            u32::try_from(size).ok().map(|size| size as usize)
        });
        sizes.collect::<Option<_>>().unwrap_or_default()
    }

    /// The elements of a tensor of integers of 32 bits; none if they are of another type.
    pub(crate) fn integers(&self, number: usize) -> Vec<i32> {
        let bytes = self.data(number);
        match self.tensor(number).dtype {
            Dtype::I32 => bytes
                .chunks_exact(4)
                .map(|it| i32::from_le_bytes([it[0], it[1], it[2], it[3]]))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The bytes of a tensor, without copying.
    pub(crate) fn data(&self, number: usize) -> Bytes {
        let SourceTensor { file, range, .. } = &self.tensors[number];
        self.files[*file].bytes().slice(range.clone())
    }

    /// Starts reading a tensor from disk in the background.
    pub(crate) fn preload(&self, number: usize) {
        let SourceTensor { file, range, .. } = &self.tensors[number];
        self.files[*file].preload(range.clone());
    }

    /// Releases the memory of a part of a tensor, in bytes.
    pub(crate) fn release(&self, number: usize, part: Range<usize>) {
        let SourceTensor { file, range, .. } = &self.tensors[number];
        let end = (range.start + part.end).min(range.end);
        self.files[*file].release((range.start + part.start).min(end)..end);
    }
}

/// The numbers of tensors by their names.
fn numbers(tensors: &[SourceTensor]) -> HashMap<String, usize> {
    tensors.iter().enumerate().map(|(number, tensor)| (tensor.name.clone(), number)).collect()
}

/// Parses the header of a file; `file` is its number.
fn read_header(path: &Path, bytes: &[u8], file: usize) -> Result<Vec<SourceTensor>, ConvertError> {
    if bytes.starts_with(LFS_POINTER) {
        let reason =
            "this is a Git LFS pointer instead of the file itself; run git lfs pull in the folder";
        return Err(ConvertError::invalid(path, reason));
    }
    let parsed = SafeTensors::deserialize(bytes);
    let parsed = parsed.map_err(|error| {
        ConvertError::invalid(path, format!("damaged or incomplete safetensors file: {error}"))
    })?;
    let start = bytes.as_ptr() as usize;
    let tensors = parsed.tensors().into_iter().map(|(name, view)| {
        let offset = view.data().as_ptr() as usize - start;
        let range = offset..offset + view.data().len();
        SourceTensor { name, dtype: view.dtype(), shape: view.shape().to_vec(), file, range }
    });
    let tensors: Vec<_> = tensors.collect();
    match tensors.iter().find(|tensor| !is_addressable(&tensor.shape)) {
        None => Ok(tensors),
        Some(SourceTensor { name, shape, .. }) => {
            let reason = format!("tensor {name} has sizes that are too large: {shape:?}");
            Err(ConvertError::invalid(path, reason))
        }
    }
}

/// Whether products of sizes, and numbers of bits of words, do not overflow. A tensor without elements can have any other sizes.
pub(crate) fn is_addressable(shape: &[usize]) -> bool {
    let mut sizes = shape.iter();
    sizes.try_fold(256_usize, |bits, size| bits.checked_mul((*size).max(1))).is_some()
}

/// The files of a folder with this beginning and ending, sorted.
pub(crate) fn files_named(
    folder: &Path,
    prefix: &str,
    suffix: &str,
) -> Result<Vec<String>, ConvertError> {
    let error = |error| ConvertError::Io { path: folder.to_owned(), error };
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(error)? {
        if let Ok(name) = entry.map_err(error)?.file_name().into_string()
            && name.starts_with(prefix)
            && name.ends_with(suffix)
        {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Checks that files named `…-00001-of-00003.safetensors` are complete, for folders without an index.
fn check_shards(folder: &Path, names: &[String]) -> Result<(), ConvertError> {
    let shards = names.iter().filter_map(|name| {
        let (first, total) = name.strip_suffix(".safetensors")?.rsplit_once("-of-")?;
        let (stem, number) = first.rsplit_once('-')?;
        let digits = number.len();
        number.parse::<usize>().ok()?;
        Some((stem, digits, total, total.parse::<usize>().ok()?))
    });
    for (stem, digits, total, count) in shards {
        // No folder has more files than that.
        let missing = (1..=count.min(100_000))
            .map(|number| format!("{stem}-{number:0digits$}-of-{total}.safetensors"))
            .find(|name| !names.contains(name));
        if let Some(missing) = missing {
            return Err(ConvertError::MissingShard {
                path: folder.join(missing),
                num_shards: count,
            });
        }
    }
    Ok(())
}

/// `model.safetensors.index.json`.
struct Index {
    path: std::path::PathBuf,
    /// The file of each tensor.
    tensors: BTreeMap<String, String>,
    /// Number of tensors in each file.
    files: BTreeMap<String, usize>,
}

impl Index {
    fn read(folder: &Path) -> Result<Option<Self>, ConvertError> {
        let path = folder.join(INDEX);
        let Some(index) = json::read_object(&path)? else {
            return Ok(None);
        };
        let Some(map) = index.get("weight_map").and_then(Value::as_object) else {
            return Err(ConvertError::invalid(path, "expected an object \"weight_map\""));
        };
        let (mut tensors, mut files) = (BTreeMap::new(), BTreeMap::new());
        for (tensor, file) in map {
            // Never a path out of the folder.
            let file = file.as_str().filter(|name| !name.contains(['/', '\\']) && *name != "..");
            let Some(file) = file else {
                let reason = format!("the file of {tensor} is not the name of a file");
                return Err(ConvertError::invalid(path, reason));
            };
            *files.entry(file.to_owned()).or_default() += 1;
            tensors.insert(tensor.clone(), file.to_owned());
        }
        Ok(Some(Self { path, tensors, files }))
    }

    fn mismatch(&self, reason: String) -> ConvertError {
        ConvertError::IndexMismatch { path: self.path.clone(), reason }
    }

    /// Checks that a tensor of a file is listed for it.
    fn check(&self, tensor: &str, file: &str) -> Result<(), ConvertError> {
        match self.tensors.get(tensor) {
            Some(listed) if listed == file => Ok(()),
            Some(listed) => {
                Err(self.mismatch(format!("{tensor} is in {file}, but listed for {listed}")))
            }
            None => Err(self.mismatch(format!("{tensor} in {file} is not listed"))),
        }
    }

    /// Checks that every listed tensor exists.
    fn check_complete(&self, found: &BTreeMap<String, SourceTensor>) -> Result<(), ConvertError> {
        match self.tensors.iter().find(|(tensor, _)| !found.contains_key(*tensor)) {
            None => Ok(()),
            Some((tensor, file)) => {
                Err(self.mismatch(format!("{tensor} is listed for {file}, but not in it")))
            }
        }
    }
}
