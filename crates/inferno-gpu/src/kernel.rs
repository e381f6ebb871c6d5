//! Kernels: WGSL sources and what they are put together from.

use std::fmt::Write;
use std::hash::{Hash, Hasher};

use crate::pack::WeightFormat;
use crate::template;

/// A compute shader, in one file of `shaders/`.
///
/// Group 0, binding 0 is a uniform with the parameters; the storage buffers follow. The entry point is `main`.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// The name of the file.
    pub(crate) name: &'static str,
    /// The source, without snippets and constants.
    pub(crate) source: &'static str,
    /// Functions that the source calls.
    pub(crate) snippets: &'static [&'static Snippet],
    /// What the kernel does with the buffers from binding 1 on.
    pub(crate) access: &'static [Access],
    /// Extensions of WGSL that it enables.
    pub(crate) extensions: &'static [&'static str],
}

/// What a kernel does with a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Access {
    Read,
    ReadWrite,
}

/// Functions that several kernels share, in one file of `shaders/snippets/`.
#[derive(Debug)]
pub(crate) struct Snippet {
    /// The name of the file.
    pub(crate) name: &'static str,
    /// The source.
    pub(crate) source: &'static str,
}

/// Declares kernels from `shaders/NAME.wgsl`.
macro_rules! kernel {
    ($ident:ident, $name:literal, [$($snippet:path),*], [$($access:ident),*]) => {
        $crate::kernel::kernel!($ident, $name, [$($snippet),*], [$($access),*], []);
    };
    ($ident:ident, $name:literal, [$($snippet:path),*], [$($access:ident),*], [$($extension:literal),*]) => {
        static $ident: $crate::kernel::Kernel = $crate::kernel::Kernel {
            name: $name,
            source: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/shaders/", $name, ".wgsl")),
            snippets: &[$(&$snippet),*],
            access: &[$($crate::kernel::Access::$access),*],
            extensions: &[$($extension),*],
        };
    };
}
pub(crate) use kernel;

/// Declares a snippet from `shaders/snippets/NAME.wgsl`.
macro_rules! snippet {
    ($ident:ident, $name:literal) => {
        pub(crate) static $ident: $crate::kernel::Snippet = $crate::kernel::Snippet {
            name: $name,
            source: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/src/shaders/snippets/",
                $name,
                ".wgsl"
            )),
        };
    };
}

pub(crate) use snippet;

impl Kernel {
    /// Whether it multiplies by cooperative matrices, which is supported with Vulkan only.
    pub(crate) fn has_matrices(&self) -> bool {
        self.extensions.contains(&"wgpu_cooperative_matrix")
    }
}

impl PartialEq for Snippet {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Snippet {}

impl Hash for Snippet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Kernel {}

impl Hash for Kernel {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::hash(self, state);
    }
}

/// Maximum number of constants of a variant, of snippets, and of formats of weights.
const MAX_CONSTANTS: usize = 20;
const MAX_SNIPPETS: usize = 4;
const MAX_FORMATS: usize = 2;

/// A kernel with constants and further snippets: one pipeline. Its sources are expanded by [`template`] with the values
/// of the constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Variant {
    pub(crate) kernel: &'static Kernel,
    constants: [Option<(&'static str, u32)>; MAX_CONSTANTS],
    snippets: [Option<&'static Snippet>; MAX_SNIPPETS],
    formats: [Option<BoundFormat>; MAX_FORMATS],
}

/// The functions that decode weights of a format: their prefix, and the binding of the first of two buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct BoundFormat {
    prefix: &'static str,
    binding: u32,
    format: &'static WeightFormat,
}

impl Hash for Variant {
    /// Leaves out names, since a variant is looked up for each dispatch.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kernel.hash(state);
        let constants = self.constants.iter().map_while(|constant| constant.as_ref());
        constants.for_each(|(_, value)| value.hash(state));
        let formats = self.formats.iter().map_while(|format| format.as_ref());
        formats.for_each(|format| std::ptr::hash(format.format, state));
    }
}

impl From<&'static Kernel> for Variant {
    fn from(kernel: &'static Kernel) -> Self {
        Self {
            kernel,
            constants: [None; MAX_CONSTANTS],
            snippets: [None; MAX_SNIPPETS],
            formats: [None; MAX_FORMATS],
        }
    }
}

impl Variant {
    /// A kernel whose workgroups have the usual number of threads, [`LANES`](crate::ops::LANES).
    pub(crate) fn with_lanes(kernel: &'static Kernel) -> Self {
        Self::from(kernel).with("LANES", crate::ops::LANES)
    }

    /// Sets the constant `name` of type `u32`.
    pub(crate) fn with(mut self, name: &'static str, value: u32) -> Self {
        let free = self.constants.iter_mut().find(|constant| constant.is_none());
        *free.expect("at most MAX_CONSTANTS") = Some((name, value));
        self
    }

    /// Adds a snippet.
    pub(crate) fn with_snippet(mut self, snippet: &'static Snippet) -> Self {
        let free = self.snippets.iter_mut().find(|snippet| snippet.is_none());
        *free.expect("at most MAX_SNIPPETS") = Some(snippet);
        self
    }

    /// Adds the functions that decode weights of `format`, see [`WeightFormat::source`].
    pub(crate) fn with_format(
        mut self,
        prefix: &'static str,
        binding: u32,
        format: &'static WeightFormat,
    ) -> Self {
        let free = self.formats.iter_mut().find(|format| format.is_none());
        *free.expect("at most MAX_FORMATS") = Some(BoundFormat { prefix, binding, format });
        self
    }

    /// The name of the kernel and the values of the constants.
    pub(crate) fn label(&self) -> String {
        let snippets = self.snippets.iter().flatten().map(|snippet| snippet.name.to_owned());
        let constants =
            self.constants.iter().flatten().map(|(name, value)| format!("{name}={value}"));
        let formats = self.formats.iter().flatten().map(|format| format.format.dtype.to_string());
        let parts = std::iter::once(self.kernel.name.to_owned()).chain(snippets).chain(constants);
        parts.chain(formats).collect::<Vec<_>>().join(" ")
    }

    /// The whole source: constants, snippets and the kernel.
    pub(crate) fn source(&self) -> String {
        let mut source = String::new();
        for extension in self.kernel.extensions {
            writeln!(source, "enable {extension};").expect("memory");
        }
        let constants = self.constants.iter().flatten();
        let values: Vec<_> = constants.map(|&(name, value)| (name, value.to_string())).collect();
        for (name, value) in &values {
            writeln!(source, "const {name}: u32 = {value}u;").expect("memory");
        }
        let snippets =
            self.kernel.snippets.iter().copied().chain(self.snippets.iter().flatten().copied());
        for snippet in snippets {
            source.push_str(&template::expand(snippet.source, &values));
        }
        for BoundFormat { prefix, binding, format } in self.formats.iter().flatten() {
            source.push_str(&format.source(prefix, *binding));
        }
        source.push_str(&template::expand(self.kernel.source, &values));
        source
    }
}

/// Snippets of several operations.
pub(crate) mod snippets {
    snippet!(CONV_INPUT, "conv_input");
    snippet!(FLAT_INDEX, "flat_index");
    snippet!(FUNCTION, "function");
    snippet!(HALF_SCALE, "half_scale");
    snippet!(ORDER, "order");
    snippet!(PRODUCT_OUTPUTS, "product_outputs");
    snippet!(PRODUCT_ROWS, "product_rows");
    snippet!(SEQUENCE_STATE, "sequence_state");
    snippet!(UNIT, "unit");
    snippet!(WORKGROUP_SUM, "workgroup_sum");
}

#[cfg(test)]
mod uniformity;

#[cfg(test)]
mod tests {
    use naga::back::{hlsl, msl, spv};
    use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};

    use super::Variant;

    fn parse(variant: &Variant) -> (naga::Module, ModuleInfo) {
        let (label, source) = (variant.label(), variant.source());
        let module = naga::front::wgsl::parse_str(&source)
            .unwrap_or_else(|error| panic!("{label}: {}", error.emit_to_string(&source)));
        let capabilities = Capabilities::SHADER_FLOAT16_IN_FLOAT32
            | Capabilities::SHADER_FLOAT16
            | Capabilities::SUBGROUP
            | Capabilities::COOPERATIVE_MATRIX;
        let mut validator = Validator::new(ValidationFlags::all(), capabilities);
        let info = validator
            .validate(&module)
            .unwrap_or_else(|error| panic!("{label}: {}", error.emit_to_string(&source)));
        (module, info)
    }

    #[test]
    fn parameters_alone_decide_whether_a_barrier_is_reached() {
        // Kernels with cooperative matrices are for Vulkan only.
        let is_for_all = |variant: &Variant| variant.kernel.extensions.is_empty();
        for variant in crate::ops::variants().into_iter().filter(is_for_all) {
            let found = super::uniformity::divergent_barriers(&parse(&variant).0);
            assert!(found.is_empty(), "{}: {found:?}", variant.label());
        }
    }

    #[test]
    fn every_variant_is_valid_and_translates_to_all_languages() {
        for variant in crate::ops::variants() {
            let label = variant.label();
            let (module, info) = parse(&variant);
            spv::write_vec(&module, &info, &spv::Options::default(), None)
                .unwrap_or_else(|error| panic!("{label}: {error}"));
            let options = msl::Options {
                // The first version with matrices.
                lang_version: (2, 3),
                fake_missing_bindings: true,
                ..Default::default()
            };
            msl::write_string(&module, &info, &options, &Default::default())
                .unwrap_or_else(|error| panic!("{label}: {error}"));
            if variant.kernel.has_matrices() {
                // Kernels with cooperative matrices are for Vulkan only.
                continue;
            }
            let options = hlsl::Options { fake_missing_bindings: true, ..Default::default() };
            let pipeline = hlsl::PipelineOptions::default();
            let mut text = String::new();
            hlsl::Writer::new(&mut text, &options, &pipeline)
                .write(&module, &info, None)
                .unwrap_or_else(|error| panic!("{label}: {error}"));
        }
    }
}
