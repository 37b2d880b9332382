//! The exponential mechanism over integer scores that change one at a time.

use super::bernoulli::{all_heads, half_to_the};
use super::uniform::below;
use crate::error::{Error, Result};
use crate::rng::Source;

/// Draws index i with probability proportional to `exp(epsilon * score_i)`: O(log n) a draw, and
/// O(log n) a changed score.
///
/// **Claim.** If no score moves by more than `D` between neighbours, one draw is `2 D epsilon`-DP,
/// pure, with bounded range `2 D epsilon` (so `(2 D epsilon)^2 / 8`-zCDP, Cesar & Rogers 2021), for
/// whatever neighbouring relation `D` was computed for. **Nothing is added for arithmetic**: no
/// delta per draw, no slack on epsilon.
/// **Assumes** (caller): the number of scores is public; scores are charged once per draw.
/// **Argument.** Let `step = floor(epsilon / ln 2 * 2^52)` in units of `2^-52` doublings. Then
/// `exp(epsilon' * s) = 2^(step * s)` for an `epsilon' <= epsilon`, and the exponent is a rational
/// known exactly (base two: Ilvento 2020). A weight `2^-y` has the power of two `2^-floor(y)` as
/// envelope: propose an index by its envelope, with integers, and accept it with probability
/// `2^-(y - floor(y))`, an exact coin; the accepted index has the stated law. Envelopes below 1
/// are raised to 1 and the difference goes into the coin, so no weight is ever rounded or lost.
/// The base that exponents are counted from depends on the scores, but it cancels in every
/// ratio and the law does not depend on it at all; only the running time does.
/// **Numerics.** Exact, and the same on every platform. `epsilon'` is within a factor
/// `1 - 2^-20` of `epsilon`.
///
/// # Examples
/// ```
/// use dpsumm_core::{noise::ExponentialTree, rng::Source};
///
/// let mut source = Source::system()?;
/// let mut tree = ExponentialTree::new(&[0, 5, 1000], 1.0)?;
/// assert_eq!(tree.select(&mut source), 2, "e^995 times likelier than the next");
/// tree.update(0, 3000)?;
/// assert_eq!(tree.select(&mut source), 0);
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
pub struct ExponentialTree {
    epsilon: f64,
    step: u64,
    scores: Vec<i64>,
    base: i64,
    // A heap-ordered binary tree: node i has children 2i and 2i + 1, node 1 holds the total.
    nodes: Vec<u128>,
}

/// Bits behind the point of an exponent.
const FRACTION_BITS: u32 = 52;
/// `floor(log2(e) * 2^62)`.
const LOG2_E: u128 = 6_653_256_548_922_161_245;
const MAX_LEN: usize = 1 << 28;
/// The envelope of the base score is `2^BASE_LOG`; none may exceed `2^MAX_LOG`, so that `MAX_LEN` of
/// them add up to less than `2^128`. The best score may rise by 24 doublings between rebasings.
const BASE_LOG: i128 = 71;
const MAX_LOG: i128 = 95;

impl ExponentialTree {
    /// A mechanism over these scores. `epsilon`: nats per unit of score.
    ///
    /// Errors: `scores` is empty or longer than `2^28`; `epsilon` is NaN or outside `[2^-32, 2^10]`.
    pub fn new(scores: &[i64], epsilon: f64) -> Result<Self> {
        if scores.is_empty() || scores.len() > MAX_LEN {
            return Err(Error::invalid(
                "scores",
                format!("{} of them; 1 to 2^28 allowed", scores.len()),
            ));
        }
        let step = doublings_down(epsilon)?;
        let leaves = scores.len().next_power_of_two();
        let mut tree =
            Self { epsilon, step, scores: scores.to_vec(), base: 0, nodes: vec![0; 2 * leaves] };
        tree.rebase();
        Ok(tree)
    }

    /// Return the number of scores.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    /// Return the epsilon asked for, nats per unit of score: an upper bound of the one used.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// Set the score of index `i`. O(log n), but O(n) when the best score has moved so far that
    /// exponents must be counted from a new base: up by 24 doublings (`16.6 / epsilon`), or down by
    /// `70 - log2(n)` doublings.
    ///
    /// Errors: `i` is not below [`len`](Self::len).
    pub fn update(&mut self, i: usize, score: i64) -> Result<()> {
        let Some(place) = self.scores.get_mut(i) else {
            return Err(Error::invalid("i", format!("{i} is not below {}", self.scores.len())));
        };
        *place = score;
        let (log, _) = self.exponent(score);
        if log > MAX_LOG {
            self.rebase();
            return Ok(());
        }
        let mut node = self.nodes.len() / 2 + i;
        self.nodes[node] = envelope(log);
        while node > 1 {
            node /= 2;
            self.nodes[node] = self.nodes[2 * node] + self.nodes[2 * node + 1];
        }
        // Raised envelopes are at most half of the total, so a proposal is accepted with
        // probability at least 1/4.
        if self.nodes[1] < 2 * self.scores.len() as u128 {
            self.rebase();
        }
        Ok(())
    }

    /// Draw an index. O(log n) expected.
    pub fn select(&self, source: &mut Source) -> usize {
        loop {
            let i = self.propose(source);
            let (log, fraction) = self.exponent(self.scores[i]);
            let raised = (-log).max(0) as u128;
            if all_heads(raised, source) && half_to_the(fraction, FRACTION_BITS, source) {
                return i;
            }
        }
    }

    /// Draw an index with probability proportional to its envelope.
    fn propose(&self, source: &mut Source) -> usize {
        let mut rest = below(self.nodes[1], source);
        let leaves = self.nodes.len() / 2;
        let mut node = 1;
        while node < leaves {
            node *= 2;
            let left = self.nodes[node];
            if rest >= left {
                rest -= left;
                node += 1;
            }
        }
        node - leaves
    }

    /// Return `(log, f)` such that the weight of `score` is `2^(log - f / 2^52)`, `f < 2^52`.
    fn exponent(&self, score: i64) -> (i128, u64) {
        // Below 2^64 * 2^63 in size, so nothing overflows for any pair of scores.
        let drop = (i128::from(self.base) - i128::from(score)) * i128::from(self.step);
        let fraction = drop as u64 & ((1 << FRACTION_BITS) - 1);
        (BASE_LOG - (drop >> FRACTION_BITS), fraction)
    }

    /// Count exponents from the best score.
    fn rebase(&mut self) {
        self.fill_from(self.scores.iter().copied().max().unwrap_or(0));
    }

    /// Count exponents from `base` and fill the tree anew.
    fn fill_from(&mut self, base: i64) {
        self.base = base;
        let leaves = self.nodes.len() / 2;
        for i in 0..self.scores.len() {
            self.nodes[leaves + i] = envelope(self.exponent(self.scores[i]).0);
        }
        for node in (1..leaves).rev() {
            self.nodes[node] = self.nodes[2 * node] + self.nodes[2 * node + 1];
        }
    }
}

/// Return the integer at or above `2^log` that stands for it in the tree (`log <= MAX_LOG`).
fn envelope(log: i128) -> u128 {
    1 << log.max(0)
}

/// Return `floor(epsilon / ln 2 * 2^52)` or a little less, exactly in integers: above 0, below `2^63`.
fn doublings_down(epsilon: f64) -> Result<u64> {
    if !(1.0 / 4_294_967_296.0..=1024.0).contains(&epsilon) {
        return Err(Error::invalid(
            "epsilon",
            format!("{epsilon:?} is outside [2^-32, 2^10]; give one within"),
        ));
    }
    // epsilon = mantissa * 2^(power - 1075), with power the biased exponent of a normal number.
    let (bits, hidden) = (epsilon.to_bits(), 1 << 52);
    let mantissa = u128::from(bits & (hidden - 1) | hidden);
    let power = (bits >> 52) as u32;
    // times LOG2_E * 2^-62 * 2^52: between 52 and 94 places to the right
    Ok(((mantissa * LOG2_E) >> (1085 - power)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::law::{FALSE_ALARM, p_value_of_counts, test_source};

    /// Return the p-value of draws against `exp(epsilon * score)`, computed in floating point.
    fn p_value(tree: &ExponentialTree, scores: &[i64], epsilon: f64, source: &mut Source) -> f64 {
        let mut counts = vec![0u64; scores.len()];
        for _ in 0..200_000 {
            counts[tree.select(source)] += 1;
        }
        let best = scores.iter().copied().max().unwrap_or(0);
        let weights: Vec<f64> =
            scores.iter().map(|&s| (epsilon * (s as f64 - best as f64)).exp()).collect();
        let total: f64 = weights.iter().sum();
        p_value_of_counts(&counts, &weights.iter().map(|w| w / total).collect::<Vec<_>>())
    }

    #[test]
    fn follows_its_law_and_no_other_epsilon() -> Result<()> {
        let (seed, mut source) = test_source(8)?;
        for n in [2usize, 3, 8, 21] {
            let scores: Vec<i64> = (0..n as i64).map(|i| (i * 37) % 50 - 20).collect();
            let tree = ExponentialTree::new(&scores, 0.05)?;
            for (factor, fits) in [(1.0, true), (0.9, false), (1.1, false)] {
                let p = p_value(&tree, &scores, 0.05 * factor, &mut source);
                assert_eq!(p > FALSE_ALARM, fits, "n {n} * {factor}: p = {p:e}, seed {seed}");
            }
        }
        Ok(())
    }

    #[test]
    fn the_law_does_not_depend_on_the_base() -> Result<()> {
        let (seed, mut source) = test_source(9)?;
        let scores = [3, 0, -2, 4, 1];
        // In doublings: from envelopes at their largest to all of them raised.
        for base in [-18, 0, 60, 72, 77, 80] {
            let mut tree = ExponentialTree::new(&scores, 1.0)?;
            tree.fill_from((f64::from(base) * std::f64::consts::LN_2) as i64);
            let p = p_value(&tree, &scores, 1.0, &mut source);
            assert!(p > FALSE_ALARM, "base {base}: p = {p:e}, seed {seed}");
        }
        Ok(())
    }

    #[test]
    fn many_updates_leave_the_law_of_a_fresh_tree() -> Result<()> {
        let (seed, mut source) = test_source(10)?;
        for n in [1usize, 2, 13, 64] {
            let mut scores = vec![0i64; n];
            let mut tree = ExponentialTree::new(&scores, 0.01)?;
            let mut rebased = 0;
            for _ in 0..20_000 {
                let i = source.below(n as u64) as usize;
                // Mostly small moves, sometimes far beyond what one base can hold.
                let spread = if source.below(50) == 0 { 40_000 } else { 300 };
                scores[i] = source.below(spread) as i64 - spread as i64 / 2;
                let base = tree.base;
                tree.update(i, scores[i])?;
                rebased += u32::from(tree.base != base);
            }
            assert!(rebased > 10, "{rebased} rebasings, n {n}, seed {seed}");
            assert!(tree.nodes[1] >= 2 * n as u128);
            // Same proposals as a fresh tree counted from the same base.
            let mut fresh = ExponentialTree::new(&scores, 0.01)?;
            fresh.fill_from(tree.base);
            assert!(fresh.nodes == tree.nodes, "n {n}, seed {seed}");
            // Bring the scores together, so that there is a law to see.
            for (i, score) in scores.iter_mut().enumerate() {
                *score %= 300;
                tree.update(i, *score)?;
            }
            if n > 1 {
                let p = p_value(&tree, &scores, 0.01, &mut source);
                assert!(p > FALSE_ALARM, "n {n}: p = {p:e}, seed {seed}");
            }
        }
        Ok(())
    }

    #[test]
    fn extreme_scores_neither_overflow_nor_hang() -> Result<()> {
        let mut source = Source::seeded(0, 0);
        for epsilon in [2f64.powi(-32), 1.0, 1024.0] {
            let mut tree = ExponentialTree::new(&[i64::MIN, i64::MAX, 0], epsilon)?;
            assert!((0..100).all(|_| tree.select(&mut source) == 1));
            tree.update(0, i64::MAX)?;
            tree.update(1, i64::MIN)?;
            assert!((0..100).all(|_| tree.select(&mut source) == 0));
            for i in 0..3 {
                tree.update(i, i64::MIN)?;
            }
            let seen = (0..1000).fold([0; 3], |mut seen, _| {
                seen[tree.select(&mut source)] += 1;
                seen
            });
            assert!(seen.iter().all(|&n| n > 200), "{seen:?}");
        }
        Ok(())
    }

    #[test]
    fn the_epsilon_used_is_never_above_the_one_asked_for() -> Result<()> {
        for epsilon in [2f64.powi(-32), 1e-6, 0.01, 0.1, 1.0, 3.7, 1024.0] {
            // Integer arithmetic to 2^-63 relative, against ln 2 to 2^-53: allow the latter.
            let used = doublings_down(epsilon)? as f64 * std::f64::consts::LN_2 / 2f64.powi(52);
            assert!(used <= epsilon * (1.0 + 1e-15), "{used:e} > {epsilon:e}");
            assert!(used >= epsilon * (1.0 - 2f64.powi(-20)), "{used:e} << {epsilon:e}");
        }
        // floor(2^52 log2 e) and floor(2^62 log2 e), computed with 60 decimal digits
        assert_eq!(doublings_down(1.0)?, 6_497_320_848_556_798);
        assert_eq!(doublings_down(1024.0)?, 6_653_256_548_922_161_245);
        Ok(())
    }

    #[test]
    fn refuses_what_it_cannot_hold() -> Result<()> {
        assert!(ExponentialTree::new(&[], 1.0).is_err());
        for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY, 1025.0, 1e-10] {
            assert!(ExponentialTree::new(&[1], epsilon).is_err(), "{epsilon}");
        }
        let mut tree = ExponentialTree::new(&[5], 1.0)?;
        assert!(tree.update(1, 0).is_err());
        assert_eq!((tree.len(), tree.epsilon()), (1, 1.0));
        assert_eq!(tree.select(&mut Source::seeded(0, 0)), 0);
        Ok(())
    }
}
