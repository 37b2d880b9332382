//! The fit: weighted least squares by Adam.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::product::multiply;
use super::{Mixture, Settings, Tables};
use crate::error::{Error, Result, check_room};
use crate::exp::exp_nonpositive;
use crate::noise::RoundedNormal;
use crate::rng::Source;
use crate::simd::{Hot, dispatch};

/// Stream of the first values under the user's seed.
const START: u64 = 0x6d69_7874;
/// Units of one nat in which the first values are drawn.
const UNITS: f64 = (1u64 << 20) as f64;
/// Shares below this are taken for it in the first values.
const LEAST: f64 = 1e-4;
const DECAY: (f64, f64) = (0.9, 0.99);

/// Fit a mixture: weighted least squares by Adam, until what is left is as large as the noise.
///
/// It stops at the first step whose chi-square is at most `stop` for each cell: a closer fit would
/// follow the noise.
///
/// # Errors
/// A parameter out of range, numbers that are not finite, [`Error::Stopped`].
///
/// # Examples
/// ```
/// use std::sync::atomic::AtomicBool;
/// use dpsumm_core::rng::Source;
/// use dpsumm_core::vertical::mixture::{Settings, Tables, fit, sample};
///
/// // Two columns of two levels that are always equal.
/// let (sizes, pairs) = ([2, 2], [0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.5,
///                                0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0]);
/// let seen = [0.0, 0.0, 1e4, 1e4, 0.0, 0.0, 1e4, 1e4, 1e4, 1e4, 0.0, 0.0, 1e4, 1e4, 0.0, 0.0];
/// let tables = Tables { sizes: &sizes, pairs: &pairs, pair_weights: &seen,
///                       singles: &[0.5; 4], single_weights: &[1e4; 4] };
/// let settings = Settings { components: 4, step: 0.1, init: 0.5, stop: 0.5, max_steps: 2000, seed: 1 };
/// let model = fit(&tables, &settings, &AtomicBool::new(false))?;
/// assert!(model.chi2 < 1.0);
///
/// let rows = sample(&model.pi, &model.theta, &sizes, &[Some(1), None], 100, &mut Source::system()?)?;
/// let equal = rows.chunks(2).filter(|row| row[0] == row[1]).count();
/// assert!(equal > 90);
/// # Ok::<(), dpsumm_core::Error>(())
/// ```
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
