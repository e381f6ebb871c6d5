//! A session's state in a file.
//!
//! All numbers are little-endian. A header of 56 bytes: the magic, the format's version (u32), four
//! zero bytes, then as u64 the fingerprint of model and cache format, the number of tokens, how many
//! of them are computed, the bytes of a block, and the length of the whole file. Then the tokens
//! (u32), the blocks that hold the computed positions, and the CRC-32 of everything before it (u32).

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::context::Context;
use crate::EngineError;

const MAGIC: [u8; 8] = *b"INFERNOS";
const VERSION: u32 = 1;
const HEADER_BYTES: u64 = 56;
const CHECKSUM_BYTES: u64 = 4;

/// The numbers of the header, after magic and version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    fingerprint: u64,
    num_tokens: u64,
    num_computed: u64,
    block_bytes: u64,
    file_bytes: u64,
}

impl Header {
    fn of(context: &Context) -> Result<Self, EngineError> {
        let num_tokens = context.tokens().len() as u64;
        let block_bytes = context.block_bytes()? as u64;
        let payload_bytes = 4 * num_tokens + context.computed_blocks().len() as u64 * block_bytes;
        Ok(Self {
            fingerprint: context.fingerprint().0,
            num_tokens,
            num_computed: context.num_computed() as u64,
            block_bytes,
            file_bytes: HEADER_BYTES + payload_bytes + CHECKSUM_BYTES,
        })
    }

    fn to_bytes(self) -> [u8; HEADER_BYTES as usize] {
        let mut bytes = [0; HEADER_BYTES as usize];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let numbers = [
            self.fingerprint,
            self.num_tokens,
            self.num_computed,
            self.block_bytes,
            self.file_bytes,
        ];
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
        Self {
            fingerprint: next(),
            num_tokens: next(),
            num_computed: next(),
            block_bytes: next(),
            file_bytes: next(),
        }
    }
}

/// The file that saving to `path` writes: the one it leads to, where it is a link.
///
/// **Errors**: [`EngineError::StateNotReplaced`], so that nothing but a saved session is lost.
pub(super) fn target(path: &Path) -> Result<PathBuf, EngineError> {
    let failed = |source| EngineError::StateIo { path: path.to_owned(), action: "write", source };
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
            return Ok(path.to_owned());
        }
        metadata => metadata.map_err(failed)?,
    };
    let mut start = Vec::new();
    // Opening a pipe would wait for whoever writes to it.
    if metadata.is_file() {
        let file = File::open(path).map_err(failed)?;
        file.take(MAGIC.len() as u64).read_to_end(&mut start).map_err(failed)?;
    }
    // An empty file, such as one of mktemp, holds nothing to lose.
    match metadata.is_file() && (start.is_empty() || start == MAGIC) {
        true => fs::canonicalize(path).map_err(failed),
        false => Err(EngineError::StateNotReplaced { path: path.to_owned() }),
    }
}

/// Writes `context` to `path`, by way of a temporary file beside it.
pub(super) fn save(context: &Context, path: &Path) -> Result<(), EngineError> {
    let failed = |source| EngineError::StateIo { path: path.to_owned(), action: "write", source };
    let target = target(path)?;
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // A conversation is nobody else's business: the file stays what a temporary one is, readable
    // by its owner alone, whatever the user's mask would allow.
    let mut temporary = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    let mut out = Checksummed::new(BufWriter::new(temporary.as_file_mut()));
    out.write_all(&Header::of(context)?.to_bytes()).map_err(failed)?;
    for token in context.tokens() {
        out.write_all(&token.to_le_bytes()).map_err(failed)?;
    }
    let mut bytes = Vec::new();
    for &block in context.computed_blocks() {
        bytes.clear();
        context.read_block(block, &mut bytes)?;
        out.write_all(&bytes).map_err(failed)?;
    }
    let checksum = out.checksum();
    out.write_all(&checksum.to_le_bytes()).map_err(failed)?;
    out.flush().map_err(failed)?;
    drop(out);
    temporary.as_file().sync_all().map_err(failed)?;
    temporary.persist(&target).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Reads `path` into `context`, once everything about it is checked.
pub(super) fn load(
    context: &mut Context,
    vocab_size: usize,
    path: &Path,
) -> Result<(), EngineError> {
    let failed = |source| EngineError::StateIo { path: path.to_owned(), action: "read", source };
    let damaged = |what| EngineError::StateDamaged { path: path.to_owned(), what };

    let mut file = File::open(path).map_err(failed)?;
    let header = read_header(context, &mut file, path)?;
    check_contents(&mut file, header.file_bytes).map_err(failed)?.ok_or(damaged("checksum"))?;

    file.seek(SeekFrom::Start(HEADER_BYTES)).map_err(failed)?;
    let mut file = BufReader::new(file);
    // The header was checked against the context and the file's length, so these are small.
    let mut tokens = vec![0; header.num_tokens as usize];
    for token in &mut tokens {
        let mut bytes = [0; 4];
        file.read_exact(&mut bytes).map_err(failed)?;
        *token = u32::from_le_bytes(bytes);
    }
    if tokens.iter().any(|&token| token as usize >= vocab_size) {
        return Err(damaged("a token is not in the vocabulary"));
    }
    context.restore(&tokens, header.num_computed as usize, |block| {
        file.read_exact(block).map_err(failed)
    })
}

/// Reads the header and checks it against the file and the session that it is for.
fn read_header(context: &Context, file: &mut File, path: &Path) -> Result<Header, EngineError> {
    let failed = |source| EngineError::StateIo { path: path.to_owned(), action: "read", source };
    let damaged = |what| EngineError::StateDamaged { path: path.to_owned(), what };
    let truncated = |expected, found| {
        Err(EngineError::StateTruncated { path: path.to_owned(), expected, found })
    };

    let found = file.metadata().map_err(failed)?.len();
    let mut bytes = [0; HEADER_BYTES as usize];
    if found < HEADER_BYTES {
        return truncated(HEADER_BYTES, found);
    }
    file.read_exact(&mut bytes).map_err(failed)?;
    if bytes[..8] != MAGIC {
        return Err(EngineError::StateUnknown { path: path.to_owned() });
    }
    let version = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
    if version != VERSION {
        return Err(EngineError::StateVersion {
            path: path.to_owned(),
            found: version,
            known: VERSION,
        });
    }
    let header = Header::from_bytes(&bytes);
    if found < header.file_bytes {
        return truncated(header.file_bytes, found);
    }
    let fingerprint = context.fingerprint().0;
    if header.fingerprint != fingerprint {
        return Err(EngineError::StateOfAnotherModel {
            path: path.to_owned(),
            expected: fingerprint,
            found: header.fingerprint,
        });
    }
    if header.num_tokens > context.context_length() as u64 {
        return Err(EngineError::StateTooLong {
            path: path.to_owned(),
            num_tokens: header.num_tokens,
            context_length: context.context_length(),
        });
    }
    if header.num_computed > header.num_tokens {
        return Err(damaged("more tokens are computed than there are"));
    }
    // Both factors are bounded by this context now.
    let blocks = context.blocks_for(header.num_computed as usize) * context.block_bytes()?;
    let expected = HEADER_BYTES + 4 * header.num_tokens + blocks as u64 + CHECKSUM_BYTES;
    if header.block_bytes != context.block_bytes()? as u64 || header.file_bytes != expected {
        return Err(damaged("sizes do not add up"));
    }
    if found != expected {
        return Err(damaged("something follows its end"));
    }
    Ok(header)
}

/// Whether the checksum at the end is that of the `file_bytes` before it: `Some` if so.
fn check_contents(file: &mut File, file_bytes: u64) -> io::Result<Option<()>> {
    file.seek(SeekFrom::Start(0))?;
    let mut out = Checksummed::new(io::sink());
    let mut contents = BufReader::new(file).take(file_bytes - CHECKSUM_BYTES);
    io::copy(&mut contents, &mut out)?;
    let mut checksum = [0; CHECKSUM_BYTES as usize];
    contents.into_inner().read_exact(&mut checksum)?;
    Ok((out.checksum() == u32::from_le_bytes(checksum)).then_some(()))
}

/// A writer that keeps the CRC-32 of what goes through.
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
