//! The GPUs of this machine.

mod memory;

pub(crate) use memory::unchecked_shader;

use std::fmt;
use std::sync::OnceLock;

use inferno_backend::BackendError;

use crate::limits;
use crate::ops::product::algorithm::Matrices;
use crate::timing::Timing;

/// Numbers below this are indices of adapters, others are parts of names.
const MAX_INDEX: usize = 100;

/// A GPU adapter: a device and its API. A device that supports several APIs has an adapter for each.
#[derive(Debug, Clone)]
pub struct GpuAdapter {
    index: usize,
    info: wgpu::AdapterInfo,
    adapter: wgpu::Adapter,
}

/// Kinds of adapters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdapterKind {
    /// A card with memory of its own.
    Discrete,
    /// Shares its memory with the processor.
    Integrated,
    /// Part of a virtual machine.
    Virtual,
    /// Emulated on the processor, for tests.
    Software,
    /// Not known.
    Other,
}

impl AdapterKind {
    /// The name, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Discrete => "discrete",
            Self::Integrated => "integrated",
            Self::Virtual => "virtual",
            Self::Software => "software",
            Self::Other => "other",
        }
    }
}

impl GpuAdapter {
    /// Lists the adapters of this machine, in the order of their indexes. The list is empty on machines without a driver.
    /// The drivers are queried once per process.
    pub fn all() -> &'static [Self] {
        static ALL: OnceLock<Vec<GpuAdapter>> = OnceLock::new();
        ALL.get_or_init(enumerate)
    }

    /// Returns the adapter with an index.
    ///
    /// **Errors**: [`BackendError::Unavailable`], which lists the adapters.
    pub fn at(index: usize) -> Result<&'static Self, BackendError> {
        let adapters = Self::all();
        adapters.get(index).ok_or_else(|| BackendError::Unavailable {
            what: format!("GPU {index}"),
            reason: match adapters {
                [] => "no GPU driver (Vulkan, Metal or DX12) was found".to_owned(),
                _ => {
                    let known: Vec<String> = adapters.iter().map(Self::to_string).collect();
                    format!("choose one of: {}", known.join("; "))
                }
            },
        })
    }

    /// Returns the adapter whose index is `wanted`, a number below 100, or part of whose name it is, regardless of case.
    pub fn named(wanted: &str) -> Option<&'static Self> {
        let (adapters, lower) = (Self::all(), wanted.to_lowercase());
        match lower.parse::<usize>() {
            // Names contain numbers: `1` is not an `A100`, but `4090` is a name.
            Ok(index) if index < MAX_INDEX => adapters.get(index),
            _ if lower.is_empty() => None,
            _ => adapters.iter().find(|adapter| adapter.name().to_lowercase().contains(&lower)),
        }
    }

    /// Returns the first adapter to use if none is named.
    pub fn preferred() -> Option<&'static Self> {
        Self::all_preferred().next()
    }

    /// Returns the adapters that are used without being named: discrete ones, and those of Apple's processors.
    pub fn all_preferred() -> impl Iterator<Item = &'static Self> {
        let adapters: &[Self] = if has_hardware() { Self::all() } else { &[] };
        adapters.iter().filter(|adapter| {
            let is_apple =
                adapter.info.backend == wgpu::Backend::Metal && adapter.name().starts_with("Apple");
            adapter.kind() == AdapterKind::Discrete || is_apple
        })
    }

    /// Its position in [`all`](Self::all).
    pub fn index(&self) -> usize {
        self.index
    }

    /// The name of the device.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// The interface: `vulkan`, `metal` or `dx12`.
    pub fn api(&self) -> &'static str {
        self.info.backend.to_str()
    }

    /// The kind of device.
    pub fn kind(&self) -> AdapterKind {
        match self.info.device_type {
            wgpu::DeviceType::DiscreteGpu => AdapterKind::Discrete,
            wgpu::DeviceType::IntegratedGpu => AdapterKind::Integrated,
            wgpu::DeviceType::VirtualGpu => AdapterKind::Virtual,
            wgpu::DeviceType::Cpu => AdapterKind::Software,
            wgpu::DeviceType::Other => AdapterKind::Other,
        }
    }

    /// The driver's name and version; empty if it is not known.
    pub fn driver(&self) -> String {
        format!("{} {}", self.info.driver, self.info.driver_info).trim().to_owned()
    }

    /// Size of the device's memory, in bytes, if the driver reports it.
    pub fn memory_bytes(&self) -> Option<u64> {
        memory::memory_bytes(&self.adapter)
    }

    /// The largest part of a buffer that a kernel can read, in bytes.
    pub fn max_binding_bytes(&self) -> u64 {
        self.limits().max_storage_buffer_binding_size
    }

    /// The limits of the device, of which kernels bind less than 2 GiB.
    pub(crate) fn limits(&self) -> wgpu::Limits {
        limits::with_capped_bindings(self.adapter.limits())
    }

    /// The smallest and the largest number of threads that run in lockstep.
    pub fn subgroup_sizes(&self) -> [u32; 2] {
        [self.info.subgroup_min_size, self.info.subgroup_max_size]
    }

    /// The optional features that kernels can make use of, by name.
    pub fn features(&self) -> Vec<&'static str> {
        let features = self.adapter.features();
        FEATURES
            .iter()
            .filter(|(flag, _)| features.contains(*flag))
            .map(|&(_, name)| name)
            .collect()
    }

    /// The cooperative matrices that products can use. Only those of Vulkan: kernels load them from vectors, which the
    /// translation to Metal does not support.
    pub(crate) fn matrices(&self) -> Option<Matrices> {
        let offered = self.adapter.features().contains(MATRIX_FEATURES);
        if !offered || self.info.backend != wgpu::Backend::Vulkan {
            return None;
        }
        let subgroup = self.info.subgroup_max_size;
        let sizes = self.adapter.cooperative_matrix_properties();
        let is_suitable = |size: u32| {
            sizes.iter().any(|matrix| {
                [matrix.m_size, matrix.n_size, matrix.k_size] == [size; 3]
                    && matrix.ab_type == wgpu::CooperativeScalarType::F16
                    && matrix.cr_type == wgpu::CooperativeScalarType::F32
            })
        };
        let size = [16, 8].into_iter().find(|size| is_suitable(*size))?;
        let matrices = Matrices { size, subgroup };
        matrices.fit(&self.limits()).then_some(matrices)
    }

    /// Opens the device, with the largest limits that it offers.
    ///
    /// **Errors**: [`BackendError::Unavailable`], also if the limits are not sufficient for every kernel.
    pub(crate) fn open(
        &self,
        has_matrices: bool,
    ) -> Result<(wgpu::Device, wgpu::Queue), BackendError> {
        let unavailable =
            |reason| BackendError::Unavailable { what: format!("GPU {:?}", self.name()), reason };
        let required_limits = self.limits();
        if let Some(reason) = limits::insufficient(&required_limits) {
            return Err(unavailable(reason));
        }
        let optional = wgpu::Features::SHADER_F16 | Timing::FEATURES;
        let mut required_features = self.adapter.features() & optional;
        if has_matrices {
            required_features |= MATRIX_FEATURES;
        }
        let request = self.adapter.request_device(&wgpu::DeviceDescriptor {
            label: Some("inferno"),
            required_limits,
            required_features,
            experimental_features: memory::experimental_features(has_matrices),
            ..Default::default()
        });
        pollster::block_on(request).map_err(|error| unavailable(error.to_string()))
    }
}

/// What kernels with cooperative matrices need.
const MATRIX_FEATURES: wgpu::Features = wgpu::Features::SHADER_F16
    .union(wgpu::Features::SUBGROUP)
    .union(wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX);

/// Features of interest, and their names.
const FEATURES: [(wgpu::Features, &str); 3] = [
    (wgpu::Features::SHADER_F16, "f16"),
    (wgpu::Features::SUBGROUP, "subgroups"),
    (wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX, "cooperative matrices"),
];

impl fmt::Display for GpuAdapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {}, {})", self.index, self.name(), self.api(), self.kind().name())
    }
}

/// Queries the drivers.
fn enumerate() -> Vec<GpuAdapter> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12,
        flags: wgpu::InstanceFlags::empty(),
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    let described = |(index, adapter): (usize, wgpu::Adapter)| GpuAdapter {
        index,
        info: adapter.get_info(),
        adapter,
    };
    adapters.into_iter().enumerate().map(described).collect()
}

/// Whether the machine may have a GPU. Querying the drivers takes a tenth of a second, and some print messages.
fn has_hardware() -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    let has_node = |folder: &str, beginnings: &[&str]| {
        std::fs::read_dir(folder).is_ok_and(|entries| {
            entries.flatten().any(|entry| {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                beginnings.iter().any(|beginning| name.starts_with(beginning))
            })
        })
    };
    has_node("/dev/dri", &["renderD"]) || has_node("/dev", &["nvidia", "dxg"])
}

/// The first adapter, for unit tests; `None`, and prints so, if there is none.
///
/// **Panics** if there is none and `INFERNO_REQUIRE_GPU` is 1.
#[cfg(test)]
pub(crate) fn for_tests() -> Option<&'static GpuAdapter> {
    let adapter = GpuAdapter::all().first();
    if adapter.is_none() {
        let required = std::env::var("INFERNO_REQUIRE_GPU").is_ok_and(|value| value == "1");
        assert!(!required, "no GPU adapter, but INFERNO_REQUIRE_GPU is 1");
        println!("skipped: no GPU adapter");
    }
    adapter
}
