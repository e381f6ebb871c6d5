//! The size of JSON in memory, known before it is parsed.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Bytes of a value in an array with twice the capacity it needs.
const VALUE_BYTES: usize = 64;
/// Bytes of the smallest array without its values.
const ARRAY_BYTES: usize = 144;
/// Bytes of the smallest object without its members.
const OBJECT_BYTES: usize = 400;
/// Bytes of a name and its place in an object.
const MEMBER_BYTES: usize = 128;
/// Copies that exist at once: while a request is read from its JSON, and while it is turned into what templates read.
const NUM_COPIES: usize = 2;

/// About how many bytes of memory a JSON text takes once it is parsed. JSON inside of strings counts too: arguments of tool calls
/// and some schemas are sent so.
///
/// The scan itself uses constant memory.
///
/// **Errors**: text that is not JSON, or has more than 128 levels.
pub(crate) fn parsed_bytes(json: &[u8]) -> Result<usize, serde_json::Error> {
    let mut size = Size { num_bytes: 0, is_nested: false };
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    (&mut size).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(size.num_bytes.saturating_mul(NUM_COPIES))
}

struct Size {
    num_bytes: usize,
    /// Whether this is JSON inside of a string, in which strings are plain text.
    is_nested: bool,
}

impl<'de> DeserializeSeed<'de> for &mut Size {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.num_bytes = self.num_bytes.saturating_add(VALUE_BYTES);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Size {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.num_bytes = self.num_bytes.saturating_add(text.len());
        if !self.is_nested && text.trim_start().starts_with(['{', '[']) {
            let mut nested = Size { num_bytes: 0, is_nested: true };
            // What comes before a mistake is parsed all the same.
            let _ = (&mut nested).deserialize(&mut serde_json::Deserializer::from_str(text));
            self.num_bytes = self.num_bytes.saturating_add(nested.num_bytes);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<(), A::Error> {
        self.num_bytes = self.num_bytes.saturating_add(ARRAY_BYTES);
        while values.next_element_seed(&mut *self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        self.num_bytes = self.num_bytes.saturating_add(OBJECT_BYTES);
        while members.next_key_seed(&mut *self)?.is_some() {
            self.num_bytes = self.num_bytes.saturating_add(MEMBER_BYTES);
            members.next_value_seed(&mut *self)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::parsed_bytes;

    #[test]
    fn lists_of_lists_count_far_more_than_text() {
        let text = format!("\"{}\"", "a".repeat(1 << 20));
        assert!(parsed_bytes(text.as_bytes()).unwrap() < 3 << 20);
        let lists = format!("[{}[1]]", "[1],".repeat(1 << 18));
        assert!(parsed_bytes(lists.as_bytes()).unwrap() > 100 << 20);
        // The same in a string.
        let nested = serde_json::to_vec(&lists).unwrap();
        assert!(parsed_bytes(&nested).unwrap() > 100 << 20);
        let broken = serde_json::to_vec(&lists[..lists.len() - 1]).unwrap();
        assert!(parsed_bytes(&broken).unwrap() > 100 << 20);
    }

    #[test]
    fn what_is_not_json_is_an_error() {
        for text in ["", "[1", "[1] 2", "{\"a\"}", "nul"] {
            parsed_bytes(text.as_bytes()).unwrap_err();
        }
        parsed_bytes("[".repeat(10_000).as_bytes()).unwrap_err();
    }
}
