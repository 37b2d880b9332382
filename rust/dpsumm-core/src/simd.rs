//! The one place that chooses an instruction set.
//!
//! Hot loops are written once, in plain Rust over fixed-size arrays, and compiled twice: for the
//! baseline and for AVX2 with FMA. Both give the same bits: every operation is an IEEE basic
//! operation or a fused multiply-add with one rounding, in an order fixed by the source, and the
//! compiler may neither reorder nor fuse them. Without FMA hardware the fused operation is a call,
//! slow but exact.

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
        // SAFETY: `wide` has just seen that the processor has AVX2 and FMA.
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
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
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
}
