//! Blocks of GGUF files with the codes and scales of a checkpoint.

use inferno_tensor::{DType, TensorError, quant};

use super::{Quantized, QuantizedData};

impl QuantizedData<'_> {
    /// Writes the block of format `dtype`, which is that of [`Quantized::block_format`], whose first weight is at a position in
    /// the tensor. Returns a scale that is too large for the format.
    pub(crate) fn block(&self, dtype: DType, position: usize, out: &mut [u8]) -> Option<f64> {
        let cols = self.quantized.groups.cols();
        let (row, col) = (position / cols, position % cols);
        match dtype {
            DType::Mxfp4 => self.mxfp4(row, col, out),
            DType::Nvfp4 => self.nvfp4(row, col, out),
            _ => return self.integers(dtype, row, col, out),
        }
        None
    }

    /// A scale in half precision, and integers.
    fn integers(&self, dtype: DType, row: usize, col: usize, out: &mut [u8]) -> Option<f64> {
        let mut numbers = [0.0; 32];
        self.read_numbers(row, col, &mut numbers);
        let [zero, scale] = self.zero_and_scale(self.quantized.groups.group(row, col));
        let quants = numbers.map(|number| (number - zero) as i32);
        let (half, out) = out.split_at_mut(2);
        quant::encode_row(DType::F16, &[scale], half).expect("floats have no blocks");
        match dtype {
            DType::Q4_0 => halves(quants.map(|quant| (quant + 8) as u8), out),
            DType::Q5_0 => {
                let codes = quants.map(|quant| (quant + 16) as u8);
                let (upper, lower) = out.split_at_mut(4);
                for (codes, upper) in codes.chunks_exact(8).zip(upper) {
                    let bits = codes.iter().enumerate();
                    *upper = bits.fold(0, |bits, (index, code)| bits | (code >> 4) << index);
                }
                halves(codes.map(|code| code & 15), lower);
            }
            _ => out.iter_mut().zip(quants).for_each(|(out, quant)| *out = quant as u8),
        }
        match quant::check_range(DType::F16, &[scale]) {
            Err(TensorError::OutOfRange { value, .. }) => Some(value.into()),
            _ => None,
        }
    }

    fn mxfp4(&self, row: usize, col: usize, out: &mut [u8]) {
        let codes: [u8; 32] = self.codes_at(row, col);
        out[0] = self.scale_byte(row, col);
        halves(codes, &mut out[1..]);
    }

    fn nvfp4(&self, row: usize, col: usize, out: &mut [u8]) {
        let (scales, out) = out.split_at_mut(4);
        for (group, (scale, out)) in scales.iter_mut().zip(out.chunks_exact_mut(8)).enumerate() {
            let col = col + 16 * group;
            let byte = self.scale_byte(row, col);
            // Blocks have no signs of scales.
            let sign = byte >> 7 << 3;
            *scale = byte & 0x7f;
            halves(self.codes_at::<16>(row, col).map(|code| code ^ sign), out);
        }
    }

    fn codes_at<const N: usize>(&self, row: usize, col: usize) -> [u8; N] {
        let mut codes = [0; N];
        self.quantized.codes.read(&self.codes, row, col, &mut codes);
        codes
    }

    fn scale_byte(&self, row: usize, col: usize) -> u8 {
        let Quantized { groups, .. } = self.quantized;
        self.scales[groups.index(groups.group(row, col))]
    }
}

/// Codes of 4 bits: those of the first half in the lower halves of bytes, the others in the upper ones.
pub(crate) fn halves<const N: usize>(codes: [u8; N], out: &mut [u8]) {
    let (first, second) = codes.split_at(N / 2);
    for (out, (first, second)) in out.iter_mut().zip(first.iter().zip(second)) {
        *out = first | second << 4;
    }
}
