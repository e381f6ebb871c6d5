//! Detection of submissions that failed without an error.
//!
//! A driver can report a submission as complete that it has aborted: Metal does, because wgpu ignores the status of command
//! buffers. The results of an earlier pass would then be taken for those of the last one. So each submission ends with a
//! dispatch that adds one to a counter on the device, which downloads compare with the number of submissions.

use std::sync::{Mutex, PoisonError};

use crate::kernel::{Variant, kernel};

kernel!(COUNT_SUBMISSION, "count_submission", [], [ReadWrite]);

/// Size of the counter, in bytes.
pub(crate) const COUNT_BYTES: usize = size_of::<u32>();

#[cfg(test)]
pub(crate) fn variants() -> Vec<Variant> {
    vec![Variant::from(&COUNT_SUBMISSION)]
}

/// The counter of submissions, on the device and on the host.
#[derive(Debug)]
pub(crate) struct Completion {
    pipeline: wgpu::ComputePipeline,
    bind_group: wgpu::BindGroup,
    counter: wgpu::Buffer,
    /// Locked during a submission, so that the device counts in the same order. Wraps around, as on the device.
    num_submitted: Mutex<u32>,
}

impl Completion {
    pub(crate) fn new(device: &wgpu::Device) -> Self {
        let variant = Variant::from(&COUNT_SUBMISSION);
        let label = Some(variant.kernel.name);
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label,
            source: wgpu::ShaderSource::Wgsl(variant.source().into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label,
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: Default::default(),
            cache: None,
        });
        let counter = device.create_buffer(&wgpu::BufferDescriptor {
            label,
            size: COUNT_BYTES as u64,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[wgpu::BindGroupEntry { binding: 1, resource: counter.as_entire_binding() }],
        });
        Self { pipeline, bind_group, counter, num_submitted: Mutex::default() }
    }

    /// Records the dispatch that counts a submission, after those of `pass`: Metal runs the dispatches of a pass in order.
    pub(crate) fn record(&self, pass: &mut wgpu::ComputePass<'_>) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.bind_group, &[]);
        pass.dispatch_workgroups(1, 1, 1);
    }

    /// Counts a submission that consists of copies, and copies the count to `target` after them.
    pub(crate) fn record_copy(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        target: &wgpu::Buffer,
        offset: u64,
    ) {
        self.record(&mut encoder.begin_compute_pass(&Default::default()));
        encoder.copy_buffer_to_buffer(&self.counter, 0, target, offset, COUNT_BYTES as u64);
    }

    /// Submits commands that end with the dispatch of [`record`](Self::record). Returns the count after them.
    pub(crate) fn submit(&self, queue: &wgpu::Queue, commands: wgpu::CommandBuffer) -> u32 {
        let mut num_submitted = self.num_submitted.lock().unwrap_or_else(PoisonError::into_inner);
        queue.submit([commands]);
        *num_submitted = num_submitted.wrapping_add(1);
        *num_submitted
    }
}
