//! What can be proved of the map as it is computed: upper bounds, rounded outwards.
//!
//! With u = 2^-53, n coordinates, P landmarks (filled up to whole tiles), C the stored Cholesky
//! factor, A its stored inverse, K the exact kernel matrix, and all norms those of all entries
//! (which bound the operators'), for every x:
//!
//! 1. *Kernel values.* A squared distance s is computed from coordinates, norms and a product that
//!    are chains of at most n fused operations, so with an error of at most `c (2 s + 8 r^2)`,
//!    `c = 2 u (n + 8)`, r the largest distance of a landmark from the origin: each error is a
//!    multiple of `(|x| + |z|)^2 <= 2 s + 8 r^2`. So `k = exp(-gamma s)`, whose logarithm is off by
//!    at most `c (3 gamma s + 8 gamma r^2)`, is off by at most `e_k = c (2 + 10 gamma r^2)`, since
//!    `v exp(-v) <= 0.37`; this includes the error of [`exp_nonpositive`](crate::exp), 4.6e-16.
//! 2. *Contraction.* `C C^T = K + ridge + R` and `A C = 1 + F` for the stored numbers, with |R| and
//!    |F| at most the computed residuals and what rounding them can hide. If |R| is at most the
//!    ridge, then `A K A^T = (1 + F)(1 + F)^T - A (ridge + R) A^T <= (1 + |F|)^2`: the linear map
//!    has norm at most `1 + |F|`.
//! 3. *Arithmetic.* A computed `h(x)` differs from `A k_Z(x)` by at most
//!    `b = |A| sqrt(P) (e_k + g)`, `g = P u` and a little, plus 2^-24 for features in f32.

use super::RIDGE;
use super::root::{Lower, residuals};
use crate::error::{Error, Result};
use crate::kernel::Packed;

/// Upper bounds of norms; each formula is multiplied by this for its own rounding.
const OUTWARD: f64 = 1.001;
const U: f64 = f64::EPSILON / 2.0;

/// Bounds that hold for every row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    /// Of the linear map from the kernel's space, `1 + |F|`.
    pub(super) operator: f64,
    /// Of the L2 error of a computed `h(x)`, b.
    pub(super) arithmetic: f64,
}

impl Bounds {
    /// Prove the bounds for the stored `factor` and `inverse` of `matrix`, ridge included.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if a condition of the proof does not hold.
    pub(super) fn prove(
        matrix: &[f64],
        factor: &Lower,
        inverse: &Lower,
        gamma: f64,
        landmarks: &Packed,
    ) -> Result<Self> {
        let size = factor.size();
        let radius = landmarks.norms.iter().filter(|norm| norm.is_finite());
        let spread = gamma * radius.fold(0.0, |most: f64, &norm| most.max(norm)) * OUTWARD;
        let relative = 2.0 * U * (landmarks.dim() + 8) as f64;
        let kernel = relative * (2.0 + 10.0 * spread) * OUTWARD;
        let chain = (size + 8) as f64 * U * OUTWARD;
        let (of_factor, of_inverse) = residuals(matrix, factor, inverse);
        let hidden = chain * factor.norm() * factor.norm();
        let lost = OUTWARD * (of_factor + hidden + size as f64 * kernel + 4.0 * U);
        // Also false of NaN.
        if !(relative < 0.01 && relative * spread < 0.01 && lost <= RIDGE) {
            let reason = "lie so far apart, for this gamma, that rounding cannot be bounded; scale \
                          them down or lower gamma";
            return Err(Error::invalid("landmarks", reason));
        }
        let operator = 1.0 + OUTWARD * (of_inverse + chain * inverse.norm() * factor.norm());
        let double = OUTWARD * inverse.norm() * (size as f64).sqrt() * (kernel + OUTWARD * chain);
        let arithmetic = double + f64::from(f32::EPSILON) * (operator + double);
        if !(operator < 2.0 && arithmetic < 1.0) {
            let reason = "have a kernel matrix whose inverse cannot be bounded; use fewer of them";
            return Err(Error::invalid("landmarks", reason));
        }
        Ok(Self { operator, arithmetic })
    }

    /// Of `|h(x) - h(y)|` for computed h, if `gamma |x - y|^2` is at most `exponent`.
    pub(super) fn difference(&self, exponent: Option<f64>) -> f64 {
        // The least kernel value, rounded down.
        let least = exponent.map_or(0.0, |most| libm::exp(-most * (1.0 + 1e-12)) * (1.0 - 1e-12));
        let exact = (2.0 * (1.0 - least) + 1e-15).sqrt();
        exact * self.operator * (1.0 + 1e-12) + 2.0 * self.arithmetic
    }

    /// Of `|h(x)|` for computed h: the kernel's features have norm 1.
    pub(super) fn norm(&self) -> f64 {
        self.operator + self.arithmetic
    }
}
