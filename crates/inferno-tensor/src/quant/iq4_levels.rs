//! The 16 unevenly spaced levels of the IQ4 formats.

/// The levels of the codes of IQ4_NL and IQ4_XS, denser around zero.
pub const IQ4_LEVELS: [i8; 16] =
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// Writes the level of every code.
///
/// **Panics** if the lengths differ.
pub(super) fn levels(codes: &[u8], out: &mut [i8]) {
    assert_eq!(out.len(), codes.len(), "a block has exactly LEN quants");
    for (out, &code) in out.iter_mut().zip(codes) {
        *out = IQ4_LEVELS[usize::from(code & 0x0f)];
    }
}
