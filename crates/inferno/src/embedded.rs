//! Ember, the small model inside the program: for the first command, on a machine with no checkpoint and no network.
//!
//! Its file is a constant of the program. It is read where it lies, as a mapped file is: nothing is written to the disk,
//! and nothing is copied but what loading any model copies. Payloads need no alignment, since every format is
//! made of bytes.

use inferno_gguf::Gguf;

use crate::Error;

/// The file, where it was built in.
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

/// Whether this build has the model inside.
pub(crate) const IS_BUILT_IN: bool = EMBER.is_some();

/// Opens the model inside.
///
/// **Errors**: [`Error::NoModel`] in a build without the feature `embedded-model`.
pub(crate) fn checkpoint() -> Result<Gguf, Error> {
    Ok(Gguf::from_bytes(EMBER.ok_or(Error::NoModel)?)?)
}
