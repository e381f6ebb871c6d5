//! Ember, the small built-in model, for use without a checkpoint or a network.
//!
//! Its file is a constant of the program and is used in place, like a memory-mapped file. It needs no alignment, because
//! every tensor format consists of bytes.

use inferno_gguf::Gguf;

use crate::Error;

/// The name of the model, which is accepted in any case wherever a model is.
pub(crate) const NAME: &str = "ember";

/// The file, if it is built in.
const EMBER: Option<&'static [u8]> = {
    #[cfg(feature = "embedded-model")]
    {
        Some(include_bytes!("../../../models/ember.gguf"))
    }
    #[cfg(not(feature = "embedded-model"))]
    {
        None
    }
};

/// Whether this build includes the model.
pub(crate) const IS_BUILT_IN: bool = EMBER.is_some();

/// Opens the built-in model.
///
/// **Errors**: [`Error::NoModel`] in a build without the feature `embedded-model`.
pub(crate) fn checkpoint() -> Result<Gguf, Error> {
    Ok(Gguf::from_bytes(EMBER.ok_or(Error::NoModel)?)?)
}
