//! The report as JSON.

use serde_json::{Map, Value, json};

use super::{BenchReport, PhaseReport, ProductProfile, RoofReport, SpeculationReport, Spread};

impl BenchReport {
    /// Returns everything as JSON. The medians are at the top level: `prefill_tps`, `decode_tps`, `batch` by number of
    /// sequences, `roof`, and `profile` if the workload requests one. Values that were not measured are null, or missing from `batch`.
    ///
    /// **Units**: seconds, bytes, operations, and tokens per second (`_tps`).
    pub fn json(&self) -> Value {
        let median = |spread: Option<Spread>| spread.map(|spread| spread.median);
        let prefill = self.prefill.as_ref().map(|prefill| &prefill.phase);
        let first_token = self.prefill.as_ref().map(|prefill| prefill.time_to_first_token);
        let rate = |phase: Option<&PhaseReport>| phase.map(|phase| phase.tokens_per_second);
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "model": self.model,
            "model_bytes": self.model_bytes,
            "processor": self.processor,
            "backend": self.backend.name(),
            "gpu": self.gpu,
            "isa": self.isa.map(|isa| isa.name()),
            "threads": self.num_threads,
            "kv_dtype": self.kv_dtype.name(),
            "requantize": self.requantize.map(|format| format.name()),
            "prompt_tokens": self.workload.prompt_tokens,
            "decode_tokens": self.workload.decode_tokens,
            "depth": self.workload.depth,
            "pass_tokens": self.pass_tokens,
            "repetitions": self.workload.repetitions,
            "load_seconds": self.load_time.as_secs_f64(),
            "time_to_first_token_seconds": median(first_token),
            "prefill_tps": median(rate(prefill)),
            "decode_tps": median(rate(self.decode.as_ref())),
            "batch": self.by_batch_size(|batch| json!(batch.tokens_per_second.median)),
            "spread": {
                "time_to_first_token_seconds": first_token,
                "prefill_tps": rate(prefill),
                "decode_tps": rate(self.decode.as_ref()),
                "batch": self.by_batch_size(|batch| json!(batch.tokens_per_second)),
            },
            "passes": {
                "prefill": prefill.map(|phase| &phase.passes),
                "decode": self.decode.as_ref().map(|phase| &phase.passes),
                "batch": self.by_batch_size(|batch| json!(batch.passes)),
            },
            "speculation": self.speculation.as_ref().map(SpeculationReport::json),
            "profile": self.profile(),
            "gpu_work": self.decode.as_ref().and_then(|phase| phase.gpu).map(|gpu| gpu.json()),
            "roof": self.roof.as_ref().map(RoofReport::json),
        })
    }

    /// The profiles of all measurements, if the workload requests them.
    fn profile(&self) -> Option<Value> {
        let roofs = &self.roof.as_ref().filter(|_| self.workload.profile)?.roofs;
        let of = |phase: Option<&PhaseReport>| Some(phase?.profile.as_ref()?.json(roofs));
        Some(json!({
            "prefill": of(self.prefill.as_ref().map(|prefill| &prefill.phase)),
            "decode": of(self.decode.as_ref()),
            "batch": self.by_batch_size(|batch| json!(of(Some(batch)))),
            "products": self.products.as_ref().map(ProductProfile::json),
        }))
    }

    fn by_batch_size(&self, value: impl Fn(&PhaseReport) -> Value) -> Map<String, Value> {
        self.batches.iter().map(|(size, batch)| (size.to_string(), value(batch))).collect()
    }
}

impl RoofReport {
    fn json(&self) -> Value {
        let Self { roofs, decode, batches, prefill, .. } = self;
        let mut fields = roofs.json();
        let reached = json!({
            "decode": decode.map(|reached| json!({
                "weight_bytes_per_token": reached.weight_bytes,
                "kv_bytes_per_token": reached.kv_bytes,
                "state_bytes_per_token": reached.state_bytes,
                "bytes_per_second": reached.bytes_per_second,
                "share": reached.share,
            })),
            "batch": batches.iter().map(|(size, reached)| (size.to_string(), json!({
                "weight_bytes_per_step": reached.weight_bytes,
                "kv_bytes_per_step": reached.kv_bytes,
                "state_bytes_per_step": reached.state_bytes,
                "bytes_per_second": reached.bytes_per_second,
                "share": reached.share,
            }))).collect::<Map<String, Value>>(),
            "prefill": prefill.map(|reached| json!({
                "int8_ops_per_token": reached.int8_ops,
                "f16_ops_per_token": reached.f16_ops,
                "f32_ops_per_token": reached.f32_ops,
                "ops_per_second": reached.ops_per_second,
                "share": reached.share,
            })),
        });
        for (name, value) in reached.as_object().into_iter().flatten() {
            fields[name] = value.clone();
        }
        fields
    }
}
