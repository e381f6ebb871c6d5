//! What the system tells of its processor.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use sysinfo::{CpuRefreshKind, RefreshKind, System};

/// Where Linux describes each processor's caches.
const PROCESSORS: &str = "/sys/devices/system/cpu";

/// Bytes that a sweep reads at least, and where the caches are not known: more than most of them hold.
const LEAST_SWEEP_BYTES: u64 = 512 << 20;

/// How many times over a sweep exceeds the caches, so that what they keep of it makes no difference.
const CACHES_A_SWEEP: u64 = 4;

/// The processor's name; `None` where the system does not tell it.
pub(super) fn name() -> Option<String> {
    let kind = RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing());
    let system = System::new_with_specifics(kind);
    let name = system.cpus().first()?.brand().trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// Bytes that a sweep over memory should read: several times what the caches hold, and no more than half of what is free.
pub(super) fn sweep_bytes(free_bytes: u64) -> usize {
    let caches = last_level_bytes(Path::new(PROCESSORS)).unwrap_or(0);
    let wanted = caches.saturating_mul(CACHES_A_SWEEP).max(LEAST_SWEEP_BYTES);
    usize::try_from(wanted.min(free_bytes / 2)).unwrap_or(usize::MAX)
}

/// Bytes of the last caches of all processors, each counted once; `None` where the system does not tell.
fn last_level_bytes(processors: &Path) -> Option<u64> {
    let mut seen = HashSet::new();
    let mut bytes = 0;
    for processor in fs::read_dir(processors).ok()?.flatten() {
        let Ok(caches) = fs::read_dir(processor.path().join("cache")) else { continue };
        let read = |cache: &Path, file: &str| fs::read_to_string(cache.join(file)).ok();
        let caches = caches.flatten().map(|cache| cache.path());
        let last = caches.max_by_key(|cache| read(cache, "level")?.trim().parse::<u32>().ok())?;
        let sharers = read(&last, "shared_cpu_list")?;
        if seen.insert(sharers) {
            let size = read(&last, "size")?;
            bytes += 1024 * size.trim().strip_suffix('K')?.parse::<u64>().ok()?;
        }
    }
    (bytes > 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_exceeds_caches_that_are_shared_and_leaves_half_of_memory() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = |processor: &str, index: &str, level: &str, size: &str, sharers: &str| {
            let path = folder.path().join(processor).join("cache").join(index);
            fs::create_dir_all(&path).expect("a folder");
            for (file, text) in [("level", level), ("size", size), ("shared_cpu_list", sharers)] {
                fs::write(path.join(file), format!("{text}\n")).expect("a file");
            }
        };
        for (processor, sharers) in [("cpu0", "0-1"), ("cpu1", "0-1"), ("cpu2", "2")] {
            cache(processor, "index0", "1", "48K", processor);
            cache(processor, "index3", "3", "32768K", sharers);
        }
        fs::create_dir(folder.path().join("cpufreq")).expect("a folder");
        assert_eq!(last_level_bytes(folder.path()), Some(2 * 32768 * 1024));
        assert_eq!(last_level_bytes(&folder.path().join("none")), None);

        assert_eq!(sweep_bytes(1 << 20), 1 << 19);
        assert!(sweep_bytes(u64::MAX) >= 512 << 20);
    }
}
