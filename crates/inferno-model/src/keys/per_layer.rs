//! Values of the layers: one for each, or one for all of them.

use std::ops::RangeInclusive;

use inferno_gguf::FromMetadata;

use super::{ArchitectureKeys, check_size};
use crate::ModelError;

/// The value of a key for each layer.
#[derive(Debug)]
pub(crate) struct PerLayer<T> {
    /// The key with its prefix.
    key: String,
    values: Values<T>,
}

#[derive(Debug)]
enum Values<T> {
    Same(T),
    Each(Vec<T>),
}

impl<T: Copy> PerLayer<T> {
    /// The value of layer `layer`.
    pub(crate) fn get(&self, layer: usize) -> T {
        match &self.values {
            Values::Same(value) => *value,
            Values::Each(values) => values[layer],
        }
    }

    /// The values, if each layer has its own.
    pub(crate) fn list(&self) -> Option<&[T]> {
        match &self.values {
            Values::Same(_) => None,
            Values::Each(values) => Some(values),
        }
    }
}

impl PerLayer<usize> {
    /// The number of layer `layer`, which is a size.
    pub(crate) fn positive(&self, layer: usize) -> Result<usize, ModelError> {
        check_size(self.get(layer)).map_err(|expected| self.invalid(layer, expected))
    }

    /// The error for the number of layer `layer`.
    pub(crate) fn invalid(&self, layer: usize, expected: impl Into<String>) -> ModelError {
        let found = match &self.values {
            Values::Same(value) => value.to_string(),
            Values::Each(values) => format!("{} in layer {layer}", values[layer]),
        };
        ModelError::InvalidConfig { key: self.key.clone(), expected: expected.into(), found }
    }
}

impl ArchitectureKeys<'_> {
    /// A value for each layer; `lens` are the possible lengths of a list.
    pub(crate) fn per_layer<T>(
        &self,
        key: &str,
        lens: &RangeInclusive<usize>,
    ) -> Result<Option<PerLayer<T>>, ModelError>
    where
        T: for<'m> FromMetadata<'m>,
        Vec<T>: for<'m> FromMetadata<'m>,
    {
        let values = match self.is_list(key) {
            true => self.list(key, lens)?.map(Values::Each),
            false => self.optional(key)?.map(Values::Same),
        };
        Ok(values.map(|values| PerLayer { key: self.full(key), values }))
    }

    /// A list with a value for each layer; `lens` are its possible lengths.
    pub(crate) fn list<T>(
        &self,
        key: &str,
        lens: &RangeInclusive<usize>,
    ) -> Result<Option<Vec<T>>, ModelError>
    where
        Vec<T>: for<'m> FromMetadata<'m>,
    {
        self.mark_read(key);
        list(self, &self.full(key), lens)
    }

    /// A list with a value for each layer, under a key without the architecture's prefix.
    pub(crate) fn global_list<T>(
        &self,
        key: &str,
        lens: &RangeInclusive<usize>,
    ) -> Result<Vec<T>, ModelError>
    where
        Vec<T>: for<'m> FromMetadata<'m>,
    {
        match list(self, key, lens)? {
            Some(values) => Ok(values),
            None => Ok(self.metadata.required(key)?),
        }
    }
}

fn list<T>(
    keys: &ArchitectureKeys<'_>,
    full_key: &str,
    lens: &RangeInclusive<usize>,
) -> Result<Option<Vec<T>>, ModelError>
where
    Vec<T>: for<'m> FromMetadata<'m>,
{
    let values = keys.metadata.optional::<Vec<T>>(full_key)?;
    match values.as_ref().map(Vec::len).filter(|len| !lens.contains(len)) {
        None => Ok(values),
        Some(len) => Err(ModelError::InvalidConfig {
            key: full_key.to_owned(),
            expected: match lens.start() == lens.end() {
                true => format!("a value for each of {} layers", lens.start()),
                false => {
                    format!("a value for each layer, from {} to {}", lens.start(), lens.end())
                }
            },
            found: format!("{len} values"),
        }),
    }
}
