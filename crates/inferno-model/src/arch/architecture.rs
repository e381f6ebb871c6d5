//! The properties in which architectures differ.

use inferno_backend::RopePairing;

/// What distinguishes one architecture from the others.
#[derive(Debug, PartialEq)]
pub struct Architecture {
    /// Value of `general.architecture`, and the prefix of the architecture's metadata keys.
    pub name: &'static str,
    /// Which components of a head rotary embedding rotates together.
    pub rope_pairing: RopePairing,
    /// Whether the query, key and value projections must have biases. If false, biases in the file
    /// are used and missing ones are accepted.
    pub requires_qkv_bias: bool,
    /// Whether query and key heads are normalized before rotary embedding.
    pub has_qk_norm: bool,
}
