//! The common format of files that hold keys and values.
//!
//! All numbers are little-endian. A header of 56 bytes: the magic, the format's version (u32), the number of the cache's
//! format among [`KvDType::ALL`] from 1 on (u32; older files have 0), then as u64 the fingerprint of model and cache format, two counts that depend on the kind,
//! the bytes of a block, and the length of the whole file. Then the payload, and the CRC-32 of
//! everything before it (u32).

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use inferno_backend::KvDType;

use crate::{EngineError, PrivateFile};

pub(crate) const HEADER_BYTES: u64 = 56;
pub(crate) const CHECKSUM_BYTES: u64 = 4;

/// A kind of file.
#[derive(Debug)]
pub(crate) struct Kind {
    /// The name of such a file in messages, with its article.
    pub(crate) name: &'static str,
    pub(crate) magic: [u8; 8],
    pub(crate) version: u32,
}

/// The numbers of the header, after magic and version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// Format of the cache; `None` in files that do not name it.
    pub(crate) kv_dtype: Option<KvDType>,
    pub(crate) fingerprint: u64,
    /// Their meaning depends on the kind.
    pub(crate) counts: [u64; 2],
    pub(crate) block_bytes: u64,
    pub(crate) file_bytes: u64,
}

impl Header {
    fn to_bytes(self, kind: &Kind) -> [u8; HEADER_BYTES as usize] {
        let mut bytes = [0; HEADER_BYTES as usize];
        bytes[..8].copy_from_slice(&kind.magic);
        bytes[8..12].copy_from_slice(&kind.version.to_le_bytes());
        let number = KvDType::ALL.iter().position(|dtype| self.kv_dtype == Some(*dtype));
        bytes[12..16].copy_from_slice(&number.map_or(0, |index| index as u32 + 1).to_le_bytes());
        let [one, other] = self.counts;
        let numbers = [self.fingerprint, one, other, self.block_bytes, self.file_bytes];
        for (place, number) in bytes[16..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; HEADER_BYTES as usize]) -> Self {
        let mut numbers = bytes[16..]
            .chunks_exact(8)
            .map(|place| u64::from_le_bytes(place.try_into().expect("chunks of eight")));
        let mut next = || numbers.next().expect("five numbers in forty bytes");
        let kv_dtype = u32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
        Self {
            kv_dtype: KvDType::ALL.get((kv_dtype as usize).wrapping_sub(1)).copied(),
            fingerprint: next(),
            counts: [next(), next()],
            block_bytes: next(),
            file_bytes: next(),
        }
    }
}

/// Returns the file that writing to `path` replaces: the target, if it is a link.
///
/// **Errors**: [`EngineError::StateNotReplaced`], so that nothing but a file of this kind is lost.
fn target(path: &Path, kind: &Kind) -> Result<PathBuf, EngineError> {
    let failed = |source| EngineError::StateIo { path: path.to_owned(), action: "write", source };
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
            return Ok(path.to_owned());
        }
        metadata => metadata.map_err(failed)?,
    };
    let mut start = Vec::new();
    // Opening a pipe would wait for a writer.
    if metadata.is_file() {
        let file = File::open(path).map_err(failed)?;
        file.take(kind.magic.len() as u64).read_to_end(&mut start).map_err(failed)?;
    }
    // An empty file, such as one of mktemp, can be replaced.
    match metadata.is_file() && (start.is_empty() || start == kind.magic) {
        true => fs::canonicalize(path).map_err(failed),
        false => Err(EngineError::StateNotReplaced { path: path.to_owned(), kind: kind.name }),
    }
}

/// Checks that [`write`] can make a file of this kind at `path`.
pub(crate) fn check_write(path: &Path, kind: &Kind) -> Result<(), EngineError> {
    PrivateFile::beside(&target(path, kind)?).map(drop).map_err(|source| EngineError::StateIo {
        path: path.to_owned(),
        action: "write",
        source,
    })
}

/// Writes a file whole or not at all, readable only by its owner. `payload` writes its contents; the file is discarded,
/// and false returned, if it returns false.
pub(crate) fn write(
    path: &Path,
    kind: &Kind,
    header: Header,
    payload: impl FnOnce(&mut Output<'_>) -> Result<bool, EngineError>,
) -> Result<bool, EngineError> {
    let failed = |source| EngineError::StateIo { path: path.to_owned(), action: "write", source };
    let mut file = PrivateFile::beside(&target(path, kind)?).map_err(failed)?;
    let mut output = Output { path, file: Checksummed::new(BufWriter::new(&mut file)) };
    output.write(&header.to_bytes(kind))?;
    if !payload(&mut output)? {
        return Ok(false);
    }
    let checksum = output.file.checksum();
    output.write(&checksum.to_le_bytes())?;
    output.file.flush().map_err(failed)?;
    drop(output);
    file.finish().map(|()| true).map_err(failed)
}

/// A file that is being written.
pub(crate) struct Output<'a> {
    path: &'a Path,
    file: Checksummed<BufWriter<&'a mut PrivateFile>>,
}

impl Output<'_> {
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), EngineError> {
        self.file.write_all(bytes).map_err(|source| EngineError::StateIo {
            path: self.path.to_owned(),
            action: "write",
            source,
        })
    }
}

/// A file whose checksum was verified, positioned at the payload.
#[derive(Debug)]
pub(crate) struct Input<'a> {
    path: &'a Path,
    file: BufReader<File>,
    pub(crate) header: Header,
}

impl<'a> Input<'a> {
    /// Opens a file and checks all of it before anything is used. `file_bytes` returns the length of a file
    /// with such a header, whose own length field is not trusted.
    pub(crate) fn open(
        path: &'a Path,
        kind: &Kind,
        (fingerprint, kv_dtype): (u64, KvDType),
        file_bytes: impl FnOnce(&Header) -> Result<u64, EngineError>,
    ) -> Result<Self, EngineError> {
        let failed =
            |source| EngineError::StateIo { path: path.to_owned(), action: "read", source };
        let truncated = |expected, found| {
            Err(EngineError::StateTruncated { path: path.to_owned(), expected, found })
        };

        let mut file = File::open(path).map_err(failed)?;
        let found = file.metadata().map_err(failed)?.len();
        let mut bytes = [0; HEADER_BYTES as usize];
        if found < HEADER_BYTES {
            return truncated(HEADER_BYTES, found);
        }
        file.read_exact(&mut bytes).map_err(failed)?;
        if bytes[..8] != kind.magic {
            return Err(EngineError::StateUnknown { path: path.to_owned(), kind: kind.name });
        }
        let version = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
        if version != kind.version {
            return Err(EngineError::StateVersion {
                path: path.to_owned(),
                found: version,
                known: kind.version,
            });
        }
        let header = Header::from_bytes(&bytes);
        if found < header.file_bytes {
            return truncated(header.file_bytes, found);
        }
        if header.fingerprint != fingerprint {
            let path = path.to_owned();
            return Err(match header.kv_dtype.filter(|found| *found != kv_dtype) {
                Some(found) => {
                    EngineError::StateOfAnotherFormat { path, expected: kv_dtype, found }
                }
                None => EngineError::StateOfAnotherModel {
                    path,
                    expected: fingerprint,
                    found: header.fingerprint,
                },
            });
        }
        if file_bytes(&header)? != header.file_bytes {
            return Err(damaged(path, "inconsistent sizes"));
        }
        if found != header.file_bytes {
            return Err(damaged(path, "extra bytes at the end"));
        }
        check_contents(&mut file, header.file_bytes)
            .map_err(failed)?
            .ok_or_else(|| damaged(path, "checksum"))?;
        file.seek(SeekFrom::Start(HEADER_BYTES)).map_err(failed)?;
        Ok(Self { path, file: BufReader::new(file), header })
    }

    /// Fills `bytes` with the next bytes.
    pub(crate) fn read(&mut self, bytes: &mut [u8]) -> Result<(), EngineError> {
        self.file.read_exact(bytes).map_err(|source| EngineError::StateIo {
            path: self.path.to_owned(),
            action: "read",
            source,
        })
    }

    pub(crate) fn read_u32(&mut self) -> Result<u32, EngineError> {
        let mut bytes = [0; 4];
        self.read(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Reads tokens, all of which must be below `vocab_size`.
    pub(crate) fn read_tokens(
        &mut self,
        tokens: &mut [u32],
        vocab_size: usize,
    ) -> Result<(), EngineError> {
        for token in tokens {
            *token = self.read_u32()?;
            if *token as usize >= vocab_size {
                return Err(self.damaged("a token is not in the vocabulary"));
            }
        }
        Ok(())
    }

    /// Returns the error for damage in this file.
    pub(crate) fn damaged(&self, what: &'static str) -> EngineError {
        damaged(self.path, what)
    }
}

/// Returns the error for a damaged file.
pub(crate) fn damaged(path: &Path, what: &'static str) -> EngineError {
    EngineError::StateDamaged { path: path.to_owned(), what }
}

/// Compares the checksum at the end with the bytes before it; `None` if they differ.
fn check_contents(file: &mut File, file_bytes: u64) -> io::Result<Option<()>> {
    file.seek(SeekFrom::Start(0))?;
    let mut out = Checksummed::new(io::sink());
    let mut contents = BufReader::new(file).take(file_bytes - CHECKSUM_BYTES);
    io::copy(&mut contents, &mut out)?;
    let mut checksum = [0; CHECKSUM_BYTES as usize];
    contents.into_inner().read_exact(&mut checksum)?;
    Ok((out.checksum() == u32::from_le_bytes(checksum)).then_some(()))
}

/// A writer that computes the CRC-32 of what it writes.
struct Checksummed<W> {
    inner: W,
    hasher: crc32fast::Hasher,
}

impl<W> Checksummed<W> {
    fn new(inner: W) -> Self {
        Self { inner, hasher: crc32fast::Hasher::new() }
    }

    fn checksum(&self) -> u32 {
        self.hasher.clone().finalize()
    }
}

impl<W: Write> Write for Checksummed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
