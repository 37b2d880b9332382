//! A mixture of products of categorical columns: fitted to noisy two-way tables, and sampled.
//!
//! Both are post-processing of released numbers. Still every bit is the same on every processor and
//! with any number of threads: sums are chains in a fixed order, logarithms and roots are exact
//! functions of their argument's bits, and the first values come from an integer sampler.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::error::{Error, Result, check_room};
use crate::exp::exp_nonpositive;
use crate::noise::RoundedNormal;
use crate::product::{Lanes, Real, TILE, products};
use crate::rng::Source;
use crate::simd::{Hot, dispatch};

/// Columns of a panel.
const PANEL: usize = <f64 as Real>::Lanes::WIDTH;
/// Stream of the first values under the user's seed.
const START: u64 = 0x6d69_7874;
/// Units of one nat in which the first values are drawn.
const UNITS: f64 = (1u64 << 20) as f64;
/// Shares below this are taken for it in the first values.
const LEAST: f64 = 1e-4;
const DECAY: (f64, f64) = (0.9, 0.99);

/// What is fitted to: shares, and how much each of them counts.
#[derive(Debug, Clone, Copy)]
pub struct Tables<'a> {
    /// Categories of each column; their sum is W.
    pub sizes: &'a [usize],
    /// Two-way tables side by side, `(W, W)`, symmetric, as shares of the records.
    pub pairs: &'a [f64],
    /// One over the variance of each share; 0 where there is no table.
    pub pair_weights: &'a [f64],
    /// One-way tables side by side, `(W,)`, as shares.
    pub singles: &'a [f64],
    /// One over their variances.
    pub single_weights: &'a [f64],
}

/// How it is fitted.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Components of the mixture.
    pub components: usize,
    /// Rate of the first step.
    pub step: f64,
    /// Standard deviation of the first values, in nats.
    pub init: f64,
    /// Chi-square for each cell of a pair at which the fit stops.
    pub stop: f64,
    /// Steps at most.
    pub max_steps: usize,
    /// Of the first values.
    pub seed: u64,
}

/// A mixture, and how far its fit came.
#[derive(Debug, Clone, PartialEq)]
pub struct Mixture {
    /// Weight of each component.
    pub pi: Vec<f64>,
    /// Share of each category in each component, `(K, W)`.
    pub theta: Vec<f64>,
    /// Steps taken.
    pub steps: usize,
    /// Chi-square for each cell at the end.
    pub chi2: f64,
}

/// Fit a mixture: weighted least squares by Adam, until what is left is as large as the noise.
///
/// It stops at the first step whose chi-square is at most `stop` for each cell: a closer fit would
/// follow the noise.
///
/// # Errors
/// A parameter out of range, numbers that are not finite, [`Error::Stopped`].
pub fn fit(tables: &Tables<'_>, settings: &Settings, until: &AtomicBool) -> Result<Mixture> {
    check(tables, settings)?;
    let mut fit = Fit::new(tables, settings)?;
    let mut steps = 0;
    loop {
        if until.load(Ordering::Relaxed) {
            return Err(Error::Stopped);
        }
        let chi2 = fit.residuals(tables);
        if chi2 <= settings.stop || steps == settings.max_steps {
            return Ok(Mixture { pi: fit.pi, theta: fit.theta, steps, chi2 });
        }
        steps += 1;
        fit.step(tables, settings, steps);
    }
}

fn check(tables: &Tables<'_>, settings: &Settings) -> Result<()> {
    let width = tables.sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size));
    let width = width.filter(|&w| w > 0 && w <= 1 << 16 && !tables.sizes.contains(&0));
    let Some(width) = width else {
        return Err(Error::invalid("sizes", "must be at least 1 each, 65536 together"));
    };
    for (name, values, wanted) in [
        ("pairs", tables.pairs, width * width),
        ("pair_weights", tables.pair_weights, width * width),
        ("singles", tables.singles, width),
        ("single_weights", tables.single_weights, width),
    ] {
        if values.len() != wanted {
            return Err(Error::invalid(name, format!("must have sum(sizes) = {width} to a side")));
        }
        if values.iter().any(|x| !x.is_finite()) {
            return Err(Error::NonFinite { name });
        }
        if name.ends_with("weights") && values.iter().any(|&x| x < 0.0) {
            return Err(Error::invalid(name, "must be 0 or more"));
        }
    }
    if !(1..=1 << 16).contains(&settings.components) {
        return Err(Error::invalid("components", "must be from 1 to 65536"));
    }
    for (name, value) in [("step", settings.step), ("init", settings.init), ("stop", settings.stop)]
    {
        if !(value.is_finite() && (1e-6..=1e6).contains(&value)) {
            return Err(Error::invalid(name, "must be from 1e-6 to 1e6"));
        }
    }
    check_room::<f64>("components", settings.components, 4 * width)
}

/// The parameters, in nats, and Adam's moments.
struct Fit {
    z_pi: Vec<f64>,
    z: Vec<f64>,
    pi: Vec<f64>,
    theta: Vec<f64>,
    moments_pi: Vec<[f64; 2]>,
    moments: Vec<[f64; 2]>,
    /// What a pair's weights are divided by, so that rates do not depend on the noise.
    largest: f64,
    /// Cells with a weight.
    cells: f64,
    /// Weighted residuals of pairs, `(W, W)`, and of single columns.
    residual: Vec<f64>,
    single: Vec<f64>,
    /// What each component gains by them: `theta residual`, `(K, W)`.
    pull: Vec<f64>,
    chi2_rows: Vec<f64>,
}

impl Fit {
    fn new(tables: &Tables<'_>, settings: &Settings) -> Result<Self> {
        let (k, width) = (settings.components, tables.singles.len());
        let law = RoundedNormal::new(settings.init * UNITS)?;
        let mut source = Source::seeded(settings.seed, START);
        let base: Vec<f64> = tables.singles.iter().map(|&y| libm::log(y.max(LEAST))).collect();
        let z = (0..k * width)
            .map(|i| base[i % width] + law.sample(&mut source) as f64 / UNITS)
            .collect();
        let largest = tables
            .pair_weights
            .iter()
            .chain(tables.single_weights)
            .fold(0.0, |a: f64, &b| a.max(b));
        let mut fit = Self {
            z_pi: vec![0.0; k],
            z,
            pi: vec![0.0; k],
            theta: vec![0.0; k * width],
            moments_pi: vec![[0.0; 2]; k],
            moments: vec![[0.0; 2]; k * width],
            largest: if largest > 0.0 { largest } else { 1.0 },
            cells: tables.pair_weights.iter().filter(|&&w| w > 0.0).count() as f64,
            residual: vec![0.0; width * width],
            single: vec![0.0; width],
            pull: vec![0.0; k * width],
            chi2_rows: vec![0.0; width],
        };
        fit.shares(tables.sizes);
        Ok(fit)
    }

    /// Shares from parameters.
    fn shares(&mut self, sizes: &[usize]) {
        self.pi.copy_from_slice(&self.z_pi);
        softmax(&mut self.pi);
        let width = self.theta.len() / self.pi.len();
        self.theta.par_chunks_mut(width).zip(self.z.par_chunks(width)).for_each(|(theta, z)| {
            theta.copy_from_slice(z);
            let mut rest = theta;
            for &size in sizes {
                let (block, after) = rest.split_at_mut(size);
                dispatch(Softmax(block));
                rest = after;
            }
        });
    }

    /// Compare the model's tables with the given ones; return the chi-square for each cell.
    fn residuals(&mut self, tables: &Tables<'_>) -> f64 {
        let (k, width) = (self.pi.len(), tables.singles.len());
        let (theta, pi, largest) = (&self.theta, &self.pi, self.largest);
        multiply(
            &mut self.residual,
            [width, width, k],
            |i, c| theta[c * width + i],
            |c, j| pi[c] * theta[c * width + j],
        );
        self.residual
            .par_chunks_mut(width)
            .zip(tables.pairs.par_chunks(width))
            .zip(tables.pair_weights.par_chunks(width))
            .zip(&mut self.chi2_rows)
            .for_each(|(((row, given), weights), chi2)| {
                *chi2 = dispatch(Residuals { row, given, weights, largest });
            });
        self.single.fill(0.0);
        for (row, &pi) in theta.chunks_exact(width).zip(pi) {
            self.single.iter_mut().zip(row).for_each(|(sum, &t)| *sum += pi * t);
        }
        for ((r, y), w) in self.single.iter_mut().zip(tables.singles).zip(tables.single_weights) {
            *r = w / largest * (*r - y);
        }
        if self.cells > 0.0 { self.chi2_rows.iter().sum::<f64>() / self.cells } else { 0.0 }
    }

    /// One step of Adam against the gradient.
    fn step(&mut self, tables: &Tables<'_>, settings: &Settings, step: usize) {
        let (k, width) = (self.pi.len(), tables.singles.len());
        let (theta, residual) = (&self.theta, &self.residual);
        multiply(
            &mut self.pull,
            [k, width, width],
            |c, i| theta[c * width + i],
            |i, j| residual[i * width + j],
        );
        let adam = Adam::new(settings, step);
        let single = &self.single;
        let gains: Vec<f64> = self
            .pull
            .par_chunks_mut(width)
            .zip(self.theta.par_chunks(width))
            .zip(self.z.par_chunks_mut(width))
            .zip(self.moments.par_chunks_mut(width))
            .zip(&self.pi)
            .map(|((((pull, theta), z), moments), &pi)| {
                dispatch(Component {
                    pull,
                    theta,
                    z,
                    moments,
                    pi,
                    single,
                    sizes: tables.sizes,
                    adam,
                })
            })
            .collect();
        let mean: f64 = gains.iter().zip(&self.pi).map(|(g, p)| g * p).sum();
        for (((z, moments), gain), pi) in
            self.z_pi.iter_mut().zip(&mut self.moments_pi).zip(&gains).zip(&self.pi)
        {
            adam.update(z, moments, pi * (gain - mean));
        }
        self.shares(tables.sizes);
    }
}

/// A step's rate and the corrections for moments that began at 0.
#[derive(Clone, Copy)]
struct Adam {
    rate: f64,
    first: f64,
    second: f64,
}

impl Adam {
    fn new(settings: &Settings, step: usize) -> Self {
        let done = (step - 1) as f64 / settings.max_steps as f64;
        let power = |base: f64| (0..step).fold(1.0, |x, _| x * base);
        Self {
            rate: settings.step * (1.0 - done) + 1e-4,
            first: 1.0 - power(DECAY.0),
            second: 1.0 - power(DECAY.1),
        }
    }

    #[inline(always)]
    fn update(&self, z: &mut f64, moments: &mut [f64; 2], gradient: f64) {
        moments[0] = DECAY.0 * moments[0] + (1.0 - DECAY.0) * gradient;
        moments[1] = DECAY.1 * moments[1] + (1.0 - DECAY.1) * gradient * gradient;
        *z -= self.rate * (moments[0] / self.first) / ((moments[1] / self.second).sqrt() + 1e-12);
    }
}

struct Softmax<'a>(&'a mut [f64]);

impl Hot for Softmax<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        softmax(self.0);
    }
}

#[inline(always)]
fn softmax(values: &mut [f64]) {
    let top = values.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
    values.iter_mut().for_each(|x| *x = exp_nonpositive(*x - top));
    let sum: f64 = values.iter().sum();
    values.iter_mut().for_each(|x| *x /= sum);
}

/// Replace a row of the model's pair table by its weighted residuals; return their chi-square.
struct Residuals<'a> {
    row: &'a mut [f64],
    given: &'a [f64],
    weights: &'a [f64],
    largest: f64,
}

impl Hot for Residuals<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let mut chi2 = 0.0;
        for ((x, y), w) in self.row.iter_mut().zip(self.given).zip(self.weights) {
            let error = *x - y;
            chi2 += w * error * error;
            *x = w / self.largest * error;
        }
        chi2
    }
}

/// One component's step; returns the gradient for its weight.
struct Component<'a> {
    pull: &'a mut [f64],
    theta: &'a [f64],
    z: &'a mut [f64],
    moments: &'a mut [[f64; 2]],
    pi: f64,
    single: &'a [f64],
    sizes: &'a [usize],
    adam: Adam,
}

impl Hot for Component<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let mut gain = 0.0;
        let mut start = 0;
        for &size in self.sizes {
            let block = start..start + size;
            let (mut both, mut inner) = (0.0, 0.0);
            for ((pull, &t), &r) in self.pull[block.clone()]
                .iter_mut()
                .zip(&self.theta[block.clone()])
                .zip(&self.single[block.clone()])
            {
                // Of pi_k: the pairs once, since they are symmetric and were counted in both halves.
                both += t * (*pull + r);
                *pull = self.pi * (2.0 * *pull + r);
                inner += t * *pull;
            }
            gain += both;
            for (((z, moments), &t), &g) in self.z[block.clone()]
                .iter_mut()
                .zip(&mut self.moments[block.clone()])
                .zip(&self.theta[block.clone()])
                .zip(&self.pull[block])
            {
                self.adam.update(z, moments, t * (g - inner));
            }
            start += size;
        }
        gain
    }
}

/// Write the product of two matrices, `[m, n, depth]`, each entry one chain over the depth.
fn multiply(
    out: &mut [f64],
    [m, n, depth]: [usize; 3],
    left: impl Fn(usize, usize) -> f64 + Sync,
    right: impl Fn(usize, usize) -> f64 + Sync,
) {
    debug_assert_eq!(out.len(), m * n);
    let mut panels = vec![0.0; n.div_ceil(PANEL) * PANEL * depth];
    panels.par_chunks_mut(PANEL * depth).enumerate().for_each(|(p, panel)| {
        for (d, lanes) in panel.chunks_exact_mut(PANEL).enumerate() {
            for (lane, j) in lanes.iter_mut().zip(p * PANEL..n) {
                *lane = right(d, j);
            }
        }
    });
    out.par_chunks_mut(TILE * n).enumerate().for_each(|(t, out)| {
        let mut tile = vec![0.0; TILE * depth];
        for (d, lanes) in tile.chunks_exact_mut(TILE).enumerate() {
            for (lane, i) in lanes.iter_mut().zip(t * TILE..m) {
                *lane = left(i, d);
            }
        }
        dispatch(Rows { tile: &tile, panels: &panels, depth, n, out });
    });
}

struct Rows<'a> {
    tile: &'a [f64],
    panels: &'a [f64],
    depth: usize,
    n: usize,
    out: &'a mut [f64],
}

impl Hot for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (p, panel) in self.panels.chunks_exact(PANEL * self.depth).enumerate() {
            let mut sums = [<f64 as Real>::Lanes::ZERO; TILE];
            products(self.tile, panel, &mut sums);
            let end = ((p + 1) * PANEL).min(self.n);
            for (row, sums) in self.out.chunks_exact_mut(self.n).zip(&sums) {
                sums.store(&mut row[p * PANEL..end]);
            }
        }
    }
}

/// Draw `n` rows of codes, a code for each column; where `given` has a code, that one.
///
/// The given columns choose among components by Bayes' rule; the others are drawn from the chosen.
///
/// # Errors
/// Parameters that do not fit each other, numbers that are no shares, a given combination that no
/// component has.
pub fn sample(
    pi: &[f64],
    theta: &[f64],
    sizes: &[usize],
    given: &[Option<u32>],
    n: usize,
    source: &mut Source,
) -> Result<Vec<u32>> {
    let width: usize = sizes.iter().sum();
    if sizes.is_empty() || pi.is_empty() || pi.len().checked_mul(width) != Some(theta.len()) {
        return Err(Error::invalid("theta", "must have shape (len(pi), sum(sizes))"));
    }
    if pi.iter().chain(theta).any(|x| !(0.0..=1.0 + 1e-9).contains(x)) {
        return Err(Error::invalid("theta", "and pi must be shares, from 0 to 1"));
    }
    let fits =
        given.iter().zip(sizes).all(|(code, &n)| code.is_none_or(|code| (code as usize) < n));
    if given.len() != sizes.len() || !fits {
        return Err(Error::invalid(
            "given",
            "must have a code below its size, or none, for each column",
        ));
    }
    check_room::<u32>("n", n, sizes.len())?;
    let components = cumulative(&weights(pi, theta, sizes, given)?);
    let cumulated: Vec<f64> = theta
        .chunks_exact(width)
        .flat_map(|row| {
            let mut start = 0;
            sizes.iter().flat_map(move |&size| {
                start += size;
                cumulative(&row[start - size..start])
            })
        })
        .collect();
    let mut out = Vec::with_capacity(n * sizes.len());
    for _ in 0..n {
        let k = draw(&components, source);
        let mut start = k * width;
        for (code, &size) in given.iter().zip(sizes) {
            let code = code.unwrap_or_else(|| draw(&cumulated[start..start + size], source) as u32);
            out.push(code);
            start += size;
        }
    }
    Ok(out)
}

/// The components' weights given some columns.
fn weights(pi: &[f64], theta: &[f64], sizes: &[usize], given: &[Option<u32>]) -> Result<Vec<f64>> {
    let width: usize = sizes.iter().sum();
    let mut weights = pi.to_vec();
    let mut start = 0;
    for (code, &size) in given.iter().zip(sizes) {
        if let Some(code) = code {
            for (weight, row) in weights.iter_mut().zip(theta.chunks_exact(width)) {
                *weight *= row[start + *code as usize];
            }
            // So that many columns do not underflow.
            let top = weights.iter().fold(0.0, |a: f64, &b| a.max(b));
            if top > 0.0 {
                weights.iter_mut().for_each(|weight| *weight /= top);
            }
        }
        start += size;
    }
    if weights.iter().sum::<f64>() > 0.0 {
        Ok(weights)
    } else {
        Err(Error::invalid("given", "has no chance in the model; give fewer columns"))
    }
}

fn cumulative(shares: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    shares
        .iter()
        .map(|&x| {
            sum += x;
            sum
        })
        .collect()
}

/// Draw an index by its cumulative weight.
fn draw(cumulative: &[f64], source: &mut Source) -> usize {
    let total = cumulative.last().copied().unwrap_or(0.0);
    let at = source.unit() * total;
    cumulative.partition_point(|&x| x <= at).min(cumulative.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::tests::both_ways;

    const SIZES: [usize; 3] = [3, 2, 4];
    const SETTINGS: Settings =
        Settings { components: 4, step: 0.06, init: 0.5, stop: 1e-6, max_steps: 3000, seed: 1 };

    /// Two components, and their tables.
    fn truth() -> (Vec<f64>, Vec<f64>) {
        let pi = [0.4, 0.6];
        let theta = [
            [0.7, 0.2, 0.1, 0.9, 0.1, 0.1, 0.2, 0.3, 0.4],
            [0.1, 0.3, 0.6, 0.2, 0.8, 0.6, 0.2, 0.1, 0.1],
        ];
        let mut pairs = vec![0.0; 81];
        let mut singles = vec![0.0; 9];
        for (p, row) in pi.iter().zip(&theta) {
            for i in 0..9 {
                singles[i] += p * row[i];
                for j in 0..9 {
                    pairs[i * 9 + j] += p * row[i] * row[j];
                }
            }
        }
        (pairs, singles)
    }

    fn tables<'a>(
        pairs: &'a [f64],
        pair_weights: &'a [f64],
        singles: &'a [f64],
        single_weights: &'a [f64],
    ) -> Tables<'a> {
        Tables { sizes: &SIZES, pairs, pair_weights, singles, single_weights }
    }

    fn pair_weights(weight: f64) -> Vec<f64> {
        let block = |i: usize| [0, 0, 0, 1, 1, 2, 2, 2, 2][i];
        (0..81).map(|c| if block(c / 9) == block(c % 9) { 0.0 } else { weight }).collect()
    }

    #[test]
    fn exact_tables_are_reproduced() -> Result<()> {
        let (pairs, singles) = truth();
        // A million records, noise 10.
        let (weights, single_weights) = (pair_weights(1e10), vec![1e10; 9]);
        let tables = tables(&pairs, &weights, &singles, &single_weights);
        let fit = fit(&tables, &SETTINGS, &AtomicBool::new(false))?;
        for i in 0..9 {
            for j in 0..9 {
                let cell: f64 =
                    (0..4).map(|k| fit.pi[k] * fit.theta[k * 9 + i] * fit.theta[k * 9 + j]).sum();
                let error = if weights[i * 9 + j] > 0.0 { cell - pairs[i * 9 + j] } else { 0.0 };
                assert!(error.abs() < 2e-5, "{i} {j} {error:e}");
            }
        }
        Ok(())
    }

    #[test]
    fn it_stops_at_the_noise_and_at_max_steps() -> Result<()> {
        let (pairs, singles) = truth();
        let (weights, single_weights) = (pair_weights(1e4), vec![1e4; 9]);
        let tables = tables(&pairs, &weights, &singles, &single_weights);
        let run = |stop, max_steps| {
            fit(&tables, &Settings { stop, max_steps, ..SETTINGS }, &AtomicBool::new(false))
        };
        let loose = run(1.0, 3000)?;
        assert!(loose.chi2 <= 1.0 && loose.steps < 500, "{loose:?}");
        assert_eq!(run(1e-6, 5)?.steps, 5);
        let stopped = fit(&tables, &SETTINGS, &AtomicBool::new(true));
        assert!(matches!(stopped, Err(Error::Stopped)));
        Ok(())
    }

    #[test]
    fn every_processor_and_any_threads_give_the_same_bits() -> Result<()> {
        let (pairs, singles) = truth();
        let (weights, single_weights) = (pair_weights(1e6), vec![1e6; 9]);
        let tables = tables(&pairs, &weights, &singles, &single_weights);
        let settings = Settings { max_steps: 40, ..SETTINGS };
        let run = || fit(&tables, &settings, &AtomicBool::new(false));
        let (wide, baseline) = both_ways(run);
        assert_eq!(wide, baseline);
        for threads in [1, 3] {
            if let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
                assert_eq!(pool.install(run), wide);
            }
        }
        // A library's logarithm that differs in a last bit, or another order of a sum, moves these.
        let fit = wide?;
        let digest =
            fit.theta.iter().chain(&fit.pi).fold(0u64, |sum, x| {
                (sum ^ x.to_bits()).wrapping_mul(0x0100_0000_01b3).rotate_left(7)
            });
        assert_eq!(digest, 2_353_082_286_741_374_702);
        Ok(())
    }

    #[test]
    fn samples_have_the_models_shares_and_the_given_codes() -> Result<()> {
        let pi = [0.25, 0.75];
        let theta = [1.0, 0.0, 0.5, 0.5, 0.0, 0.2, 0.8, 0.1, 0.1, 0.8];
        let mut source = Source::seeded(2, 0);
        let rows = sample(&pi, &theta, &[2, 3], &[None, None], 40_000, &mut source)?;
        let share = |f: &dyn Fn(&[u32]) -> bool| {
            rows.chunks(2).filter(|row| f(row)).count() as f64 / 40_000.0
        };
        assert!((share(&|row| row[0] == 0) - 0.40).abs() < 0.02);
        assert!((share(&|row| row == [1, 2]) - 0.48).abs() < 0.02);
        // Component 1 has weight .75 * .8 against 0 when the second column is 2.
        let rows = sample(&pi, &theta, &[2, 3], &[None, Some(2)], 10_000, &mut source)?;
        assert!(rows.chunks(2).all(|row| row[1] == 2));
        let zeros = rows.chunks(2).filter(|row| row[0] == 0).count() as f64 / 10_000.0;
        assert!((zeros - 0.2).abs() < 0.03, "{zeros}");
        Ok(())
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut source = Source::seeded(2, 0);
        let mut draw = |pi: &[f64], theta: &[f64], given: &[Option<u32>]| {
            sample(pi, theta, &[2, 1], given, 1, &mut source)
        };
        assert!(draw(&[1.0], &[1.0, 0.0, 1.0], &[None, None]).is_ok());
        assert!(draw(&[1.0], &[1.0, 0.0], &[None, None]).is_err());
        assert!(draw(&[1.0], &[f64::NAN, 0.0, 1.0], &[None, None]).is_err());
        assert!(draw(&[1.0], &[1.0, 0.0, 1.0], &[Some(2), None]).is_err());
        assert!(draw(&[1.0], &[1.0, 0.0, 1.0], &[Some(1), None]).is_err());
        let (pairs, singles) = truth();
        let weights = vec![1.0; 81];
        let tables = Tables {
            sizes: &SIZES,
            pairs: &pairs,
            pair_weights: &weights,
            singles: &singles,
            single_weights: &[1.0; 9],
        };
        let run = |t: &Tables<'_>, s: &Settings| fit(t, s, &AtomicBool::new(false));
        for broken in [
            Settings { components: 0, ..SETTINGS },
            Settings { step: f64::NAN, ..SETTINGS },
            Settings { init: 0.0, ..SETTINGS },
        ] {
            assert!(run(&tables, &broken).is_err());
        }
        assert!(run(&Tables { singles: &singles[1..], ..tables }, &SETTINGS).is_err());
        assert!(run(&Tables { singles: &[f64::NAN; 9], ..tables }, &SETTINGS).is_err());
        assert!(run(&Tables { single_weights: &[-1.0; 9], ..tables }, &SETTINGS).is_err());
        assert!(run(&Tables { sizes: &[], ..tables }, &SETTINGS).is_err());
    }
}
