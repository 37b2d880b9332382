//! MWEM over product distributions on the grid `S^d`: private means of bounded coordinates.
//!
//! Hardt, Ligett & McSherry 2012 with the d coordinate sums as queries, as in Sarpatwar et al.
//! 2019, Algorithm 2. The distribution over `S^d` stays a product and each marginal an exponential
//! tilt `P_i(s) ~ exp(theta_i s)`, since the update
//! `P(s) <- P(s) exp(s_i (measured - w_i) / (2 q))` adds to one `theta_i`. So the state is d
//! numbers, one iteration changes one score, and it costs O(log d): nothing is ever of size
//! `|S|^d`, nor `|S|`.
//!
//! **Claim.** With `D` the change of one sum, in real units, between neighbouring data (2 when one
//! of the q records is replaced): every iteration is one selection, `2 D epsilon_select`-DP with
//! bounded range, and one measurement, `D epsilon_measure`-DP. All that [`MwemRelease`] and the
//! state hold is post-processing of these.
//! **Assumes.** The caller charges every iteration of every run and gives a `count` that is public.
//! Sums come from [`crate::quantize`], where coordinate values lie in `[-1, 1]`. Randomness from
//! the operating system.
//! **Argument.** `w_i` is a function of `theta` and the public `count`, and `theta` of noisy
//! measurements and chosen coordinates alone, in this and earlier runs. So given the transcript so
//! far, a score `|sum_i - w_i|` moves by at most `D` between neighbours: the exponential mechanism
//! without the factor 1/2 costs `2 D epsilon_select`; discrete Laplace noise of scale
//! `1 / epsilon_measure` costs `D epsilon_measure` (the other coordinates' sums are not touched).
//! **Numerics.** Sums, `w_i`, scores and noise are integers in units of `1 / steps`, selections and
//! noise are exact, and both epsilons are rounded down. Floating point enters `theta` and the means
//! only, which are computed from the transcript.
//! **Tested by** the law against a slow twin, the replay of a transcript without the data.

mod tilt;

use crate::error::{Error, Result};
use crate::noise::{DiscreteLaplace, ExponentialTree};
use crate::rng::Source;

/// Largest `count * steps`: integers up to here are exact in an `f64`.
const MAX_SUM: u64 = 1 << 53;

/// What a run may spend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MwemParams {
    /// Number of selections and measurements, at least 1.
    pub iterations: usize,
    /// Nats by which a selection's log-weight grows with one unit of a real-valued sum, above 0.
    pub epsilon_select: f64,
    /// Inverse Laplace scale of a measurement, per unit of a real-valued sum, above 0.
    pub epsilon_measure: f64,
}

/// What a run releases: everything here is covered by the claim of the module.
#[derive(Debug, Clone, PartialEq)]
pub struct MwemRelease {
    /// Mean of each coordinate in `[-1, 1]`, averaged over the iterates *after* each of the updates
    /// of this run. (Hardt et al. average the iterates *before* each update, which drops the last
    /// measurement and would make a run of one iteration release its start.)
    pub means: Vec<f64>,
    /// Mean of each coordinate in `[-1, 1]` under the last iterate.
    pub last_means: Vec<f64>,
    /// Coordinate chosen in each iteration.
    pub chosen: Vec<usize>,
    /// Noisy sum of the chosen coordinate in each iteration, in units of `1 / steps`.
    pub measured: Vec<i64>,
}

/// State of MWEM, one tilt for each coordinate; a later run starts where the last one ended.
///
/// It is public once the runs are charged. With features scaled by `sqrt(d/2)` into `[-1, 1]`, the
/// released mean embedding is `sqrt(2/d)` times the means.
///
/// # Examples
/// ```
/// use dpsumm_core::mwem::{Mwem, MwemParams};
/// use dpsumm_core::rng::Source;
///
/// // 1000 records of 3 coordinates in steps of 1/20, as `quantize` makes them.
/// let sums = [18_000, 0, -16_000];
/// let params = MwemParams { iterations: 300, epsilon_select: 0.1, epsilon_measure: 0.1 };
/// let mut state = Mwem::new(3, 20)?;
/// let released = state.run(&sums, 1000, &params, &mut Source::system()?)?;
/// assert!(released.last_means[0] > 0.5 && released.last_means[2] < -0.5);
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Mwem {
    steps: u32,
    theta: Vec<f64>,
}

impl Mwem {
    /// Start at the uniform distribution over `S^d`, `S` of `steps + 1` points (`eta = 2 / steps`).
    ///
    /// Errors: `n_coordinates` or `steps` is 0.
    pub fn new(n_coordinates: usize, steps: u32) -> Result<Self> {
        Self::from_theta(vec![0.0; n_coordinates], steps)
    }

    /// Continue from the tilts of an earlier state, (d,). Errors: none, one not finite, or `steps`
    /// 0.
    pub fn from_theta(theta: Vec<f64>, steps: u32) -> Result<Self> {
        if theta.is_empty() {
            return Err(Error::invalid("n_coordinates", "must be at least 1"));
        }
        if steps == 0 {
            return Err(Error::invalid("steps", "must be at least 1: the grid {-1, 1}"));
        }
        if theta.iter().any(|theta| !theta.is_finite()) {
            return Err(Error::NonFinite { name: "theta" });
        }
        Ok(Self { steps, theta })
    }

    /// Return the tilt of each coordinate, (d,): natural parameters per unit of the real value.
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// Run `params.iterations` iterations on `sums`, (d,), in units of `1 / steps`.
    ///
    /// `count` is the number q of records behind the sums: a public number.
    ///
    /// Errors: shape, `count` 0 or `count * steps` above 2^53, parameters out of range, or sums
    /// that no data of about `count` records has. The state is unchanged after an error.
    pub fn run(
        &mut self,
        sums: &[i64],
        count: u64,
        params: &MwemParams,
        source: &mut Source,
    ) -> Result<MwemRelease> {
        self.check(sums, count, params)?;
        let steps = f64::from(self.steps);
        // One step towards more noise covers the rounding of the division.
        let noise = DiscreteLaplace::new((steps / params.epsilon_measure).next_up())?;
        let mut fit = Fit::new(self, count);
        let scores: Vec<i64> =
            sums.iter().zip(&fit.expected).map(|(sum, w)| (sum - w).abs()).collect();
        let mut tree = ExponentialTree::new(&scores, (params.epsilon_select / steps).next_down())?;

        let mut transcript = Vec::new();
        for _ in 0..params.iterations {
            let i = tree.select(source);
            let measured = sums[i].saturating_add(noise.sample(source));
            fit.update(i, measured);
            tree.update(i, (sums[i] - fit.expected[i]).abs())?;
            transcript.push((i, measured));
        }
        let (means, last_means) = fit.finish();
        let (chosen, measured) = transcript.into_iter().unzip();
        Ok(MwemRelease { means, last_means, chosen, measured })
    }

    fn check(&self, sums: &[i64], count: u64, params: &MwemParams) -> Result<()> {
        if sums.len() != self.theta.len() {
            let reason = format!("needs {} values, one for each coordinate", self.theta.len());
            return Err(Error::invalid("sums", reason));
        }
        if count == 0 || count.checked_mul(u64::from(self.steps)).is_none_or(|size| size > MAX_SUM)
        {
            return Err(Error::invalid(
                "count",
                "must be at least 1, and count * steps at most 2^53",
            ));
        }
        // Public nominal counts may differ from the true one, but not by this much.
        if sums.iter().any(|sum| sum.unsigned_abs() > MAX_SUM) {
            return Err(Error::invalid("sums", "must be sums over records, at most 2^53 in size"));
        }
        if params.iterations == 0 {
            return Err(Error::invalid("iterations", "must be at least 1"));
        }
        let positive = |epsilon: f64| epsilon.is_finite() && epsilon > 0.0;
        if !positive(params.epsilon_select) {
            return Err(Error::invalid("epsilon_select", "must be finite and above 0"));
        }
        if !positive(params.epsilon_measure) {
            return Err(Error::invalid("epsilon_measure", "must be finite and above 0"));
        }
        Ok(())
    }
}

/// The public side of a run: tilts, their means, and the average of the means. It never sees the
/// sums.
struct Fit<'a> {
    steps: u32,
    count: f64,
    theta: &'a mut [f64],
    /// Mean of each coordinate under the current tilt.
    means: Vec<f64>,
    /// `w_i`: the expected sum, rounded to an integer in units of `1 / steps`.
    expected: Vec<i64>,
    /// Sum of each mean over the iterates before the one it was last changed in ..
    total: Vec<f64>,
    /// .. and the number of that iterate, so that an iteration touches one coordinate only.
    since: Vec<usize>,
    /// Number of updates so far.
    now: usize,
}

impl<'a> Fit<'a> {
    fn new(state: &'a mut Mwem, count: u64) -> Self {
        let d = state.theta.len();
        let means: Vec<f64> =
            state.theta.iter().map(|&theta| tilt::mean(theta, state.steps)).collect();
        let mut fit = Self {
            steps: state.steps,
            count: count as f64,
            theta: &mut state.theta,
            means,
            expected: Vec::new(),
            total: vec![0.0; d],
            since: vec![1; d],
            now: 0,
        };
        fit.expected = fit.means.iter().map(|&mean| fit.expected_sum(mean)).collect();
        fit
    }

    fn expected_sum(&self, mean: f64) -> i64 {
        (self.count * f64::from(self.steps) * mean).round() as i64
    }

    fn update(&mut self, i: usize, measured: i64) {
        self.now += 1;
        self.total[i] += (self.now - self.since[i]) as f64 * self.means[i];
        self.since[i] = self.now;
        let gap = measured.saturating_sub(self.expected[i]) as f64 / f64::from(self.steps);
        self.theta[i] += gap / (2.0 * self.count);
        self.means[i] = tilt::mean(self.theta[i], self.steps);
        self.expected[i] = self.expected_sum(self.means[i]);
    }

    /// Return the means averaged over iterates 1 to `now`, and the last ones.
    fn finish(self) -> (Vec<f64>, Vec<f64>) {
        let mut average = self.total;
        for ((total, &mean), &since) in average.iter_mut().zip(&self.means).zip(&self.since) {
            let whole = *total + (self.now + 1 - since) as f64 * mean;
            *total = (whole / self.now as f64).clamp(-1.0, 1.0);
        }
        (average, self.means)
    }
}

#[cfg(test)]
mod tests;
