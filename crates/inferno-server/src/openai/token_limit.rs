//! Maximum numbers of tokens.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// A maximum number of tokens; -1 stands for no limit, as in llama.cpp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TokenLimit(Option<usize>);

impl TokenLimit {
    /// The limit, if there is one.
    pub fn get(self) -> Option<usize> {
        self.0
    }
}

struct LimitVisitor;

impl Visitor<'_> for LimitVisitor {
    type Value = TokenLimit;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("usize")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<TokenLimit, E> {
        let limit = usize::try_from(number);
        let limit = limit.map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))?;
        Ok(TokenLimit(Some(limit)))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<TokenLimit, E> {
        match number {
            -1 => Ok(TokenLimit(None)),
            _ => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }
}

impl<'de> Deserialize<'de> for TokenLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_i64(LimitVisitor)
    }
}
