//! Dot products of 16-bit integers, and their split into high and low bytes. Integers in byte vectors are
//! little-endian.

use super::bytes::ByteLanes;
use super::integer::IntegerLanes;
use super::vector::VECTOR_BYTES;

/// Operations on two 16-bit integers per lane.
pub(crate) trait Int16Lanes: ByteLanes + IntegerLanes {
    /// Two 16-bit integers per lane: the low half of `first`, then of `second`.
    fn pair_i16(self, first: Self::I32, second: Self::I32) -> Self::Bytes;
    /// Adds to lane `i` the products of its two 16-bit integers of `x` with those of `y`, wrapping. At least
    /// one of the four must not be -32768.
    fn dot_i16(self, acc: Self::I32, x: Self::Bytes, y: [i16; 2]) -> Self::I32;

    /// Splits 16-bit integers as [`split_i16`] does: the high halves, then the low halves. `first` holds two
    /// integers per lane, `second` the two that follow them; their halves are the four bytes of that lane.
    #[inline(always)]
    fn halves(self, first: Self::Bytes, second: Self::Bytes) -> [Self::Bytes; 2] {
        let (mut pairs, mut halves) = ([[0; VECTOR_BYTES]; 2], [[0; VECTOR_BYTES]; 2]);
        self.store_bytes(first, &mut pairs[0]);
        self.store_bytes(second, &mut pairs[1]);
        for (pair, pairs) in pairs.iter().enumerate() {
            for (index, x) in pairs.chunks_exact(2).enumerate() {
                let x = i16::from_le_bytes([x[0], x[1]]);
                let at = index / 2 * 4 + 2 * pair + index % 2;
                let [high, low] = split_i16(x);
                (halves[0][at], halves[1][at]) = (high as u8, low as u8);
            }
        }
        [self.load_bytes(&halves[0]), self.load_bytes(&halves[1])]
    }

    /// The signed high bytes of the 16-bit integers `code * factor - offset`, which wrap around, then their unsigned low
    /// bytes. Codes are unsigned bytes. `factors` and `offsets` hold each lane's number twice.
    #[inline(always)]
    fn scaled_bytes(
        self,
        codes: Self::Bytes,
        factors: Self::Bytes,
        offsets: Self::Bytes,
    ) -> [Self::Bytes; 2] {
        let bytes = self.stored([codes, factors, offsets]);
        self.split_bytes(|at| {
            let [factor, offset] = [1, 2].map(|of: usize| number_at(&bytes[of], at));
            i16::from(bytes[0][at]).wrapping_mul(factor).wrapping_sub(offset)
        })
    }

    /// The same for signed bytes as codes, factors of 0 to 255, and no offsets.
    #[inline(always)]
    fn scaled_signed_bytes(self, codes: Self::Bytes, factors: Self::Bytes) -> [Self::Bytes; 2] {
        let bytes = self.stored([codes, factors]);
        self.split_bytes(|at| i16::from(bytes[0][at] as i8).wrapping_mul(number_at(&bytes[1], at)))
    }

    /// The bytes of vectors.
    #[inline(always)]
    fn stored<const N: usize>(self, vectors: [Self::Bytes; N]) -> [[u8; VECTOR_BYTES]; N] {
        let mut bytes = [[0; VECTOR_BYTES]; N];
        for (bytes, vector) in bytes.iter_mut().zip(vectors) {
            self.store_bytes(vector, bytes);
        }
        bytes
    }

    /// The high bytes of 16-bit integers, one for each byte of a vector, then their low bytes.
    #[inline(always)]
    fn split_bytes(self, integer: impl Fn(usize) -> i16) -> [Self::Bytes; 2] {
        let mut halves = [[0; VECTOR_BYTES]; 2];
        let [high, low] = &mut halves;
        for (at, (high, low)) in high.iter_mut().zip(low).enumerate() {
            [*low, *high] = integer(at).to_le_bytes();
        }
        [self.load_bytes(&halves[0]), self.load_bytes(&halves[1])]
    }
}

/// The 16-bit integer that contains byte `at`.
#[inline(always)]
fn number_at(bytes: &[u8; VECTOR_BYTES], at: usize) -> i16 {
    i16::from_le_bytes([bytes[at & !1], bytes[at | 1]])
}

/// The high and the low half of a 16-bit integer of at most 32639: `x = 256 high + low`, both signed.
#[inline(always)]
pub(crate) fn split_i16(x: i16) -> [i8; 2] {
    [(x.wrapping_add(128) >> 8) as i8, x as i8]
}
