//! The one place that chooses an instruction set.
//!
//! Hot loops are written once, in plain Rust over fixed-size arrays, and compiled three times: for the
//! baseline, for AVX2 with FMA, and for AVX-512. All give the same bits: every operation is an IEEE
//! basic operation or a fused multiply-add with one rounding, in an order fixed by the source, and the
//! compiler may neither reorder nor fuse them. Without FMA hardware the fused operation is a call,
//! slow but exact. [`SETTING`] keeps from the wider ones, to test that.

use std::ffi::OsStr;
use std::sync::LazyLock;

use crate::error::{Error, Result};

/// The environment variable that keeps the hot loops to `baseline` or to `avx2`; read once, at first
/// use.
pub const SETTING: &str = "DPSUMM_SIMD";

/// Instruction sets, each a part of the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Path {
    Baseline,
    Avx2,
    Avx512,
}

static CHOICE: LazyLock<Result<Path>> =
    LazyLock::new(|| Ok(allowed(std::env::var_os(SETTING).as_deref())?.min(supported())));

/// Return the instructions that the hot loops of this process run on: `avx512`, `avx2` or `baseline`.
///
/// # Errors
/// [`Error::InvalidParameter`] if [`SETTING`] is neither empty nor `baseline` nor `avx2`. The loops
/// then run on the baseline, which has the same bits.
pub fn instructions() -> Result<&'static str> {
    Ok(match CHOICE.clone()? {
        Path::Baseline => "baseline",
        Path::Avx2 => "avx2",
        Path::Avx512 => "avx512",
    })
}

/// The widest that the setting allows.
fn allowed(setting: Option<&OsStr>) -> Result<Path> {
    match setting.map(OsStr::as_encoded_bytes) {
        None | Some(b"") => Ok(Path::Avx512),
        Some(b"avx2") => Ok(Path::Avx2),
        Some(b"baseline") => Ok(Path::Baseline),
        Some(_) => Err(Error::invalid(SETTING, "must be baseline or avx2, or not set")),
    }
}

/// The widest that this processor has.
fn supported() -> Path {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        let wide = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        return if wide { Path::Avx512 } else { Path::Avx2 };
    }
    Path::Baseline
}

/// A hot loop with its arguments. `run` and all that it calls must be `#[inline(always)]`, so that
/// they are compiled for the instruction set of the caller.
pub(crate) trait Hot {
    /// What the loop returns.
    type Output;

    /// The widest instructions that make it faster.
    const WIDEST: Path = Path::Avx512;

    /// Run the loop.
    fn run(self) -> Self::Output;
}

/// Run `hot` with the best instructions this machine has.
pub(crate) fn dispatch<H: Hot>(hot: H) -> H::Output {
    #[cfg(target_arch = "x86_64")]
    match path().min(H::WIDEST) {
        // SAFETY: the processor has what `path` says.
        Path::Avx512 => return unsafe { run_avx512(hot) },
        // SAFETY: as above.
        Path::Avx2 => return unsafe { run_avx2(hot) },
        Path::Baseline => {}
    }
    hot.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn run_avx512<H: Hot>(hot: H) -> H::Output {
    hot.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2<H: Hot>(hot: H) -> H::Output {
    hot.run()
}

#[cfg(target_arch = "x86_64")]
fn path() -> Path {
    let path = CHOICE.as_ref().copied().unwrap_or(Path::Baseline);
    #[cfg(test)]
    return path.min(tests::widest());
    #[cfg(not(test))]
    path
}

/// Keep the compiler from doing several turns of the loop around this at once, one in each lane: with
/// AVX-512 it would gather and scatter their numbers, which takes several times as long as the turns
/// by themselves, whose numbers lie side by side.
#[inline(always)]
pub(crate) fn turn_by_turn() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: no instructions.
    unsafe {
        std::arch::asm!("", options(nomem, nostack, preserves_flags));
    }
}

/// Ask for data that will be read soon.
#[inline(always)]
pub(crate) fn prefetch<R>(data: &[R]) {
    #[cfg(target_arch = "x86_64")]
    for line in data.chunks(64 / size_of::<R>()) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, allowed for any address; this one is inside a slice.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = data;
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fmt::Debug;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const PATHS: [Path; 3] = [Path::Baseline, Path::Avx2, Path::Avx512];
    static WIDEST: AtomicUsize = AtomicUsize::new(PATHS.len() - 1);
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    pub(super) fn widest() -> Path {
        PATHS[WIDEST.load(Ordering::Relaxed)]
    }

    /// The result of `work`, the same on every path that this processor has. Tests that run meanwhile
    /// may get any path, which is no harm as long as the claim under test holds.
    pub(crate) fn same_every_way<R: PartialEq + Debug>(work: impl Fn() -> R) -> R {
        let _guard = ONE_AT_A_TIME.lock();
        let widest = work();
        for (i, path) in PATHS.iter().enumerate().filter(|(_, path)| **path < supported()) {
            WIDEST.store(i, Ordering::Relaxed);
            let found = work();
            WIDEST.store(PATHS.len() - 1, Ordering::Relaxed);
            assert_eq!(found, widest, "{path:?}");
        }
        widest
    }

    #[test]
    fn only_a_known_setting_keeps_from_a_path() {
        assert_eq!(allowed(None), Ok(Path::Avx512));
        assert_eq!(allowed(Some(OsStr::new(""))), Ok(Path::Avx512));
        assert_eq!(allowed(Some(OsStr::new("avx2"))), Ok(Path::Avx2));
        assert_eq!(allowed(Some(OsStr::new("baseline"))), Ok(Path::Baseline));
        for unknown in ["BASELINE", "avx512", "avx"] {
            assert!(allowed(Some(OsStr::new(unknown))).is_err());
        }
    }

    #[test]
    fn a_difference_between_paths_is_seen() {
        if path() > Path::Baseline {
            assert!(std::panic::catch_unwind(|| same_every_way(path)).is_err());
        }
    }
}
