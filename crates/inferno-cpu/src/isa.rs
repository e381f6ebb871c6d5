//! Instruction sets: names, detection, and running kernels.
//!
//! A kernel implements [`Kernel`] once, for any [`Lanes`](crate::lanes::Lanes). [`Level::run`] passes it to the
//! only `#[target_feature]` function of its instruction set, into which the whole algorithm is inlined. A
//! [`Level`] is chosen when the backend is created, and is a proof that the machine supports the instruction set.

#[cfg(target_arch = "x86_64")]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

use std::fmt;
use std::str::FromStr;

use inferno_backend::BackendError;

use crate::lanes::Kernel;
#[cfg(target_arch = "x86_64")]
use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
use avx512::Avx512;
#[cfg(target_arch = "aarch64")]
use neon::{DotProducts, LongProducts, MatrixProducts, Neon};
use scalar::Scalar;

/// An instruction set for kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Isa {
    /// Portable code, for every machine.
    Scalar,
    /// x86-64 with AVX2, FMA and F16C.
    Avx2,
    /// As [`Avx2`](Self::Avx2), with AVX-VNNI for products of bytes.
    AvxVnni,
    /// x86-64 with AVX-512 F, BW, DQ, VL and VNNI.
    Avx512,
    /// As [`Avx512`](Self::Avx512), with AMX tiles for products of many rows, and for all with F16 and BF16 weights, whose sums
    /// it rounds differently than other instruction sets; on Linux.
    Amx,
    /// AArch64 with NEON.
    Neon,
    /// As [`Neon`](Self::Neon), with dot products of bytes.
    DotProd,
    /// As [`DotProd`](Self::DotProd), with products of 2 by 8 matrices of bytes for several rows.
    I8mm,
}

impl Isa {
    /// All instruction sets, the simplest first.
    pub const ALL: [Self; 8] = [
        Self::Scalar,
        Self::Avx2,
        Self::AvxVnni,
        Self::Avx512,
        Self::Amx,
        Self::Neon,
        Self::DotProd,
        Self::I8mm,
    ];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::AvxVnni => "avxvnni",
            Self::Avx512 => "avx512",
            Self::Amx => "amx",
            Self::Neon => "neon",
            Self::DotProd => "dotprod",
            Self::I8mm => "i8mm",
        }
    }

    /// The instruction sets that this machine and this build support, the fastest last.
    pub fn available() -> Vec<Self> {
        Self::ALL.into_iter().filter(|&isa| Level::new(isa).is_some()).collect()
    }

    fn names(list: &[Self]) -> String {
        list.iter().map(|isa| isa.name()).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Isa {
    type Err = BackendError;

    /// Parses a [`name`](Isa::name), ignoring case.
    fn from_str(name: &str) -> Result<Self, BackendError> {
        Self::ALL.into_iter().find(|isa| isa.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
            BackendError::Unavailable {
                what: format!("the instruction set `{name}`"),
                reason: format!("the names are {}", Self::names(&Self::ALL)),
            }
        })
    }
}

/// An instruction set that this machine supports.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Level {
    Scalar(Scalar),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2<false>),
    #[cfg(target_arch = "x86_64")]
    AvxVnni(Avx2<true>),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(target_arch = "x86_64")]
    Amx(Avx512),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon<LongProducts>),
    #[cfg(target_arch = "aarch64")]
    DotProd(Neon<DotProducts>),
    #[cfg(target_arch = "aarch64")]
    I8mm(Neon<MatrixProducts>),
}

impl Level {
    /// The level of `isa`; `None` if this machine or build does not support it.
    fn new(isa: Isa) -> Option<Self> {
        match isa {
            Isa::Scalar => Some(Self::Scalar(Scalar)),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => Avx2::detect().map(Self::Avx2),
            #[cfg(target_arch = "x86_64")]
            Isa::AvxVnni => Avx2::detect().map(Self::AvxVnni),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => Avx512::detect().map(Self::Avx512),
            #[cfg(target_arch = "x86_64")]
            Isa::Amx => Avx512::detect_amx().map(Self::Amx),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => Neon::detect().map(Self::Neon),
            #[cfg(target_arch = "aarch64")]
            Isa::DotProd => Neon::detect().map(Self::DotProd),
            #[cfg(target_arch = "aarch64")]
            Isa::I8mm => Neon::detect().map(Self::I8mm),
            _ => None,
        }
    }

    /// The level of `isa`, by default the fastest.
    ///
    /// **Errors**: [`BackendError::Unavailable`], which lists the supported instruction sets.
    pub(crate) fn choose(isa: Option<Isa>) -> Result<Self, BackendError> {
        let available = Isa::available();
        let isa = isa.or(available.last().copied()).unwrap_or(Isa::Scalar);
        Self::new(isa).ok_or_else(|| BackendError::Unavailable {
            what: format!("the instruction set `{isa}`"),
            reason: format!("this machine and build have {}", Isa::names(&available)),
        })
    }

    /// The instruction set.
    pub(crate) fn isa(self) -> Isa {
        match self {
            Self::Scalar(_) => Isa::Scalar,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => Isa::Avx2,
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni(_) => Isa::AvxVnni,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => Isa::Avx512,
            #[cfg(target_arch = "x86_64")]
            Self::Amx(_) => Isa::Amx,
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => Isa::Neon,
            #[cfg(target_arch = "aarch64")]
            Self::DotProd(_) => Isa::DotProd,
            #[cfg(target_arch = "aarch64")]
            Self::I8mm(_) => Isa::I8mm,
        }
    }

    /// Whether there is a matrix unit ([`MatrixLanes`](crate::lanes::MatrixLanes)).
    pub(crate) fn has_matrix_unit(self) -> bool {
        self.isa() == Isa::Amx
    }

    /// Runs a kernel that requires a matrix unit, and is compiled only for levels that have one.
    ///
    /// **Panics** if there is none.
    #[inline]
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    pub(crate) fn run_with_matrix_unit<K: Kernel>(self, kernel: K) {
        #[cfg(target_arch = "x86_64")]
        if let Self::Amx(lanes) = self {
            return lanes.run(kernel);
        }
        panic!("the instruction set {} has no matrix unit", self.isa());
    }

    /// Runs `kernel` with this level's instructions.
    #[inline]
    pub(crate) fn run<K: Kernel>(self, kernel: K) {
        match self {
            Self::Scalar(lanes) => kernel.run(lanes),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(lanes) => lanes.run(kernel),
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni(lanes) => lanes.run(kernel),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(lanes) | Self::Amx(lanes) => lanes.run(kernel),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(lanes) => lanes.run(kernel),
            #[cfg(target_arch = "aarch64")]
            Self::DotProd(lanes) => lanes.run(kernel),
            #[cfg(target_arch = "aarch64")]
            Self::I8mm(lanes) => lanes.run(kernel),
        }
    }
}

#[cfg(test)]
mod tests;
