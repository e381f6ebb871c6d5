//! Packing and unpacking the bit fields of codes.
//!
//! The codes of most formats have this layout: in each run of `STRIDE` bytes, byte `i` holds the fields of weights `i`,
//! `i + STRIDE`, `i + 2 * STRIDE`, ... from its lowest bits up. The files of the formats describe the others.

/// Reads fields of `WIDTH` bits and ORs them into the codes at bit `shift`.
pub(super) fn unpack<const WIDTH: usize, const STRIDE: usize>(
    bytes: &[u8],
    shift: usize,
    codes: &mut [u8],
) {
    let mask = (1 << WIDTH) - 1;
    let runs = bytes.chunks_exact(STRIDE).zip(codes.chunks_exact_mut(STRIDE * 8 / WIDTH));
    for (bytes, codes) in runs {
        for (field, codes) in codes.chunks_exact_mut(STRIDE).enumerate() {
            for (code, byte) in codes.iter_mut().zip(bytes) {
                *code |= ((byte >> (WIDTH * field)) & mask) << shift;
            }
        }
    }
}

/// Writes bits `shift..shift + WIDTH` of the codes as fields: the inverse of [`unpack`]. The bytes
/// must be zero initially.
pub(super) fn pack<const WIDTH: usize, const STRIDE: usize>(
    codes: &[u8],
    shift: usize,
    bytes: &mut [u8],
) {
    let mask = (1 << WIDTH) - 1;
    let runs = bytes.chunks_exact_mut(STRIDE).zip(codes.chunks_exact(STRIDE * 8 / WIDTH));
    for (bytes, codes) in runs {
        for (field, codes) in codes.chunks_exact(STRIDE).enumerate() {
            for (byte, code) in bytes.iter_mut().zip(codes) {
                *byte |= ((code >> shift) & mask) << (WIDTH * field);
            }
        }
    }
}

/// Writes `code - offset` for every code.
///
/// **Panics** if the lengths differ.
pub(super) fn centre(codes: &[u8], offset: i8, out: &mut [i8]) {
    assert_eq!(out.len(), codes.len(), "a block has exactly LEN quants");
    for (out, &code) in out.iter_mut().zip(codes) {
        *out = code as i8 - offset;
    }
}
