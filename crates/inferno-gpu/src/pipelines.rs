//! Compiled kernels, and the buffers bound to them. Both are created on first use.

use std::collections::HashMap;

use inferno_backend::BackendError;

use crate::adapter::unchecked_shader;
use crate::health;
use crate::kernel::{Access, Variant};
use crate::memory::allocation::{Binding, KEY_LEN};

/// Bytes of the parameters of a dispatch, and the alignment of those of different dispatches.
pub(crate) const PARAMS_BYTES: usize = 256;

/// The kernels that were used so far.
#[derive(Debug, Default)]
pub(crate) struct Pipelines {
    layouts: HashMap<&'static [Access], Layout, foldhash::fast::RandomState>,
    /// Or why a kernel cannot be compiled.
    pipelines: HashMap<Variant, Result<Pipeline, String>, foldhash::fast::RandomState>,
    bind_groups: HashMap<Box<[u64]>, wgpu::BindGroup, foldhash::fast::RandomState>,
    /// The key of the bind group that is looked up.
    key: Vec<u64>,
}

/// The number and kinds of a kernel's buffers.
#[derive(Debug, Clone)]
struct Layout {
    id: u64,
    bind_group: wgpu::BindGroupLayout,
    pipeline: wgpu::PipelineLayout,
}

/// A compiled kernel.
#[derive(Debug)]
struct Pipeline {
    layout: Layout,
    pipeline: wgpu::ComputePipeline,
}

impl Pipelines {
    /// Returns the pipeline of `variant`, and a group of its buffers: `params` (of which a dispatch reads
    /// [`PARAMS_BYTES`], from an offset), then `bindings`.
    ///
    /// **Errors**: [`BackendError::Kernel`].
    pub(crate) fn bind(
        &mut self,
        device: &wgpu::Device,
        variant: &Variant,
        params: (u64, &wgpu::Buffer),
        bindings: &[Binding<'_>],
    ) -> Result<(wgpu::ComputePipeline, wgpu::BindGroup), BackendError> {
        if !self.pipelines.contains_key(variant) {
            self.compile(device, variant);
        }
        let Self { pipelines, bind_groups, key, .. } = self;
        let Pipeline { layout, pipeline } = match &pipelines[variant] {
            Ok(pipeline) => pipeline,
            Err(reason) => {
                let (name, reason) = (variant.label(), reason.clone());
                return Err(BackendError::Kernel { name, reason });
            }
        };
        key.clear();
        key.extend([layout.id, params.0]);
        key.extend(bindings.iter().flat_map(Binding::key));
        if let Some(group) = bind_groups.get(&key[..]) {
            return Ok((pipeline.clone(), group.clone()));
        }
        let group = bind_group(device, &layout.bind_group, params.1, bindings);
        bind_groups.insert(key.as_slice().into(), group.clone());
        Ok((pipeline.clone(), group))
    }

    /// Drops the groups that have a buffer whose number is among `dropped`.
    pub(crate) fn evict(&mut self, dropped: &[u64]) {
        const HEAD: usize = 2;
        if !dropped.is_empty() {
            self.bind_groups.retain(|key, _| {
                !key[HEAD..].chunks(KEY_LEN).any(|binding| dropped.contains(&binding[0]))
            });
        }
    }

    /// Compiles a kernel, or finds out why that is not possible.
    fn compile(&mut self, device: &wgpu::Device, variant: &Variant) {
        let layout = self.layout(device, variant.kernel.access);
        let compiled = health::scoped(device, || compile(device, &layout.pipeline, variant));
        let compiled = compiled.map(|pipeline| Pipeline { layout, pipeline });
        self.pipelines.insert(*variant, compiled.map_err(|error| error.to_string()));
    }

    fn layout(&mut self, device: &wgpu::Device, access: &'static [Access]) -> Layout {
        let id = self.layouts.len() as u64;
        let create = || {
            let bind_group = bind_group_layout(device, access);
            let pipeline = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                bind_group_layouts: &[Some(&bind_group)],
                ..Default::default()
            });
            Layout { id, bind_group, pipeline }
        };
        self.layouts.entry(access).or_insert_with(create).clone()
    }
}

/// Compiles a kernel. Errors are those of the device.
fn compile(
    device: &wgpu::Device,
    layout: &wgpu::PipelineLayout,
    variant: &Variant,
) -> wgpu::ComputePipeline {
    let label = variant.label();
    let descriptor = wgpu::ShaderModuleDescriptor {
        label: Some(&label),
        source: wgpu::ShaderSource::Wgsl(variant.source().into()),
    };
    let module = match variant.kernel.has_matrices() {
        true => unchecked_shader(device, descriptor),
        false => device.create_shader_module(descriptor),
    };
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(&label),
        layout: Some(layout),
        module: &module,
        entry_point: Some("main"),
        // Kernels write to workgroup memory before they read it.
        compilation_options: wgpu::PipelineCompilationOptions {
            zero_initialize_workgroup_memory: false,
            ..Default::default()
        },
        cache: None,
    })
}

fn bind_group_layout(device: &wgpu::Device, access: &[Access]) -> wgpu::BindGroupLayout {
    let entry = |binding, ty, has_dynamic_offset, bytes| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty,
            has_dynamic_offset,
            min_binding_size: wgpu::BufferSize::new(bytes),
        },
        count: None,
    };
    let params = entry(0, wgpu::BufferBindingType::Uniform, true, PARAMS_BYTES as u64);
    let buffers = (1..).zip(access).map(|(binding, &access)| {
        let read_only = access == Access::Read;
        entry(binding, wgpu::BufferBindingType::Storage { read_only }, false, 0)
    });
    let entries: Vec<_> = std::iter::once(params).chain(buffers).collect();
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: None,
        entries: &entries,
    })
}

fn bind_group(
    device: &wgpu::Device,
    layout: &wgpu::BindGroupLayout,
    params: &wgpu::Buffer,
    bindings: &[Binding<'_>],
) -> wgpu::BindGroup {
    let params = wgpu::BufferBinding {
        buffer: params,
        offset: 0,
        size: wgpu::BufferSize::new(PARAMS_BYTES as u64),
    };
    let buffers = std::iter::once(params).chain(bindings.iter().map(Binding::resource));
    let entries: Vec<_> = (0..)
        .zip(buffers)
        .map(|(binding, buffer)| wgpu::BindGroupEntry {
            binding,
            resource: wgpu::BindingResource::Buffer(buffer),
        })
        .collect();
    device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries })
}
