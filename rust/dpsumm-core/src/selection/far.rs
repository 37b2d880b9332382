//! Rows that are nowhere near the best, told by one product each now and then.
//!
//! `2^-s` is convex, so (Jensen) a row's mean kernel value with t picks is at least `2^-s`, where s is
//! the mean of its squared distances to them: its own squared norm, and theirs on average, minus twice
//! its product with their mean. The more columns there are, the more alike are distances, and the
//! nearer is this bound. [`super::near`] gets the rows that it leaves in doubt, for good.
//!
//! From then on the means only drift. If the picks' mean moved by D and their mean squared norm grew
//! by G, then s grew by at most `G + 2 D |x|`, and the score by at most `ln 2` times this times the
//! kernel value found (the share t / (t + 1) of the mean that counts only grows). A panel is looked
//! at again when that may be enough.
//!
//! Looks wait for memory, so they soon read rows of 16 bits a coordinate. A row that is off by |e| has
//! a product with the mean m that is off by at most `|e| |m|`: twice this is added to s.
//!
//! Margins are those of [`crate::kernel::Margin`]: the mean of rounded coordinates is rounded once
//! more, for which its slope has room, and a product in four chains rounds no more often than in one.

use rayon::prelude::*;

use super::screen::Shared;
use crate::exp::exp2_nonpositive;
use crate::kernel::{Margin, Single, WIDE, row_products};
use crate::points::Scalar;
use crate::simd::{Hot, dispatch, prefetch};

/// Panels per parallel task.
const TASK: usize = 512;
/// A panel that was not looked at for so many picks is looked at again: longer drifts are not kept.
const MEMORY: usize = 64;
/// How far down from the best score to the mean of a panel rows go: deeper means fewer looks at the
/// panel, which wait for memory, and more rows whose values are all computed.
const DEPTH: f64 = 0.2;
/// Before so many picks the means move so far that each panel is looked at again, whatever has left
/// it: only rows that must go do. From then on looks read a rounded copy, which takes about as long to
/// make as two of them.
pub(super) const EARLY: usize = 8;

/// Sixteen rows. Their largest score was at most `high` after `seen` picks; `rate` and `reach` say
/// how it may have grown since (see [`Drift::high`]).
struct Panel {
    /// Minus infinity if no row is left.
    high: f64,
    /// The largest squared norm.
    norm: f64,
    rate: f64,
    reach: f64,
    seen: usize,
}

/// A row that may be the best, and a bound on its attraction from above.
pub(super) struct Near {
    pub(super) row: usize,
    pub(super) attraction: f64,
}

/// All rows that were never near the best.
pub(super) struct Far {
    /// At least the attractions in f64. Minus infinity for rows that are not here (any more).
    attraction: Vec<[f64; WIDE]>,
    panels: Vec<Panel>,
    /// What looks read once there are [`EARLY`] picks.
    rough: Option<Rough>,
    /// The sum of the picks, and the means after the last picks, the latest first.
    sum: Vec<f64>,
    means: std::collections::VecDeque<Mean>,
}

/// All rows with the upper half of the bits of their coordinates: half of what comes from memory.
struct Rough {
    dim: usize,
    values: Vec<u16>,
    /// For each panel, at least the distance of its rows from what is left of them.
    off: Vec<f32>,
}

impl Rough {
    fn new(rows: &Single, panels: usize, dim: usize) -> Self {
        let (mut values, mut off) = (vec![0; panels * WIDE * dim], vec![0.0; panels]);
        let tasks = values.par_chunks_mut(TASK * WIDE * dim).zip(off.par_chunks_mut(TASK));
        tasks.enumerate().for_each(|(task, (values, off))| {
            dispatch(Round { rows, dim, first: task * TASK, values, off });
        });
        Self { dim, values, off }
    }

    #[inline(always)]
    fn group(&self, p: usize) -> &[u16] {
        let size = WIDE * self.dim;
        &self.values[p * size..][..size]
    }
}

/// The number of which these are the upper bits.
#[inline(always)]
fn from_upper(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Round a run of panels, the first of which is `first`.
struct Round<'a> {
    rows: &'a Single,
    dim: usize,
    first: usize,
    values: &'a mut [u16],
    off: &'a mut [f32],
}

impl Hot for Round<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { rows, dim, first, values, off } = self;
        for (p, (values, off)) in values.chunks_exact_mut(WIDE * dim).zip(off).enumerate() {
            let lanes = rows.group(first + p).0.as_chunks::<WIDE>().0;
            let mut squares = [0.0; WIDE];
            for (lanes, values) in lanes.iter().zip(values.as_chunks_mut::<WIDE>().0) {
                for j in 0..WIDE {
                    // To the nearest; no coordinate is large enough to overflow.
                    values[j] = ((lanes[j].to_bits() + 0x8000) >> 16) as u16;
                    let lost = lanes[j] - from_upper(values[j]);
                    squares[j] = lost.mul_add(lost, squares[j]);
                }
            }
            *off = largest(&squares).sqrt();
        }
    }
}

/// Mean of the picks and of their squared norms.
struct Mean {
    point: Vec<f64>,
    norm: f64,
}

/// How far the means have moved: since one pick ago, two picks ago, ..
struct Drift {
    picks: usize,
    /// Growth of the mean squared norm, and distance between the means.
    since: Vec<(f64, f64)>,
}

impl Drift {
    /// No row of the panel has a larger score than this.
    #[inline(always)]
    fn high(&self, panel: &Panel) -> f64 {
        // Without picks there is no kernel value that could shrink.
        if panel.seen == 0 || panel.high == f64::NEG_INFINITY {
            return panel.high;
        }
        match self.since.get(self.picks - panel.seen) {
            Some((growth, distance)) => {
                let square = distance.mul_add(panel.reach, *growth);
                panel.rate.mul_add(if square > 0.0 { square } else { 0.0 }, panel.high)
            }
            None => f64::INFINITY,
        }
    }
}

impl Far {
    /// All rows, with bounds on their attractions from above.
    pub(super) fn new(attraction: Vec<[f64; WIDE]>, rows: &Single, dim: usize) -> Self {
        let panel = |(p, attraction): (usize, &[f64; WIDE])| {
            let norm = f64::from(rows.group(p).1.iter().copied().fold(0.0, f32::max));
            Panel {
                high: largest(attraction),
                norm,
                rate: 0.0,
                reach: 2.001 * norm.sqrt(),
                seen: 0,
            }
        };
        let panels = attraction.iter().enumerate().map(panel).collect();
        let (sum, means) = (vec![0.0; dim], std::collections::VecDeque::new());
        Self { attraction, panels, rough: None, sum, means }
    }

    /// Take a pick into the means.
    pub(super) fn pick<T>(&mut self, shared: &Shared<T>) {
        let (group, lane) = ((shared.picks - 1) / WIDE, (shared.picks - 1) % WIDE);
        let coordinates = shared.picked_columns.group(group).0.iter().skip(lane).step_by(WIDE);
        self.sum.iter_mut().zip(coordinates).for_each(|(sum, x)| *sum += f64::from(*x));
        let count = shared.picks as f64;
        let point = self.sum.iter().map(|x| x / count).collect();
        self.means.truncate(MEMORY - 1);
        self.means.push_front(Mean { point, norm: shared.picked_norms[shared.picks] / count });
    }

    /// Rows of the most promising panel: a first score to beat.
    pub(super) fn first(&mut self) -> Vec<Near> {
        let high = |p: &usize| self.panels[*p].high;
        let best = (0..self.panels.len()).reduce(|a, b| if high(&b) > high(&a) { b } else { a });
        let mut found = Vec::new();
        if let Some(p) = best {
            take(&mut self.attraction[p], p, |_| true, &mut found);
            self.panels[p].high = f64::NEG_INFINITY;
        }
        found
    }

    /// Give away the rows whose score may reach `least`.
    pub(super) fn reaching<T: Scalar>(
        &mut self,
        shared: &Shared<T>,
        weight: f64,
        least: f64,
    ) -> Vec<Near> {
        let drift = self.drift(shared.picks);
        let mean = self.means.front().map(|mean| Rounded {
            point: mean.point.iter().map(|&x| x as f32).collect(),
            length: mean.point.iter().map(|x| x * x).sum::<f64>().sqrt(),
            norm: mean.norm,
        });
        if shared.picks >= EARLY && self.rough.is_none() {
            self.rough = Some(Rough::new(&shared.single, self.panels.len(), self.sum.len()));
        }
        let (drift, mean, rough) = (&drift, mean.as_ref(), self.rough.as_ref());
        let tasks = self.panels.par_chunks_mut(TASK).zip(self.attraction.par_chunks_mut(TASK));
        let found = tasks.enumerate().map(|(task, (panels, attraction))| {
            let first = task * TASK;
            dispatch(Look { shared, drift, mean, rough, weight, least, first, panels, attraction })
        });
        found.collect::<Vec<_>>().into_iter().flatten().collect()
    }

    /// All rows here with the bound of their panel.
    #[cfg(test)]
    pub(super) fn bounds(&self, picks: usize) -> Vec<(usize, f64)> {
        let drift = self.drift(picks);
        let lanes = self.attraction.as_flattened().iter().enumerate();
        let here = lanes.filter(|(_, attraction)| **attraction > f64::NEG_INFINITY);
        here.map(|(row, _)| (row, drift.high(&self.panels[row / WIDE]))).collect()
    }

    fn drift(&self, picks: usize) -> Drift {
        let since = self.means.front().map_or_else(Vec::new, |now| {
            let distance = |then: &Mean| {
                let pairs = now.point.iter().zip(&then.point);
                pairs.map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
            };
            self.means.iter().map(|then| (now.norm - then.norm, distance(then))).collect()
        });
        Drift { picks, since }
    }
}

/// Move the rows of panel `p` that are wanted to `found`.
#[inline(always)]
fn take(
    attraction: &mut [f64; WIDE],
    p: usize,
    wanted: impl Fn(usize) -> bool,
    found: &mut Vec<Near>,
) {
    for (j, a) in attraction.iter_mut().enumerate() {
        if *a > f64::NEG_INFINITY && wanted(j) {
            found.push(Near { row: p * WIDE + j, attraction: *a });
            *a = f64::NEG_INFINITY;
        }
    }
}

/// The mean of the picks in f32, its length, and the mean of their squared norms.
struct Rounded {
    point: Vec<f32>,
    length: f64,
    norm: f64,
}

/// Look at the panels of a run whose bound reaches `least`.
struct Look<'a, 's, T> {
    shared: &'a Shared<'s, T>,
    drift: &'a Drift,
    mean: Option<&'a Rounded>,
    rough: Option<&'a Rough>,
    weight: f64,
    least: f64,
    first: usize,
    panels: &'a mut [Panel],
    attraction: &'a mut [[f64; WIDE]],
}

impl<T> Hot for Look<'_, '_, T> {
    type Output = Vec<Near>;

    #[inline(always)]
    fn run(self) -> Vec<Near> {
        let Self { shared, drift, mean, rough, weight, least, first, panels, attraction } = self;
        let mut found = Vec::new();
        // Listed beforehand, as in `lazy`.
        let mut due = [0; TASK];
        let mut n_due = 0;
        for (p, panel) in panels.iter().enumerate() {
            due[n_due] = p;
            n_due += usize::from(drift.high(panel) >= least);
        }
        for (i, &p) in due[..n_due].iter().enumerate() {
            if let Some(&next) = due[..n_due].get(i + 1) {
                match rough {
                    Some(rough) => prefetch(rough.group(first + next)),
                    None => prefetch(shared.single.group(first + next).0),
                }
            }
            let (rows, norms) = shared.single.group(first + p);
            // A constant length, without which nothing here would run in vector registers.
            let Some(norms) = norms.first_chunk::<WIDE>() else { continue };
            let (panel, attraction) = (&mut panels[p], &mut attraction[p]);
            let mut scores = *attraction;
            if let Some(mean) = mean {
                let (products, off) = match rough {
                    Some(rough) => {
                        let products =
                            row_products(&mean.point, rough.group(first + p), from_upper);
                        (products, f64::from(rough.off[first + p]))
                    }
                    None => (row_products(&mean.point, rows, |x| x), 0.0),
                };
                // 2, and one per cent for what rounding adds in products, sums and `off` itself.
                let norm = (2.02 * off).mul_add(mean.length, mean.norm);
                let margin = shared.margin;
                scores = panel.look(products, norms, norm, drift.picks, weight, scores, margin);
            }
            let least = if drift.picks < EARLY { least } else { reaching(&scores, least) };
            if largest(&scores) >= least {
                take(attraction, first + p, |j| scores[j] >= least, &mut found);
                for score in scores.iter_mut().filter(|score| **score >= least) {
                    *score = f64::NEG_INFINITY;
                }
            }
            panel.high = largest(&scores);
        }
        found
    }
}

impl Panel {
    /// Bounds on the scores; `rate` for later.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "a step of the loop above")]
    fn look(
        &mut self,
        mut values: [f32; WIDE],
        norms: &[f32; WIDE],
        mean_norm: f64,
        picks: usize,
        weight: f64,
        attraction: [f64; WIDE],
        margin: Margin,
    ) -> [f64; WIDE] {
        let norm = mean_norm as f32;
        for (value, row) in values.iter_mut().zip(norms) {
            let minus_square = value.mul_add(2.0, -(row + norm));
            *value = exp2_nonpositive(if minus_square < 0.0 { minus_square } else { 0.0 });
        }
        let flat = Margin::FLAT + margin.slope * mean_norm;
        // 0.7 is ln 2 and one per cent; the slope is for a margin that grows with the mean norm.
        let room = margin.slope.mul_add(self.norm, flat);
        self.rate = 0.7 * (f64::from(largest(&values)) + room) + margin.slope;
        self.seen = picks;
        let weight = -(picks as f64) * weight;
        let mut scores = attraction;
        for ((score, &value), &norm) in scores.iter_mut().zip(&values).zip(norms) {
            let low = f64::from(value) * margin.below(f64::from(norm), mean_norm);
            *score = low.mul_add(weight, *score);
        }
        scores
    }
}

/// The score from which rows of a panel go, when `least` is the best one's: part of the way down to
/// their mean. A row just below the best would have its panel looked at again at the next pick.
#[inline(always)]
fn reaching(scores: &[f64; WIDE], least: f64) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for &score in scores {
        let here = score > f64::NEG_INFINITY;
        sum += if here { score } else { 0.0 };
        count += if here { 1.0 } else { 0.0 };
    }
    let gap = DEPTH * (least - sum / count);
    if gap > 0.0 { least - gap } else { least }
}

/// The largest of a panel's numbers.
#[inline(always)]
fn largest<R: Copy + PartialOrd>(numbers: &[R; WIDE]) -> R {
    let larger = |a: R, b: R| if a > b { a } else { b };
    let n: [R; 8] = std::array::from_fn(|j| larger(numbers[j], numbers[j + 8]));
    let n: [R; 4] = std::array::from_fn(|j| larger(n[j], n[j + 4]));
    larger(larger(n[0], n[2]), larger(n[1], n[3]))
}
