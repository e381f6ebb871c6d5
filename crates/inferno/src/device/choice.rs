//! The names of backends.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// The device and code that compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BackendChoice {
    /// A GPU with memory of its own, or Apple's, if the model fits in its memory; otherwise, and if a number of threads or
    /// an instruction set is chosen, [`Parallel`](Self::Parallel).
    #[default]
    Auto,
    /// CPU: one thread, portable code.
    Scalar,
    /// CPU: one thread, the best instruction set available.
    Simd,
    /// CPU: all threads, the best instruction set available.
    Parallel,
    /// GPU.
    Gpu,
    /// Another name of [`Gpu`](Self::Gpu).
    Metal,
    /// Naive loops that every other backend is tested against.
    Reference,
}

impl BackendChoice {
    /// All backends.
    pub const ALL: [Self; 7] = [
        Self::Auto,
        Self::Scalar,
        Self::Simd,
        Self::Parallel,
        Self::Gpu,
        Self::Metal,
        Self::Reference,
    ];

    /// Returns the other names on the command line.
    pub(crate) fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::Parallel => &["cpu"],
            Self::Gpu => &["vulkan", "dx12"],
            _ => &[],
        }
    }

    /// Returns whether a GPU may compute.
    pub(crate) fn may_be_gpu(self) -> bool {
        matches!(self, Self::Auto | Self::Gpu | Self::Metal)
    }

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Scalar => "scalar",
            Self::Simd => "simd",
            Self::Parallel => "parallel",
            Self::Gpu => "gpu",
            Self::Metal => "metal",
            Self::Reference => "reference",
        }
    }
}

impl fmt::Display for BackendChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for BackendChoice {
    type Err = Error;

    /// Parses a [`name`](Self::name) or one of the aliases, ignoring case.
    ///
    /// **Errors**: [`Error::UnknownBackend`].
    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|choice| {
                let mut names = [choice.name()].into_iter().chain(choice.aliases().iter().copied());
                names.any(|name| name.eq_ignore_ascii_case(text))
            })
            .ok_or_else(|| Error::UnknownBackend { found: text.to_owned() })
    }
}
