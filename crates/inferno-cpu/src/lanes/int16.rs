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

    /// The [`halves`](Self::halves) of the 16-bit integers `code * factor - offset`, for codes of 0 to 127.
    /// `factors` and `offsets` hold each lane's number twice.
    #[inline(always)]
    fn scaled_halves(
        self,
        codes: Self::Bytes,
        factors: Self::Bytes,
        offsets: Self::Bytes,
    ) -> [Self::Bytes; 2] {
        let mut bytes = [[0; VECTOR_BYTES]; 3];
        for (bytes, vector) in bytes.iter_mut().zip([codes, factors, offsets]) {
            self.store_bytes(vector, bytes);
        }
        let [codes, factors, offsets] = bytes;
        let mut halves = [[0; VECTOR_BYTES]; 2];
        for (at, code) in codes.into_iter().enumerate() {
            let number = |of: &[u8; VECTOR_BYTES]| i16::from_le_bytes([of[at & !1], of[at | 1]]);
            let x = i16::from(code).wrapping_mul(number(&factors)).wrapping_sub(number(&offsets));
            let [high, low] = split_i16(x);
            (halves[0][at], halves[1][at]) = (high as u8, low as u8);
        }
        [self.load_bytes(&halves[0]), self.load_bytes(&halves[1])]
    }
}

/// The high and the low half of a 16-bit integer of at most 32639: `x = 256 high + low`, both signed.
#[inline(always)]
pub(crate) fn split_i16(x: i16) -> [i8; 2] {
    [(x.wrapping_add(128) >> 8) as i8, x as i8]
}
