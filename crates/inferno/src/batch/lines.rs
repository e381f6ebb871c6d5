//! Lines of bounded length.

use std::io::{self, BufRead, ErrorKind};

/// Reads lines, of which at most `max_bytes` are stored.
pub(super) struct Lines<R> {
    reader: R,
    max_bytes: usize,
}

/// A line without its line break.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// The line, or its first `max_bytes` bytes.
    pub bytes: Vec<u8>,
    /// Length in the file, including the line break.
    pub num_bytes: u64,
    /// Whether the line is longer than `max_bytes`.
    pub is_too_long: bool,
    /// Whether the line ends with a line break.
    pub is_terminated: bool,
}

impl<R> Lines<R> {
    pub fn new(reader: R, max_bytes: usize) -> Self {
        Self { reader, max_bytes }
    }
}

impl<R: BufRead> Lines<R> {
    /// Reads the next line.
    fn read(&mut self) -> io::Result<Line> {
        let mut line =
            Line { bytes: Vec::new(), num_bytes: 0, is_too_long: false, is_terminated: false };
        while !line.is_terminated {
            let buffered = match self.reader.fill_buf() {
                Ok(buffered) => buffered,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let Some(last) = buffered.len().checked_sub(1) else { break };
            let line_break = buffered.iter().position(|&byte| byte == b'\n');
            let content = &buffered[..line_break.unwrap_or(last + 1)];
            let stored = content.len().min(self.max_bytes - line.bytes.len());
            line.bytes.extend_from_slice(&content[..stored]);
            line.is_too_long |= stored < content.len();
            line.is_terminated = line_break.is_some();
            let num_read = line_break.unwrap_or(last) + 1;
            line.num_bytes += num_read as u64;
            self.reader.consume(num_read);
        }
        Ok(line)
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().map(|line| (line.num_bytes > 0).then_some(line)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(bytes: &[u8], num_bytes: u64, is_too_long: bool, is_terminated: bool) -> Line {
        Line { bytes: bytes.to_vec(), num_bytes, is_too_long, is_terminated }
    }

    #[test]
    fn lines_are_stored_up_to_the_limit() {
        let text = &b"ab\n\nabcdef\nabcd\nxy"[..];
        // Buffers that end within lines and at line breaks.
        for capacity in 1..20 {
            let reader = io::BufReader::with_capacity(capacity, text);
            let lines: io::Result<Vec<_>> = Lines::new(reader, 4).collect();
            let expected = [
                line(b"ab", 3, false, true),
                line(b"", 1, false, true),
                line(b"abcd", 7, true, true),
                line(b"abcd", 5, false, true),
                line(b"xy", 2, false, false),
            ];
            assert_eq!(lines.unwrap(), expected, "{capacity}");
        }
        assert!(Lines::new(&b""[..], 4).next().is_none());
    }
}
