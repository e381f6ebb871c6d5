//! Gates of the output of attention heads.

use inferno_backend::{Backend, ColumnBlocks, CopySize, Function, LinearInput, Pass, QkvLayout};

use super::context::ForwardContext;
use super::linear::Linear;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::layer::HeadGateSpec;
use crate::workspace::{BuffersByWidth, HeadGateBuffers};

/// A product that the output of the heads is multiplied by, after a function of it.
pub(super) struct HeadGate<B: Backend> {
    linear: Linear<B>,
    function: Function,
    is_per_head: bool,
}

impl<B: Backend> HeadGate<B> {
    pub(super) fn load(
        loader: &mut Loader<'_, B>,
        spec: &HeadGateSpec,
    ) -> Result<Self, ModelError> {
        let &HeadGateSpec { ref linear, function, is_per_head } = spec;
        Ok(Self { linear: Linear::load(loader, linear)?, function, is_per_head })
    }

    /// Multiplies the rows `attended` by the gates of `input`.
    ///
    /// **Errors**: out of memory.
    pub(super) fn apply(
        &self,
        context: &mut ForwardContext<'_, B>,
        heads: &QkvLayout,
        input: LinearInput<'_, B::Buffer>,
        (gates, by_head): (&mut BuffersByWidth<B>, Option<&mut HeadGateBuffers<B>>),
        attended: &mut B::Buffer,
    ) -> Result<(), ModelError> {
        let (rows, num_heads, out_len) = (context.rows, heads.num_heads, heads.out_len());
        if !self.is_per_head {
            let gates = gates.get(out_len);
            self.linear.multiply(context, input, gates)?;
            context.pass.gate(rows, self.function, gates, attended);
            return Ok(());
        }
        let gates = gates.get(num_heads);
        self.linear.multiply(context, input, gates)?;
        let buffers = by_head.expect("the workspace was created for this model");
        let pass = &mut context.pass;
        // The same values, as rows of one head.
        let whole = |width| {
            let columns = ColumnBlocks { row_len: width, start: 0, step: width };
            (CopySize { rows, blocks: 1, width }, columns)
        };
        let (size, columns) = whole(num_heads);
        pass.copy_columns(size, (&*gates, columns), (&mut buffers.gates, columns));
        let (size, columns) = whole(out_len);
        pass.copy_columns(size, (&*attended, columns), (&mut buffers.rows, columns));
        pass.gate(rows * num_heads, self.function, &buffers.gates, &mut buffers.rows);
        pass.copy_columns(size, (&buffers.rows, columns), (attended, columns));
        Ok(())
    }
}
