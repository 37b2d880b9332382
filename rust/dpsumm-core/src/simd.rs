//! The one place that chooses an instruction set.
//!
//! Hot loops are written once, in plain Rust over fixed-size arrays, and compiled twice: for the
//! baseline and for AVX2 with FMA. Both give the same bits: every operation is an IEEE basic
//! operation or a fused multiply-add with one rounding, in an order fixed by the source, and the
//! compiler may neither reorder nor fuse them. Without FMA hardware the fused operation is a call,
//! slow but exact. [`SETTING`] forces the baseline, to test that.

use std::ffi::OsStr;
use std::sync::LazyLock;

use crate::error::{Error, Result};

/// The environment variable that forces the baseline when it is `baseline`; read once, at first use.
pub const SETTING: &str = "DPSUMM_SIMD";

static CHOICE: LazyLock<Result<bool>> =
    LazyLock::new(|| Ok(!forced(std::env::var_os(SETTING).as_deref())? && supported()));

/// Return the instructions that the hot loops of this process run on: `avx2` or `baseline`.
///
/// # Errors
/// [`Error::InvalidParameter`] if [`SETTING`] is neither empty nor `baseline`. The loops then run on
/// the baseline, which has the same bits.
pub fn instructions() -> Result<&'static str> {
    let wide = CHOICE.clone()?;
    Ok(if wide { "avx2" } else { "baseline" })
}

/// Whether the setting forces the baseline.
fn forced(setting: Option<&OsStr>) -> Result<bool> {
    match setting.map(OsStr::as_encoded_bytes) {
        None | Some(b"") => Ok(false),
        Some(b"baseline") => Ok(true),
        Some(_) => Err(Error::invalid(SETTING, "must be baseline, or not set")),
    }
}

#[cfg(target_arch = "x86_64")]
fn supported() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

#[cfg(not(target_arch = "x86_64"))]
fn supported() -> bool {
    false
}

/// A hot loop with its arguments. `run` and all that it calls must be `#[inline(always)]`, so that
/// they are compiled for the instruction set of the caller.
pub(crate) trait Hot {
    /// What the loop returns.
    type Output;

    /// Run the loop.
    fn run(self) -> Self::Output;
}

/// Run `hot` with the best instructions this machine has.
pub(crate) fn dispatch<H: Hot>(hot: H) -> H::Output {
    #[cfg(target_arch = "x86_64")]
    if wide() {
        // SAFETY: `wide` says that the processor has AVX2 and FMA.
        return unsafe { run_avx2(hot) };
    }
    hot.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2<H: Hot>(hot: H) -> H::Output {
    hot.run()
}

#[cfg(target_arch = "x86_64")]
fn wide() -> bool {
    #[cfg(test)]
    if tests::BASELINE.load(std::sync::atomic::Ordering::Relaxed) {
        return false;
    }
    *CHOICE == Ok(true)
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
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    pub(super) static BASELINE: AtomicBool = AtomicBool::new(false);
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    /// Results of `work` with and without the wide instructions. Tests that run meanwhile may get
    /// either, which is no harm as long as the claim under test holds.
    pub(crate) fn both_ways<R>(work: impl Fn() -> R) -> (R, R) {
        let _guard = ONE_AT_A_TIME.lock();
        let wide = work();
        BASELINE.store(true, Ordering::Relaxed);
        let baseline = work();
        BASELINE.store(false, Ordering::Relaxed);
        (wide, baseline)
    }
    #[test]
    fn only_a_known_setting_forces_the_baseline() {
        assert_eq!(forced(None), Ok(false));
        assert_eq!(forced(Some(OsStr::new(""))), Ok(false));
        assert_eq!(forced(Some(OsStr::new("baseline"))), Ok(true));
        assert!(forced(Some(OsStr::new("BASELINE"))).is_err());
    }
}
