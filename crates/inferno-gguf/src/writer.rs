//! Writing files: first the metadata and the tensor index, then the payloads in order.
//!
//! Invariant: no file exists at the final path before every payload is complete.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::header::{MAGIC, VERSION};
use crate::metadata::{encode_metadata, encode_string};
use crate::tensor_index::TensorIndex;
use crate::{GgmlType, GgufError, Metadata, PayloadError, Result, TensorInfo};

/// Magic, version, and two counts.
const HEADER_BYTES: u64 = 4 + 4 + 8 + 8;

/// Maximum length of a tensor name: ggml reserves 64 bytes, including a terminating zero.
const MAX_WRITTEN_NAME_BYTES: u64 = 63;

/// Maximum size of the data section: addressable by file systems and far from overflowing `u64`.
const MAX_DATA_BYTES: u64 = i64::MAX as u64 / 2;

/// The metadata and tensor index of a file to be written.
///
/// Payloads are written with a [`PayloadWriter`], in chunks of any size, so a file can be much larger
/// than memory. Files have version 3 and the alignment of `general.alignment` in the metadata
/// (default: 32).
///
/// ```no_run
/// # fn quantize(row: &[u8]) -> Vec<u8> { row.to_vec() }
/// use inferno_gguf::{GgmlType, Gguf, GgufWriter};
///
/// let source = Gguf::open("f16.gguf")?;
/// let mut metadata = source.metadata().clone();
/// metadata.insert("general.file_type", 7_u32);
///
/// let mut writer = GgufWriter::new(&metadata)?;
/// for info in source.tensors() {
///     writer.add_tensor(info.name(), info.dims(), GgmlType::Q8_0)?;
/// }
/// let mut payloads = writer.create("q8_0.gguf")?;
/// for info in source.tensors() {
///     for row in source.data(info).chunks(2 * info.dims()[0]) {
///         payloads.append(info.name(), &quantize(row))?;
///     }
/// }
/// payloads.finish()?;
/// # Ok::<(), inferno_gguf::GgufError>(())
/// ```
#[derive(Debug, Clone)]
pub struct GgufWriter {
    num_entries: usize,
    alignment: u64,
    metadata: Vec<u8>,
    index: TensorIndex,
    encoded_index: Vec<u8>,
    /// Offset of the next payload in the data section.
    next_data_offset: u64,
}

impl GgufWriter {
    /// Creates a file with this metadata and without tensors.
    ///
    /// **Errors**: [`GgufError::WrittenNameTooLong`], [`GgufError::NestedTooDeep`] and
    /// [`GgufError::BadAlignment`], for metadata that a reader would reject.
    pub fn new(metadata: &Metadata) -> Result<Self> {
        let (encoded_metadata, alignment) = encode_metadata(metadata, HEADER_BYTES)?;
        Ok(Self {
            num_entries: metadata.len(),
            alignment,
            metadata: encoded_metadata,
            index: TensorIndex::default(),
            encoded_index: Vec::new(),
            next_data_offset: 0,
        })
    }

    /// Adds a tensor; `dims` are in the order of the file, fastest first.
    ///
    /// **Errors**: [`GgufError::WrittenNameTooLong`] (the maximum is 63 bytes),
    /// [`GgufError::DuplicateTensor`], [`GgufError::TooManyDims`], [`GgufError::ZeroDim`],
    /// [`GgufError::PartialBlock`], [`GgufError::SizeOverflow`].
    pub fn add_tensor(&mut self, name: &str, dims: &[usize], ggml_type: GgmlType) -> Result<()> {
        let entry_offset = HEADER_BYTES + (self.metadata.len() + self.encoded_index.len()) as u64;
        if name.len() as u64 > MAX_WRITTEN_NAME_BYTES {
            return Err(GgufError::WrittenNameTooLong {
                what: "tensor name",
                name: name.to_owned(),
                max: MAX_WRITTEN_NAME_BYTES,
            });
        }
        let dims: Vec<u64> = dims.iter().map(|&dim| dim as u64).collect();
        let mut info = TensorInfo::new(name.to_owned(), &dims, ggml_type, entry_offset)?;
        info.data_offset = self.next_data_offset;
        let end = info
            .data_offset
            .checked_add(info.num_bytes() as u64)
            .and_then(|end| end.checked_next_multiple_of(self.alignment))
            .filter(|&end| end <= MAX_DATA_BYTES);
        let Some(end) = end else {
            return Err(GgufError::SizeOverflow {
                tensor: name.to_owned(),
                dims,
                offset: entry_offset,
            });
        };
        self.index.push(info)?;

        let out = &mut self.encoded_index;
        encode_string(name, out);
        out.extend_from_slice(&(dims.len() as u32).to_le_bytes());
        out.extend(dims.iter().flat_map(|dim| dim.to_le_bytes()));
        out.extend_from_slice(&ggml_type.id().to_le_bytes());
        out.extend_from_slice(&self.next_data_offset.to_le_bytes());
        self.next_data_offset = end;
        Ok(())
    }

    /// Size of the complete file, in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.data_start() + self.next_data_offset
    }

    /// Starts writing the file at `path`, under a temporary name in the same directory until it is
    /// complete.
    ///
    /// **Errors**: [`GgufError::Io`].
    pub fn create(self, path: impl AsRef<Path>) -> Result<PayloadWriter<TemporaryFile>> {
        self.begin(TemporaryFile::new(path.as_ref())?)
    }

    /// Starts writing the file in memory.
    pub fn in_memory(self) -> PayloadWriter<Vec<u8>> {
        match self.begin(Vec::new()) {
            Ok(payloads) => payloads,
            Err(_) => unreachable!("writing to memory does not fail"),
        }
    }

    /// The index of the file, with the positions that payloads would have in it.
    pub(crate) fn into_index(self) -> (u64, TensorIndex) {
        let data_start = self.data_start();
        let mut index = TensorIndex::default();
        for mut info in self.index.into_tensors() {
            info.file_offset = data_start + info.data_offset;
            match index.push(info) {
                Ok(()) => (),
                Err(_) => unreachable!("the names of a writer's tensors are unique"),
            }
        }
        (self.alignment, index)
    }

    /// Offset of the data section in the file.
    fn data_start(&self) -> u64 {
        let index_end = HEADER_BYTES + (self.metadata.len() + self.encoded_index.len()) as u64;
        index_end.next_multiple_of(self.alignment)
    }

    fn begin<D: Destination>(self, destination: D) -> Result<PayloadWriter<D>> {
        let mut header = Vec::with_capacity(HEADER_BYTES as usize);
        header.extend_from_slice(&MAGIC);
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&(self.index.tensors().len() as u64).to_le_bytes());
        header.extend_from_slice(&(self.num_entries as u64).to_le_bytes());

        let alignment = self.alignment;
        let tensors = self.index.into_tensors();
        let mut payloads =
            PayloadWriter { destination, alignment, tensors, current: 0, written: 0, position: 0 };
        for part in [&header, &self.metadata, &self.encoded_index] {
            payloads.write(part)?;
        }
        payloads.pad()?;
        Ok(payloads)
    }
}

/// Writes the payloads of a file in the order in which its tensors were added.
///
/// If it is dropped before [`finish`](Self::finish), the file is deleted. After [`GgufError::Io`], the
/// file cannot be completed, as it is unknown how much was written.
#[derive(Debug)]
pub struct PayloadWriter<D: Destination> {
    destination: D,
    alignment: u64,
    tensors: Vec<TensorInfo>,
    /// The tensor whose payload is being written.
    current: usize,
    /// Number of bytes written of that payload.
    written: u64,
    /// Number of bytes written of the file.
    position: u64,
}

impl<D: Destination> PayloadWriter<D> {
    /// Writes a whole payload, or the rest of it.
    ///
    /// **Errors**: [`PayloadError::Size`], [`PayloadError::Order`], [`GgufError::Io`].
    pub fn write_tensor(&mut self, name: &str, payload: &[u8]) -> Result<()> {
        let info = self.expect(name)?;
        if self.written + payload.len() as u64 != info.num_bytes() as u64 {
            return Err(payload_size(info, self.written + payload.len() as u64));
        }
        self.append(name, payload)
    }

    /// Writes the next part of a payload.
    ///
    /// **Errors**: [`PayloadError::Size`] if the payload is too long, or the previous one is
    /// incomplete; [`PayloadError::Order`]; [`GgufError::Io`].
    pub fn append(&mut self, name: &str, part: &[u8]) -> Result<()> {
        let info = self.expect(name)?;
        let (expected, found) = (info.num_bytes() as u64, self.written + part.len() as u64);
        if found > expected {
            return Err(payload_size(info, found));
        }
        self.write(part)?;
        if found < expected {
            self.written = found;
        } else {
            self.pad()?;
            self.written = 0;
            self.current += 1;
        }
        Ok(())
    }

    /// Completes the file: moves it to its path, or returns the bytes.
    ///
    /// **Errors**: [`PayloadError::Missing`], [`PayloadError::Size`], [`GgufError::Io`].
    pub fn finish(self) -> Result<D::Finished> {
        match self.tensors.get(self.current) {
            None => self.destination.finish(),
            Some(info) if self.written > 0 => Err(payload_size(info, self.written)),
            Some(info) => Err(PayloadError::Missing {
                count: self.tensors.len() - self.current,
                first: info.name().to_owned(),
            }
            .into()),
        }
    }

    /// Returns the next tensor, which must have this name.
    fn expect(&self, name: &str) -> Result<&TensorInfo> {
        match self.tensors.get(self.current) {
            Some(info) if info.name() == name => Ok(info),
            Some(info) if self.written > 0 => Err(payload_size(info, self.written)),
            other => Err(PayloadError::Order {
                expected: other.map(|info| info.name().to_owned()),
                found: name.to_owned(),
            }
            .into()),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.destination.write(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Writes zeros up to the alignment.
    fn pad(&mut self) -> Result<()> {
        const ZEROS: [u8; 4096] = [0; 4096];
        let mut missing = self.position.next_multiple_of(self.alignment) - self.position;
        while missing > 0 {
            let now = missing.min(ZEROS.len() as u64);
            self.write(&ZEROS[..now as usize])?;
            missing -= now;
        }
        Ok(())
    }
}

fn payload_size(info: &TensorInfo, found: u64) -> GgufError {
    let (tensor, expected) = (info.name().to_owned(), info.num_bytes() as u64);
    PayloadError::Size { tensor, expected, found }.into()
}

/// The output of a [`PayloadWriter`]: a [`TemporaryFile`] or memory.
pub trait Destination: sealed::Sealed {
    /// The result of completing the file.
    type Finished;

    /// Appends bytes.
    #[doc(hidden)]
    fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// Completes the file.
    #[doc(hidden)]
    fn finish(self) -> Result<Self::Finished>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for Vec<u8> {}
    impl Sealed for super::TemporaryFile {}
}

impl Destination for Vec<u8> {
    type Finished = Vec<u8>;

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self) -> Result<Vec<u8>> {
        Ok(self)
    }
}

/// A file with a temporary name, which is renamed when it is complete and deleted otherwise.
#[derive(Debug)]
pub struct TemporaryFile {
    file: BufWriter<NamedTempFile>,
    path: PathBuf,
}

/// Size of the write buffer.
const BUFFER_BYTES: usize = 1 << 20;

impl TemporaryFile {
    fn new(path: &Path) -> Result<Self> {
        let file = temporary_next_to(path)
            .map_err(|error| GgufError::Io { path: path.to_owned(), error })?;
        Ok(Self { file: BufWriter::with_capacity(BUFFER_BYTES, file), path: path.to_owned() })
    }
}

/// Creates a file in the directory of `path`, to be renamed to it when it is complete. It has the permissions of ordinary
/// files.
///
/// **Errors**: those of the operating system.
pub fn temporary_next_to(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".writing-").suffix(".partial");
    // Limited by the user's mask. Temporary files are private by default.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder.unwrap_or(Path::new(".")))
}

impl Destination for TemporaryFile {
    type Finished = ();

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.write_all(bytes);
        written.map_err(|error| GgufError::Io { path: self.path.clone(), error })
    }

    fn finish(self) -> Result<()> {
        let Self { file, path } = self;
        let complete = || -> io::Result<()> {
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)?;
            Ok(())
        };
        complete().map_err(|error| GgufError::Io { path: path.clone(), error })
    }
}
