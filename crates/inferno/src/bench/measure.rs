//! Runs and times forward passes.

use std::slice;
use std::time::{Duration, Instant};

use inferno_backend::LogitRows;
use inferno_engine::{
    ForwardOutput, Passes, Runner, Sampler, SamplingParams, Sequence, SequenceRunner,
};

use super::profile::{DeviceRecorder, PhaseProfile};
use super::report::{PhaseReport, PrefillReport};
use super::{BenchProgress, GpuWork, Spread, Workload};
use crate::Error;

/// Warm-up tokens before timing starts: enough to wake the threads and touch every weight.
const WARM_UP_TOKENS: usize = 32;

/// Runs a [`Workload`].
pub(super) struct Measurement<'a> {
    forward: SequenceRunner<'a>,
    workload: &'a Workload,
    on_progress: &'a mut dyn FnMut(BenchProgress<'_>),
    runs_done: usize,
    time_limit: Option<Duration>,
    gpu_work: Option<&'a dyn Fn() -> Option<GpuWork>>,
    recorder: Option<&'a DeviceRecorder>,
    tokens: Tokens,
}

impl<'a> Measurement<'a> {
    /// `on_progress` is called after each run.
    pub(super) fn new(
        runner: &'a mut dyn Runner,
        workload: &'a Workload,
        on_progress: &'a mut dyn FnMut(BenchProgress<'_>),
    ) -> Self {
        let tokens = Tokens { vocab_size: runner.vocab_size(), num_drawn: 0 };
        // As in an engine with greedy sampling.
        let forward = SequenceRunner::new(runner).with_candidates(1);
        Self {
            forward,
            workload,
            on_progress,
            runs_done: 0,
            time_limit: None,
            gpu_work: None,
            recorder: None,
            tokens,
        }
    }

    /// Starts no further run (without a KV cache, no further step) after `time_limit` per measurement.
    pub(super) fn stop_after(&mut self, time_limit: Duration) {
        self.time_limit = Some(time_limit);
    }

    /// Counts what a GPU does during decode; `gpu_work` returns what it has done so far.
    pub(super) fn count_gpu_work(&mut self, gpu_work: &'a dyn Fn() -> Option<GpuWork>) {
        self.gpu_work = Some(gpu_work);
    }

    /// Records the operations of the measured passes.
    pub(super) fn record_operations(&mut self, recorder: &'a DeviceRecorder) {
        self.recorder = Some(recorder);
    }

    /// Records operations from now on, or stops, if there is a recorder.
    fn record(&self, is_on: bool) {
        if let Some(recorder) = self.recorder {
            recorder.record(is_on);
        }
    }

    /// The operations of `passes`, if they were recorded.
    fn profile(&self, passes: &Passes) -> Option<PhaseProfile> {
        let recorder = self.recorder?;
        Some(PhaseProfile::new(passes, recorder.num_threads(), recorder.take()))
    }

    /// Reports the result of a measurement, if it has one.
    pub(super) fn announce(&mut self, name: &str, phase: Option<&PhaseReport>) {
        if let Some(&PhaseReport { tokens_per_second, .. }) = phase {
            (self.on_progress)(BenchProgress::Measured { name, tokens_per_second });
        }
    }

    /// A few untimed warm-up passes. A GPU compiles and measures kernels for each number of rows, so there they are passes of
    /// the workload.
    pub(super) fn warm_up(&mut self) -> Result<(), Error> {
        let has_gpu = self.gpu_work.is_some_and(|gpu_work| gpu_work().is_some());
        let passes = match has_gpu {
            true => [self.workload.prompt_tokens.clamp(1, self.workload.pass_tokens()), 1],
            false => [WARM_UP_TOKENS, 0],
        };
        let mut sequence = self.forward.sequence();
        let mut free = self.forward.runner().context_length();
        for num_tokens in passes {
            let num_tokens = num_tokens.min(free);
            free -= num_tokens;
            self.fill(&mut sequence, num_tokens)?;
        }
        self.forward.truncate(&mut sequence, 0);
        Ok(())
    }

    /// Measures prefill repeatedly; `None` for an empty prompt.
    pub(super) fn prefill(&mut self) -> Result<Option<PrefillReport>, Error> {
        let prompt_tokens = self.workload.prompt_tokens;
        let mut sampler =
            Sampler::new(SamplingParams::greedy(), self.forward.runner().vocab_size())?;
        let mut sequence = self.forward.sequence();
        let (mut first_tokens, mut rates, mut passes) = (Vec::new(), Vec::new(), Passes::default());
        if prompt_tokens == 0 {
            return Ok(None);
        }
        self.record(true);
        let begun = Instant::now();
        for _ in 0..self.workload.repetitions {
            let prompt = self.tokens.draw(prompt_tokens);
            let started = Instant::now();
            sequence.extend(&prompt);
            let mut elapsed = Duration::ZERO;
            while let Some(pass) = self.prompt_pass(&mut sequence)? {
                passes.record(pass.num_tokens, pass.duration);
                elapsed = started.elapsed();
                if let Some(row) = pass.rows().next() {
                    sampler.sample_row(row, &[])?;
                    first_tokens.push(started.elapsed().as_secs_f64());
                }
            }
            rates.push(prompt_tokens as f64 / elapsed.as_secs_f64());
            self.forward.truncate(&mut sequence, 0);
            self.finish_run();
            if self.is_over(begun) {
                break;
            }
        }
        self.record(false);
        let profile = self.profile(&passes);
        Ok(Spread::of(rates).zip(Spread::of(first_tokens)).map(
            |(tokens_per_second, time_to_first_token)| PrefillReport {
                phase: PhaseReport { tokens_per_second, passes, gpu: None, profile },
                time_to_first_token,
            },
        ))
    }

    /// Decodes `num_sequences` sequences in parallel, each from the workload's depth; `None` if there are no tokens to
    /// decode.
    pub(super) fn decode(&mut self, num_sequences: usize) -> Result<Option<PhaseReport>, Error> {
        let &Workload { decode_tokens, depth, repetitions, .. } = self.workload;
        if decode_tokens == 0 {
            return Ok(None);
        }
        let mut sequences: Vec<Sequence> =
            (0..num_sequences).map(|_| self.forward.sequence()).collect();
        for sequence in &mut sequences {
            self.fill(sequence, depth)?;
        }
        let (mut rates, mut passes) = (Vec::new(), Passes::default());
        let (mut work, mut total) = (None, Duration::ZERO);
        let begun = Instant::now();
        for _ in 0..repetitions {
            // Recurrent states cannot be truncated to the depth.
            let max_num_tokens = self.forward.runner().limits().max_num_tokens / num_sequences;
            while self.forward.run_next(&mut sequences, max_num_tokens, LogitRows::None)?.is_some()
            {
            }
            let before = self.gpu_work.and_then(|gpu_work| gpu_work());
            self.record(true);
            let started = Instant::now();
            for _ in 0..decode_tokens {
                for sequence in &mut sequences {
                    sequence.extend(&self.tokens.draw(1));
                }
                if let Some(pass) = self.forward.run_next(&mut sequences, 1, LogitRows::Last)? {
                    passes.record(pass.num_tokens, pass.duration);
                }
            }
            let num_tokens = decode_tokens * num_sequences;
            let elapsed = started.elapsed();
            self.record(false);
            rates.push(num_tokens as f64 / elapsed.as_secs_f64());
            total += elapsed;
            if let Some((before, after)) = before.zip(self.gpu_work.and_then(|gpu_work| gpu_work()))
            {
                work.get_or_insert_with(GpuWork::default).add_difference(before, after);
            }
            for sequence in &mut sequences {
                self.forward.truncate(sequence, depth);
            }
            self.finish_run();
            if self.is_over(begun) {
                break;
            }
        }
        for sequence in &mut sequences {
            self.forward.truncate(sequence, 0);
        }
        let profile = self.profile(&passes);
        let gpu = work.map(|work: GpuWork| work.per_pass(passes.durations().len(), total));
        Ok(Spread::of(rates).map(|tokens_per_second| PhaseReport {
            tokens_per_second,
            passes,
            gpu,
            profile,
        }))
    }

    /// Decodes one sequence as [`decode`](Self::decode) does, but recomputes all of it for each token.
    pub(super) fn recompute(&mut self) -> Result<Option<PhaseReport>, Error> {
        let &Workload { decode_tokens, depth, repetitions, .. } = self.workload;
        let mut sequence = self.forward.sequence();
        sequence.extend(&self.tokens.draw(depth));
        let (mut rates, mut passes) = (Vec::new(), Passes::default());
        let begun = Instant::now();
        for _ in 0..repetitions {
            let started = Instant::now();
            let mut num_tokens = 0;
            while num_tokens < decode_tokens && (num_tokens == 0 || !self.is_over(begun)) {
                sequence.extend(&self.tokens.draw(1));
                sequence.recompute_from(0);
                while let Some(pass) = self.prompt_pass(&mut sequence)? {
                    passes.record(pass.num_tokens, pass.duration);
                }
                num_tokens += 1;
            }
            rates.push(num_tokens as f64 / started.elapsed().as_secs_f64());
            self.forward.truncate(&mut sequence, depth);
            if self.is_over(begun) {
                break;
            }
        }
        self.forward.truncate(&mut sequence, 0);
        Ok(Spread::of(rates).map(|tokens_per_second| PhaseReport {
            tokens_per_second,
            passes,
            gpu: None,
            profile: None,
        }))
    }

    /// Whether runs that started at `begun` have reached the time limit.
    fn is_over(&self, begun: Instant) -> bool {
        self.time_limit.is_some_and(|limit| begun.elapsed() >= limit)
    }

    fn finish_run(&mut self) {
        self.runs_done += 1;
        let (done, total) = (self.runs_done, self.workload.num_runs());
        (self.on_progress)(BenchProgress::Running { done, total });
    }

    /// Prefills `num_tokens` into an empty sequence.
    fn fill(&mut self, sequence: &mut Sequence, num_tokens: usize) -> Result<(), Error> {
        sequence.extend(&self.tokens.draw(num_tokens));
        while self.prompt_pass(sequence)?.is_some() {}
        Ok(())
    }

    /// The next pass over a prompt; `None` when all of it is computed.
    fn prompt_pass(&mut self, sequence: &mut Sequence) -> Result<Option<ForwardOutput<'_>>, Error> {
        let pass_tokens = self.workload.pass_tokens();
        Ok(self.forward.run_next(slice::from_mut(sequence), pass_tokens, LogitRows::Last)?)
    }
}

/// A fixed pseudo-random sequence of tokens.
struct Tokens {
    vocab_size: usize,
    num_drawn: u64,
}

impl Tokens {
    fn draw(&mut self, count: usize) -> Vec<u32> {
        let draw = |_| {
            self.num_drawn += 1;
            // Multiples of 2^64 over the golden ratio are spread evenly; the high bits are the best.
            let bits = self.num_drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            (bits as usize % self.vocab_size.max(1)) as u32
        };
        (0..count).map(draw).collect()
    }
}
