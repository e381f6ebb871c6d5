//! Name and cache sizes of the processor.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use sysinfo::{CpuRefreshKind, RefreshKind, System};

/// The directory in which Linux describes the caches of each core.
const PROCESSORS: &str = "/sys/devices/system/cpu";

/// Minimum size of a bandwidth measurement, in bytes: larger than most caches.
const MIN_SWEEP_BYTES: u64 = 512 << 20;

/// Size of a bandwidth measurement as a multiple of the caches, so that cached data makes no difference.
const SWEEP_PER_CACHE: u64 = 4;

/// Returns the name of the processor; `None` if the operating system does not report it.
pub(super) fn name() -> Option<String> {
    let kind = RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing());
    let system = System::new_with_specifics(kind);
    let name = system.cpus().first()?.brand().trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// Returns how many bytes a bandwidth measurement should read: several times the caches, at most half of free memory.
pub(super) fn sweep_bytes(free_bytes: u64) -> usize {
    let caches = last_level_bytes(Path::new(PROCESSORS)).unwrap_or(0);
    let wanted = caches.saturating_mul(SWEEP_PER_CACHE).max(MIN_SWEEP_BYTES);
    usize::try_from(wanted.min(free_bytes / 2)).unwrap_or(usize::MAX)
}

/// Returns the total size of all last-level caches, in bytes; `None` if the operating system does not report it.
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
    fn a_sweep_exceeds_shared_caches_and_leaves_half_of_free_memory() {
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
