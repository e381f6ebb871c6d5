//! Guessing the kind of a file that is not GGUF, for error messages.

use std::fmt;

/// A kind of file that is often confused with GGUF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// A safetensors checkpoint.
    Safetensors,
    /// A zip archive, such as PyTorch's `.bin` and `.pt` files.
    Zip,
    /// A Python pickle, such as PyTorch's older files.
    Pickle,
    /// A web page, such as an error page saved instead of a download.
    Html,
    /// The placeholder of a file in a clone without Git LFS.
    GitLfsPointer,
    /// A ggml file of a format older than GGUF.
    LegacyGgml,
    /// A gzip archive.
    Gzip,
    /// A JSON document, such as `config.json`.
    Json,
}

impl FileKind {
    /// Guesses the kind from the start of a file.
    pub(crate) fn guess(bytes: &[u8]) -> Option<Self> {
        let text = bytes.trim_ascii_start();
        let begins_like =
            |tag: &[u8]| text.get(..tag.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(tag));
        match bytes {
            [b'P', b'K', 3, 4, ..] => Some(Self::Zip),
            [0x80, 2..=5, ..] => Some(Self::Pickle),
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            // A header length of 8 bytes, then the header in JSON.
            [_, _, _, _, _, _, 0, 0, b'{', ..] => Some(Self::Safetensors),
            [b'l' | b'f' | b't' | b'a', b'm' | b'j' | b'l', b'g', b'g', ..] => {
                Some(Self::LegacyGgml)
            }
            _ if bytes.starts_with(b"version https://git-lfs") => Some(Self::GitLfsPointer),
            _ if begins_like(b"<!doctype") || begins_like(b"<html") => Some(Self::Html),
            _ if begins_like(b"{") => Some(Self::Json),
            _ => None,
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Safetensors => {
                "a safetensors file; specify the folder of the checkpoint instead, with its config.json and tokenizer"
            },
            Self::Zip => "a zip archive, possibly a PyTorch checkpoint; use a GGUF file or safetensors of the model",
            Self::Pickle => "a Python pickle, possibly a PyTorch checkpoint; use a GGUF file or safetensors of the model",
            Self::Html => "a web page, possibly saved instead of the download",
            Self::GitLfsPointer => "a Git LFS pointer; fetch the file with `git lfs pull`",
            Self::LegacyGgml => "a ggml file of a format older than GGUF; convert the model again",
            Self::Gzip => "a gzip archive; extract it",
            Self::Json => {
                "a JSON document; if it is part of a Hugging Face checkpoint, specify the folder instead"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_often_confused_with_gguf_are_recognized() {
        for (bytes, kind) in [
            (&b"\x10\0\0\0\0\0\0\0{\"__metadata__\""[..], FileKind::Safetensors),
            (b"PK\x03\x04\0\0", FileKind::Zip),
            (b"\x80\x02\x8a\nl\xfc\x9c", FileKind::Pickle),
            (b"\n<!DOCTYPE html>", FileKind::Html),
            (b"<HTML><body>", FileKind::Html),
            (b"version https://git-lfs.github.com/spec/v1\n", FileKind::GitLfsPointer),
            (b"lmgg\0\0", FileKind::LegacyGgml),
            (b"tjgg\x03\0", FileKind::LegacyGgml),
            (b"\x1f\x8b\x08", FileKind::Gzip),
            (b"{\"architectures\"", FileKind::Json),
        ] {
            assert_eq!(FileKind::guess(bytes), Some(kind));
        }
    }

    #[test]
    fn other_files_are_not_recognized() {
        for bytes in [&b""[..], b"P", b"hello world", b"ELF\x7f", b"<svg"] {
            assert_eq!(FileKind::guess(bytes), None);
        }
    }
}
