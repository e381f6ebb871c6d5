//! Submitting recorded dispatches.

use inferno_backend::BackendError;

use super::PassMemory;
use crate::backend::GpuBackend;
use crate::pipelines::PARAMS_BYTES;
use crate::timing::{MAX_TIMED, StepWork, Timing};

/// Dispatches whose parameters share a buffer.
pub(super) const PAGE_DISPATCHES: usize = 256;

/// One dispatch.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) pipeline: wgpu::ComputePipeline,
    pub(super) bind_group: wgpu::BindGroup,
    pub(super) workgroups: [u32; 3],
    /// What is timed, if kernels are.
    pub(super) label: Option<String>,
    pub(super) work: StepWork,
}

impl Step {
    /// Records the dispatch of step `number` with its pipeline.
    fn record(&self, pass: &mut wgpu::ComputePass<'_>, number: usize) {
        pass.set_pipeline(&self.pipeline);
        self.dispatch(pass, number);
    }

    /// Records the dispatch of step `number`, whose pipeline is set.
    fn dispatch(&self, pass: &mut wgpu::ComputePass<'_>, number: usize) {
        let offset = (number % PAGE_DISPATCHES * PARAMS_BYTES) as u32;
        pass.set_bind_group(0, &self.bind_group, &[offset]);
        let [x, y, z] = self.workgroups;
        pass.dispatch_workgroups(x, y, z);
    }
}

impl GpuBackend {
    /// Writes the parameters of the steps that `memory` holds.
    ///
    /// **Errors**: as [`write`](Self::write).
    fn write_pages(&self, memory: &PassMemory) -> Result<(), BackendError> {
        let mut pages = memory.params.chunks(PAGE_DISPATCHES * PARAMS_BYTES).zip(&memory.pages);
        pages.try_for_each(|(params, page)| self.write_params(page, params))
    }

    /// Starts the steps that `memory` holds.
    ///
    /// **Errors**: as [`write`](Self::write).
    pub(super) fn submit_steps(&self, memory: &PassMemory) -> Result<(), BackendError> {
        self.write_pages(memory)?;
        self.submit_commands(|encoder| self.encode(encoder, &memory.steps));
        Ok(())
    }

    /// Starts the steps, a part of them at a time, and waits for each part.
    ///
    /// **Errors**: as [`write`](Self::write).
    pub(super) fn submit_timed(
        &self,
        memory: &PassMemory,
        timing: &Timing,
    ) -> Result<(), BackendError> {
        self.write_pages(memory)?;
        for (part, steps) in memory.steps.chunks(MAX_TIMED).enumerate() {
            self.submit_commands(|encoder| {
                for (number, step) in steps.iter().enumerate() {
                    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                        timestamp_writes: Some(timing.around(number)),
                        ..Default::default()
                    });
                    step.record(&mut pass, part * MAX_TIMED + number);
                }
                timing.resolve(encoder, steps.len());
                self.completion.record(&mut encoder.begin_compute_pass(&Default::default()));
            });
            let labels =
                steps.iter().map(|step| (step.label.clone().unwrap_or_default(), step.work));
            timing.add(|| self.wait(), labels);
        }
        Ok(())
    }

    fn encode(&self, encoder: &mut wgpu::CommandEncoder, steps: &[Step]) {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        let mut current = None;
        for (number, step) in steps.iter().enumerate() {
            if current != Some(&step.pipeline) {
                pass.set_pipeline(&step.pipeline);
                current = Some(&step.pipeline);
            }
            step.dispatch(&mut pass, number);
        }
        self.completion.record(&mut pass);
    }
}

/// Allocates the buffer of the parameters of [`PAGE_DISPATCHES`] steps.
///
/// **Errors**: [`BackendError::OutOfMemory`].
pub(super) fn params_page(backend: &GpuBackend) -> Result<wgpu::Buffer, BackendError> {
    let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
    backend.create_buffer((PAGE_DISPATCHES * PARAMS_BYTES) as u64, usage, "parameters")
}
