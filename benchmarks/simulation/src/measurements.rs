//! Measured steps, from the JSON output of `inferno bench`.

use serde_json::Value;

use crate::cost::StepWork;

/// Returns the steps in a report, and their durations in seconds. Repetitions count once, with their median.
pub fn steps(report: &Value) -> Vec<(StepWork, f64)> {
    let field = |name: &str| report[name].as_u64().unwrap_or(0) as usize;
    let passes = &report["passes"];
    let mut steps = prompt_steps(&passes["prefill"], field("prompt_tokens"), field("pass_tokens"));
    let batches = passes["batch"].as_object().into_iter().flatten();
    let batches = batches.filter_map(|(size, batch)| Some((size.parse().ok()?, batch)));
    for (num_sequences, decode) in batches.chain([(1, &passes["decode"])]) {
        let Some(seconds) = median(&durations(decode)) else { continue };
        let mut work = StepWork::default();
        // The median pass is the one half-way.
        let position = field("depth") + field("decode_tokens") / 2;
        (0..num_sequences).for_each(|_| work.add_decode(position));
        steps.push((work, seconds));
    }
    steps
}

/// The steps of a prompt, which consists of chunks of `chunk_tokens` and a last one.
fn prompt_steps(
    prefill: &Value,
    prompt_tokens: usize,
    chunk_tokens: usize,
) -> Vec<(StepWork, f64)> {
    let durations = durations(prefill);
    if prompt_tokens == 0 || chunk_tokens == 0 {
        return Vec::new();
    }
    let starts: Vec<usize> = (0..prompt_tokens).step_by(chunk_tokens).collect();
    let step = |(index, &start): (usize, &usize)| {
        let repetitions: Vec<f64> =
            durations.iter().skip(index).step_by(starts.len()).copied().collect();
        let mut work = StepWork::default();
        work.add_prompt(start, chunk_tokens.min(prompt_tokens - start));
        Some((work, median(&repetitions)?))
    };
    starts.iter().enumerate().filter_map(step).collect()
}

fn durations(passes: &Value) -> Vec<f64> {
    passes["seconds"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn passes_are_read_with_their_context() {
        let report = json!({
            "prompt_tokens": 300, "pass_tokens": 256, "decode_tokens": 4, "depth": 100,
            "passes": {
                "prefill": {"seconds": [0.2, 0.05, 0.3, 0.06, 0.25, 0.04]},
                "decode": {"seconds": [0.02, 0.03, 0.01]},
                "batch": {"4": {"seconds": [0.05]}},
            },
        });
        let mut chunk = StepWork::default();
        chunk.add_prompt(0, 256);
        let mut last = StepWork::default();
        last.add_prompt(256, 44);
        let decode = |decode_sequences: usize| StepWork {
            decode_sequences,
            decode_context: 103 * decode_sequences,
            ..StepWork::default()
        };
        assert_eq!(
            steps(&report),
            [(chunk, 0.25), (last, 0.05), (decode(4), 0.05), (decode(1), 0.02)]
        );
        assert_eq!(steps(&json!({"passes": {"prefill": null, "decode": null, "batch": {}}})), []);
    }
}
