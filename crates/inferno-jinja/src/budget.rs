//! The resource budget of one rendering.
//!
//! Every operation is charged in proportion to its work: evaluation and comparison by the element,
//! reading text by the byte, building text and lists by the bytes they occupy.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::value::{Text, Value};

/// Bytes read one character at a time that cost one step.
const SCANNED_BYTES_PER_STEP: usize = 16;
/// Bytes copied as a block that cost one step.
const COPIED_BYTES_PER_STEP: usize = 64;
/// Bytes that a list occupies per item.
const ITEM_BYTES: usize = size_of::<Value>();
/// Bytes that a string occupies in addition to its characters.
const TEXT_BYTES: usize = 32;

/// How much work and memory one rendering may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Number of steps: evaluated expressions, compared or processed items, and blocks of text read.
    /// A step takes 10 to 100 nanoseconds.
    pub steps: u64,
    /// Number of bytes that the output and all intermediate strings, lists and dicts may occupy in
    /// total, including those no longer in use.
    pub bytes: usize,
}

impl Default for Limits {
    /// 20 million steps and 256 MiB: long conversations need thousands of steps.
    fn default() -> Self {
        Self { steps: 20_000_000, bytes: 256 << 20 }
    }
}

/// What is left of the [`Limits`].
pub(crate) struct Budget {
    limits: Limits,
    steps: u64,
    bytes: usize,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, steps: limits.steps, bytes: limits.bytes }
    }

    /// Charges a number of steps.
    ///
    /// **Errors**: [`Error::TooManySteps`].
    pub(crate) fn work(&mut self, steps: usize) -> Result<()> {
        match self.steps.checked_sub(steps as u64) {
            Some(left) => {
                self.steps = left;
                Ok(())
            }
            None => Err(Error::TooManySteps { limit: self.limits.steps }),
        }
    }

    /// Charges reading a text of this many bytes.
    pub(crate) fn scan(&mut self, num_bytes: usize) -> Result<()> {
        self.work(1 + num_bytes / SCANNED_BYTES_PER_STEP)
    }

    /// Charges building something of this many bytes.
    ///
    /// **Errors**: [`Error::TooManyBytes`], [`Error::TooManySteps`].
    pub(crate) fn allocate(&mut self, num_bytes: usize) -> Result<()> {
        self.bytes = self.bytes.checked_sub(num_bytes).ok_or_else(|| self.too_many_bytes())?;
        self.work(num_bytes / COPIED_BYTES_PER_STEP)
    }

    /// Charges building or visiting a list of this many items.
    pub(crate) fn allocate_items(&mut self, num_items: usize) -> Result<()> {
        self.allocate(num_items.saturating_mul(ITEM_BYTES))?;
        self.work(num_items)
    }

    /// A string value, charged.
    pub(crate) fn text(&mut self, text: impl Into<Arc<str>> + AsRef<str>) -> Result<Value> {
        self.allocate(TEXT_BYTES + text.as_ref().len())?;
        Ok(Value::Text(Text::new(text)))
    }

    /// A string value marked as safe for HTML, charged.
    pub(crate) fn safe_text(&mut self, text: String) -> Result<Value> {
        self.allocate(TEXT_BYTES + text.len())?;
        Ok(Value::Text(Text::safe(text)))
    }

    /// A text that may grow to the rest of the budget.
    pub(crate) fn builder(&self) -> TextBuilder {
        TextBuilder { text: String::new(), capacity: self.bytes, limit: self.limits.bytes }
    }

    fn too_many_bytes(&self) -> Error {
        Error::TooManyBytes { limit: self.limits.bytes }
    }
}

/// A text under construction, which cannot outgrow the budget it was created from.
pub(crate) struct TextBuilder {
    text: String,
    capacity: usize,
    limit: usize,
}

impl TextBuilder {
    /// Appends a text.
    ///
    /// **Errors**: [`Error::TooManyBytes`].
    pub(crate) fn push(&mut self, text: &str) -> Result<()> {
        self.reserve(text.len())?;
        self.text.push_str(text);
        Ok(())
    }

    /// Appends a character `count` times.
    pub(crate) fn fill(&mut self, character: char, count: usize) -> Result<()> {
        self.reserve(count.saturating_mul(character.len_utf8()))?;
        self.text.extend(std::iter::repeat_n(character, count));
        Ok(())
    }

    /// Checks that this many bytes can be appended.
    pub(crate) fn reserve(&self, num_bytes: usize) -> Result<()> {
        match num_bytes > self.capacity - self.text.len() {
            true => Err(Error::TooManyBytes { limit: self.limit }),
            false => Ok(()),
        }
    }

    /// The text as a value, charged to the budget.
    pub(crate) fn finish(self, budget: &mut Budget) -> Result<Value> {
        budget.text(self.text)
    }

    /// The text itself, charged to the budget.
    pub(crate) fn into_string(self, budget: &mut Budget) -> Result<String> {
        budget.allocate(self.text.len())?;
        Ok(self.text)
    }
}
