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
        ModelError::invalid_config(&*self.key, expected, found)
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

    /// A list with a boolean for each layer. llama.cpp saves models with numbers instead, which are 0 for false.
    pub(crate) fn booleans(
        &self,
        key: &str,
        lens: &RangeInclusive<usize>,
    ) -> Result<Option<Vec<bool>>, ModelError> {
        match self.metadata.optional::<Vec<u32>>(&self.full(key)) {
            Ok(Some(_)) => {
                let numbers = self.list::<u32>(key, lens)?;
                Ok(numbers.map(|numbers| numbers.into_iter().map(|number| number != 0).collect()))
            }
            _ => self.list(key, lens),
        }
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
    let Some(len) = values.as_ref().map(Vec::len).filter(|len| !lens.contains(len)) else {
        return Ok(values);
    };
    let (min, max) = (lens.start(), lens.end());
    let expected = match min == max {
        true => format!("a value for each of {min} layers"),
        false => format!("a value for each layer, from {min} to {max}"),
    };
    Err(ModelError::invalid_config(full_key, expected, format!("{len} values")))
}
