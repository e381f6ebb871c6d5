//! Measured choices among the divisions of products. Which is fastest depends on the device. All have the same results, except
//! that those of cooperative matrices add columns in different orders.
//!
//! The choices of a device are in one file: a line that names the device, then a line per product. A file of another
//! device, driver or version is replaced, and lines that are not understood are ignored.

use std::collections::HashMap;
use std::fmt;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use inferno_backend::BackendError;
use inferno_tensor::DType;

use crate::adapter::GpuAdapter;
use crate::ops::product::algorithm::{Algorithm, Kind, TileKind};
use crate::options::GpuOptions;
use crate::pass::GpuPass;

/// Numbers of rows up to which products have the same choice.
const ROW_BOUNDS: [usize; 6] = [1, 4, 8, 16, 32, 64];

/// Products with the same choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ProductClass {
    /// With a number of rows among [`ROW_BOUNDS`], or the maximum.
    tiles: TileKind,
    is_gated: bool,
    is_normed: bool,
    formats: [Option<DType>; 2],
    rows: usize,
    cols: usize,
}

impl ProductClass {
    /// The class of products of `kind` with a weight of `rows` rows and `cols` columns.
    pub(crate) fn new(kind: &Kind, rows: usize, cols: usize) -> Self {
        let &Kind { tiles, is_gated, is_normed, formats, .. } = kind;
        let bound = |rows| ROW_BOUNDS.into_iter().find(|bound| rows <= *bound);
        let tiles = match tiles {
            TileKind::Rows(rows) => TileKind::Rows(bound(rows).unwrap_or(usize::MAX)),
            other => other,
        };
        let formats = formats.map(|format| format.map(|format| format.dtype));
        Self { tiles, is_gated, is_normed, formats, rows, cols }
    }
}

impl fmt::Display for ProductClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for dtype in self.formats.iter().flatten() {
            write!(f, "{dtype} ")?;
        }
        write!(f, "{}x{} {:?}", self.rows, self.cols, self.tiles)?;
        f.write_str(if self.is_gated { " gated" } else { "" })?;
        f.write_str(if self.is_normed { " normed" } else { "" })
    }
}

/// Seconds of what `record` records: the least of several tries, each long enough that its submission does not matter.
///
/// **Errors**: those of `record`, [`BackendError::DeviceLost`].
pub(crate) fn seconds(
    pass: &mut GpuPass<'_>,
    record: impl Fn(&mut GpuPass<'_>) -> Result<(), BackendError>,
) -> Result<f64, BackendError> {
    const TRIES: usize = 3;
    const TRY_SECONDS: f64 = 0.002;
    const MAX_REPETITIONS: f64 = 50.0;
    // The clocks of an idle device are low, and rise within this time.
    const WARM_UP: Duration = Duration::from_millis(100);
    let is_warm = std::mem::replace(&mut pass.tuning().is_warm, true);
    let mut run = |repetitions: usize| {
        let duration = pass.run_before(|pass| (0..repetitions).try_for_each(|_| record(pass)))?;
        Ok(duration.as_secs_f64() / repetitions as f64)
    };
    // The first run compiles the kernels.
    run(1)?;
    let mut repetitions = (TRY_SECONDS / run(1)?).clamp(1.0, MAX_REPETITIONS) as usize;
    if !is_warm {
        let started = Instant::now();
        while started.elapsed() < WARM_UP {
            run(repetitions)?;
        }
        repetitions = (TRY_SECONDS / run(1)?).clamp(1.0, MAX_REPETITIONS) as usize;
    }
    (0..TRIES).try_fold(f64::INFINITY, |best, _| Ok(f64::min(best, run(repetitions)?)))
}

/// The choices for a device.
#[derive(Debug)]
pub(crate) struct Tuning {
    /// Whether products without a choice are measured.
    pub(crate) is_enabled: bool,
    /// Whether a measurement has already raised the device's clocks.
    is_warm: bool,
    chosen: HashMap<ProductClass, Algorithm, foldhash::fast::RandomState>,
    /// The choices in the file, by class, as text.
    stored: HashMap<String, String>,
    file: Option<PathBuf>,
    /// The first line of the file.
    device: String,
}

impl Tuning {
    /// Reads the choices for `adapter`.
    pub(crate) fn new(adapter: &GpuAdapter, options: &GpuOptions) -> Self {
        let is_enabled = options.tunes(adapter);
        let version = env!("CARGO_PKG_VERSION");
        let (name, api) = (adapter.name(), adapter.api());
        let device = format!("inferno {version}: {name}, {api}, {}", adapter.driver());
        let device = device.replace(char::is_control, " ");
        let directory = options.cache_directory.as_deref().filter(|_| is_enabled);
        let file = directory.map(|directory| directory.join(file_name(name, api)));
        let stored = file.as_deref().and_then(|file| read(file, &device)).unwrap_or_default();
        Self { is_enabled, is_warm: false, chosen: HashMap::default(), stored, file, device }
    }

    /// The choice for a class, which was made or read before.
    pub(crate) fn get(&self, class: &ProductClass) -> Option<Algorithm> {
        self.chosen.get(class).copied()
    }

    /// The candidate in the file.
    pub(crate) fn stored(
        &self,
        class: &ProductClass,
        candidates: &[Algorithm],
    ) -> Option<Algorithm> {
        let stored = self.stored.get(&class.to_string())?;
        candidates.iter().copied().find(|candidate| format!("{candidate:?}") == *stored)
    }

    /// Sets a choice.
    pub(crate) fn set(&mut self, class: ProductClass, algorithm: Algorithm) {
        self.chosen.insert(class, algorithm);
    }

    /// Sets a choice that was measured, and writes the file. A file that cannot be written is left out: the choices are
    /// measured again next time.
    pub(crate) fn set_measured(&mut self, class: ProductClass, algorithm: Algorithm) {
        self.set(class, algorithm);
        self.stored.insert(class.to_string(), format!("{algorithm:?}"));
        if let Some(file) = &self.file {
            let _ = write(file, &self.device, &self.stored);
        }
    }
}

/// The name of a device's file.
fn file_name(adapter: &str, api: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = adapter.chars().take(80).map(plain).collect();
    format!("gpu-tuning-{name}-{api}.txt")
}

/// Reads the choices of a file; `None` if there is none for `device`.
fn read(file: &Path, device: &str) -> Option<HashMap<String, String>> {
    /// More than any file that was written has.
    const MAX_BYTES: u64 = 1 << 20;
    if fs::metadata(file).ok()?.len() > MAX_BYTES {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let mut lines = text.lines();
    if lines.next() != Some(device) {
        return None;
    }
    let choices = lines.filter_map(|line| line.split_once('\t'));
    Some(choices.map(|(class, choice)| (class.to_owned(), choice.to_owned())).collect())
}

/// Writes a file at once, so that other processes read the old or the new one.
fn write(file: &Path, device: &str, stored: &HashMap<String, String>) -> std::io::Result<()> {
    let mut text = format!("{device}\n");
    let mut lines: Vec<_> = stored.iter().collect();
    lines.sort();
    for (class, choice) in lines {
        let _ = writeln!(text, "{class}\t{choice}");
    }
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory)?;
    }
    let partial = file.with_extension(format!("{}.part", std::process::id()));
    fs::write(&partial, text)?;
    fs::rename(&partial, file).inspect_err(|_| {
        let _ = fs::remove_file(&partial);
    })
}

#[cfg(test)]
mod tests {
    use inferno_backend::{Backend, DeviceMemory, Pass};
    use inferno_conformance::cases::{Random, bits, matrix, read};

    use super::*;
    use crate::adapter;
    use crate::backend::GpuBackend;

    /// A product of `rows` rows, and the number of choices in the file.
    fn product(options: &GpuOptions, rows: usize) -> (Vec<u32>, usize) {
        let adapter = adapter::for_tests().expect("an adapter");
        let backend = GpuBackend::with_options(adapter, options.clone()).expect("a device");
        let mut random = Random::new(1);
        let weight = backend.load_weight(&[random.weight(DType::Q8_0, 1, 40, 96)]);
        let weight = weight.expect("memory");
        let x = matrix(&backend, rows, 96, &random.values(rows * 96));
        let mut out = backend.alloc(rows, 40).expect("memory");
        for _ in 0..2 {
            let mut pass = backend.begin();
            pass.linear(rows, &x, &weight, None, &mut out).expect("memory");
            pass.submit().expect("a device that works");
        }
        let directory = options.cache_directory.as_deref().expect("a directory");
        let mut files = fs::read_dir(directory).into_iter().flatten().flatten();
        let lines = files.next().map(|file| fs::read_to_string(file.path()).expect("text"));
        (bits(&read(&backend, &out, rows * 40)), lines.map_or(0, |text| text.lines().count()))
    }

    #[test]
    fn choices_are_measured_once_and_change_no_result() {
        if adapter::for_tests().is_none() {
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let directory = folder.path().join("new");
        let options = |tuning| GpuOptions {
            tuning: Some(tuning),
            cache_directory: Some(directory.clone()),
            ..GpuOptions::default()
        };
        let (expected, lines) = product(&options(false), 3);
        assert_eq!(lines, 0, "nothing is measured");
        assert_eq!(product(&options(true), 3), (expected.clone(), 2));
        let (_, lines) = product(&options(true), 9);
        assert_eq!(lines, 3, "a choice for each number of rows");
        assert_eq!(product(&options(true), 3), (expected.clone(), 3));

        // Files that are corrupt, or of another device.
        let path = fs::read_dir(&directory).expect("a folder").flatten().next();
        let path = path.expect("a file").path();
        let text = fs::read_to_string(&path).expect("text");
        let garbage = text.replace("lanes", "\u{0}\t");
        for broken in [&b"\xff\xfe"[..], b"", garbage.as_bytes(), b"another device\nQ8_0\tx\n"] {
            fs::write(&path, broken).expect("a file");
            assert_eq!(product(&options(true), 3).0, expected);
        }
    }
}
