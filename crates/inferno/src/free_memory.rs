//! Free memory of the machine.

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// Returns the memory that this process may still allocate, in bytes, by the machine and by its control group.
pub(crate) fn free_bytes() -> u64 {
    let memory = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(memory);
    // Cached files do not count towards the limit, because the system evicts them when memory is needed.
    let limit = system
        .cgroup_limits()
        .map_or(u64::MAX, |limits| limits.total_memory.saturating_sub(limits.rss));
    system.available_memory().min(limit)
}
