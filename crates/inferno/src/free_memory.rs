//! How much memory there is to take.

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// The memory that this process may still take, by the machine and by the limits set for it.
pub(crate) fn free_bytes() -> u64 {
    let memory = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(memory);
    // What a limit leaves: the files that the system keeps in memory make room when it is wanted, and do not count.
    let limit = system
        .cgroup_limits()
        .map_or(u64::MAX, |limits| limits.total_memory.saturating_sub(limits.rss));
    system.available_memory().min(limit)
}
