//! The memory of this process.

/// Returns the peak resident memory of this process; `None` if the system does not report it.
///
/// **Units**: bytes.
pub fn peak_resident_bytes() -> Option<u64> {
    peak()
}

/// Returns the resident memory of this process; `None` if the system does not report it.
///
/// **Units**: bytes.
pub fn resident_bytes() -> Option<u64> {
    resident()
}

#[cfg(target_os = "linux")]
fn resident() -> Option<u64> {
    status("VmRSS:")
}

#[cfg(any(target_os = "macos", windows))]
fn resident() -> Option<u64> {
    resident_of_process_table()
}

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
fn resident() -> Option<u64> {
    None
}

/// The entry of this process in the table of processes, which every system has.
#[cfg(any(target_os = "macos", windows, test))]
fn resident_of_process_table() -> Option<u64> {
    use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};
    let this = sysinfo::get_current_pid().ok()?;
    let mut system = System::new();
    let memory = ProcessRefreshKind::nothing().with_memory();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[this]), false, memory);
    system.process(this).map(sysinfo::Process::memory)
}

#[cfg(target_os = "linux")]
fn peak() -> Option<u64> {
    status("VmHWM:")
}

#[cfg(target_os = "linux")]
fn status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(target_os = "macos")]
fn peak() -> Option<u64> {
    use nix::sys::resource::{UsageWho, getrusage};
    u64::try_from(getrusage(UsageWho::RUSAGE_SELF).ok()?.max_rss()).ok()
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn peak() -> Option<u64> {
    None
}

#[cfg(all(test, any(target_os = "linux", target_os = "macos")))]
mod tests {
    use super::*;

    #[test]
    fn the_peak_rises_with_what_is_touched() {
        let before = peak_resident_bytes().expect("this system says");
        let touched = std::hint::black_box(vec![1u8; 64 << 20]);
        let after = peak_resident_bytes().expect("this system says");
        drop(touched);
        assert!(after >= before);
        assert!(after > 64 << 20, "{after}");
        assert!(resident_bytes().is_none_or(|now| now > 0 && now <= after));
    }

    #[test]
    fn the_process_table_has_the_resident_memory() {
        let touched = std::hint::black_box(vec![1u8; 64 << 20]);
        let (expected, found) = (resident_bytes(), resident_of_process_table());
        let (expected, found) = (expected.expect("known"), found.expect("this process"));
        drop(touched);
        // Other tests allocate and free memory at the same time.
        assert!(
            found > 64 << 20 && found / 4 < expected && expected / 4 < found,
            "{found}, {expected}"
        );
    }
}
