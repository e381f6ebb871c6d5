//! Models on a GPU and next to it, on any adapter.

use std::path::Path;

use inferno_backend::KvDType;
use inferno_model::ModelSpec;

use super::*;
use crate::device::division::Split;

/// The first GPU, even if it is a software one; `None`, and prints so, without any.
fn device() -> Option<GpuDevice> {
    let adapter = GpuAdapter::all().first();
    if adapter.is_none() {
        println!("skipped: no GPU adapter");
    }
    adapter.map(|adapter| GpuDevice::on(adapter).expect("a device that can be opened"))
}

fn checkpoint(name: &str) -> Gguf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../inferno-model/tests/fixtures");
    Gguf::open(fixtures.join(name)).expect("a sound file")
}

#[test]
fn a_model_that_the_gpu_cannot_allocate_runs_on_the_cpu_unless_the_gpu_was_chosen() {
    let Some(device) = device() else { return };
    let checkpoint = checkpoint("qwen3.gguf");
    let spec = ModelSpec::from_checkpoint(&checkpoint).expect("a sound model");
    let layout = spec.kv_layout(1, KvDType::F16);
    let block_bytes = layout.block_bytes().expect("a supported format") / layout.layers.len();
    // More than the buffers of a layer hold, which the estimate does not know.
    let max_binding_bytes = device.gpu.adapter().max_binding_bytes() as usize;
    let num_blocks = 4 * (max_binding_bytes / block_bytes) + 1;
    let cache_tokens = Some(num_blocks * layout.block_tokens);
    let options = LoadOptions { cache_tokens, ..LoadOptions::default() };
    let division = device.division(&checkpoint, &options, None).expect("a sound model");
    if !division.has_all_layers_on_gpu() {
        println!("skipped: the memory is smaller than two layers' largest caches");
        return;
    }
    let runner = device.runner(&checkpoint, &options, None, &mut |_| ());
    let runner = runner.expect("room on the CPU");
    assert!(runner.devices().iter().all(|device| device.starts_with("cpu")));
    let fallback = device.fallback().expect("a reason");
    assert!(fallback.contains("the KV cache: found"), "{fallback}");
    assert!(fallback.contains("running on cpu"), "{fallback}");
    assert_eq!(device.gpu_bytes(), 0);

    let chosen = LoadOptions { gpu: Some(device.gpu.adapter().index()), ..options };
    let error = device.runner(&checkpoint, &chosen, None, &mut |_| ()).err().expect("no room");
    assert!(is_gpu_failure(&error), "{error}");
}

#[test]
fn a_model_leaves_room_for_its_draft_model_unless_it_would_be_divided() {
    let Some(device) = device() else { return };
    let (model, draft) = (checkpoint("qwen3moe.gguf"), checkpoint("qwen3.gguf"));
    let options = LoadOptions { cpu_experts: Some(0), ..LoadOptions::default() };
    let file = DraftFile { checkpoint: &draft, options: LoadOptions::default() };
    let divided = |usable_bytes, file| {
        Division::with_draft(&model, &options, &device.gpu, usable_bytes, file)
            .expect("sound models")
    };
    let whole = divided(None, Some(file)).gpu_bytes;
    let draft_bytes = Division::new(&draft, &file.options, &device.gpu, None);
    let draft_bytes = draft_bytes.expect("a sound model").gpu_bytes;
    for usable_bytes in [whole + draft_bytes, whole + draft_bytes - 1, whole] {
        let division = divided(Some(usable_bytes), Some(file));
        assert!(division.has_all_layers_on_gpu());
        assert_eq!(division.gpu_bytes, whole);
    }
    let with_draft = divided(Some(whole - 1), Some(file));
    let alone = divided(Some(whole - 1), None);
    assert_eq!(alone.split.first_on_gpu, 1);
    assert!(with_draft.split.first_on_gpu >= 1);
    assert!(with_draft.gpu_bytes <= (whole - 1).saturating_sub(draft_bytes));
}

#[test]
fn a_draft_model_is_loaded_on_a_gpu_next_to_a_model_on_either_device() {
    let Some(device) = device() else { return };
    let (model, draft) = (checkpoint("qwen3moe.gguf"), checkpoint("qwen3.gguf"));
    let gpu = LoadOptions { backend: BackendChoice::Gpu, ..LoadOptions::default() };
    let file = DraftFile { checkpoint: &draft, options: gpu };
    for (gpu_layers, is_on_gpu) in [(None, true), (Some(0), false)] {
        let device = GpuDevice::on(device.gpu.adapter()).expect("a device");
        let options = LoadOptions { gpu_layers, ..gpu };
        let runner = device.runner(&model, &options, Some(file), &mut |_| ());
        let runner = runner.expect("room for it");
        assert_eq!(!runner.devices()[0].starts_with("cpu"), is_on_gpu);
        let draft = device.draft_runner(file, &mut |_| ()).expect("room for it");
        assert!(draft.devices().iter().all(|device| !device.starts_with("cpu")));
        let model_bytes = gpu_bytes(&device.model);
        assert_eq!(model_bytes > 0, is_on_gpu);
        assert!(device.gpu_bytes() > model_bytes, "the memory of the draft model counts");
    }
}

#[test]
fn experts_leave_the_gpu_before_layers() {
    let Some(device) = device() else { return };
    let options = LoadOptions::default();
    let divided = |name, options: &LoadOptions, usable_bytes| {
        let division = Division::new(&checkpoint(name), options, &device.gpu, usable_bytes);
        division.expect("a sound model")
    };
    let mixture = |usable_bytes| divided("qwen3moe.gguf", &options, usable_bytes);
    let whole = mixture(None);
    assert_eq!(whole.split, Split { first_on_gpu: 0, cpu_experts: 0 });
    let less = mixture(Some(whole.gpu_bytes - 1));
    assert!(less.has_all_layers_on_gpu() && less.split.cpu_experts > 0, "{:?}", less.split);
    assert!(less.gpu_bytes < whole.gpu_bytes);
    let num_layers = whole.spec.num_layers();
    let without_experts = LoadOptions { cpu_experts: Some(usize::MAX), ..options };
    let least = divided("qwen3moe.gguf", &without_experts, None).gpu_bytes;
    let split = mixture(Some(least - 1)).split;
    assert_eq!(split, Split { first_on_gpu: 1, cpu_experts: num_layers });
    let nothing = mixture(Some(0));
    assert!(nothing.is_on_cpu() && matches!(nothing.fallback(), Some(Fallback::TooSmall)));
    let on_cpu = LoadOptions { gpu_layers: Some(0), ..options };
    assert!(divided("qwen3moe.gguf", &on_cpu, None).fallback().is_none());

    let dense = divided("qwen3.gguf", &options, None);
    let less = divided("qwen3.gguf", &options, Some(dense.gpu_bytes - 1));
    assert_eq!(less.split, Split { first_on_gpu: 1, cpu_experts: 0 });
}
