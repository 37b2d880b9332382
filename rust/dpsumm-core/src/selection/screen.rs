//! The picks of [`super::lazy`], from looking at all points in f32 and at few of them in f64.
//!
//! Each row has a proven lower bound on its sum c of kernel values in f64 ([`crate::kernel`],
//! `single`): the sum in f32 minus its margin, over the picks looked at so far; the values missed
//! are positive. A target's attraction is bounded from above in the same way. Hence an upper bound on its score, also after rounding, which is monotone. Only
//! rows whose bound reaches the best score known in f64 get their own score in f64, by the same
//! operations in the same order as in [`super::lazy`]: same picks, same bits.

use rayon::prelude::*;

use super::lazy::Best;
use super::{Scores, Tally};
use crate::error::Result;
use crate::kernel::{
    Margin, PANEL, Packed, Single, WIDE, kernel_values, origin, row_sums, single_values,
};
use crate::points::{Points, Scalar};
use crate::product::TILE;
use crate::simd::{Hot, dispatch, prefetch};

/// Picks that are multiplied with a panel at once, as in [`super::lazy`].
const PICKS: usize = 4;
/// Panels per parallel task.
const TASK: usize = 128;

/// What the bounds of sixteen rows need.
struct Bounds {
    /// At least the attractions in f64. Minus infinity for rows that may not be picked (any more).
    attraction: [f64; WIDE],
    /// At most the sums of kernel values in f64.
    low: [f64; WIDE],
    /// Picks that `low` knows.
    seen: usize,
}

/// A row's sum of kernel values with the first `seen` picks, in f64, and whether its attraction is
/// more than a bound.
#[derive(Debug, Clone, Copy)]
struct Known {
    sum: f64,
    seen: usize,
    attracted: bool,
}

/// What a search reads.
struct Shared<'a, T> {
    points: &'a Points<'a, T>,
    origin: Vec<f64>,
    gamma: f64,
    /// Gives the attractions, if they are not known from the start.
    target: Option<Target>,
    single: Single,
    margin: Margin,
    picked: Packed,
    picked_single: Single,
    /// Sum of the squared norms of the first t picks, for t = 0, 1, ..
    picked_norms: Vec<f64>,
    picks: usize,
}

/// The target, packed as [`crate::kernel::kernel_means`] does it.
struct Target {
    columns: Packed,
    origin: Vec<f64>,
    len: usize,
}

/// Scores of all points, in f64 where it matters.
pub(super) struct Screened<'a, T> {
    shared: Shared<'a, T>,
    bounds: Vec<Bounds>,
    known: Vec<Known>,
    tally: Tally,
    /// The most promising panel of each task of the last search.
    promising: Vec<usize>,
}

impl<'a, T: Scalar> Screened<'a, T> {
    /// Start with nothing picked; none if f32 cannot tell the points apart well enough.
    pub(super) fn new(points: &'a Points<'a, T>, attraction: &[f64], gamma: f64) -> Option<Self> {
        let origin = origin(points);
        let single = Single::new(points, &origin, gamma, WIDE)?;
        let bounds = |attractions: &[f64]| {
            let mut attraction = [f64::NEG_INFINITY; WIDE];
            attraction[..attractions.len()].copy_from_slice(attractions);
            Bounds { attraction, low: [0.0; WIDE], seen: 0 }
        };
        let dim = points.dim();
        Some(Self {
            bounds: attraction.chunks(WIDE).map(bounds).collect(),
            known: vec![
                Known { sum: 0.0, seen: 0, attracted: true };
                attraction.len().next_multiple_of(WIDE)
            ],
            shared: Shared {
                points,
                origin,
                gamma,
                target: None,
                single,
                margin: Margin::new(dim),
                picked: Packed::empty(dim, PANEL),
                picked_single: Single::empty(dim, PICKS),
                picked_norms: vec![0.0],
                picks: 0,
            },
            tally: Tally::default(),
            promising: Vec::new(),
        })
    }
}

impl<'a, T: Scalar> Screened<'a, T> {
    /// Start with nothing picked, towards a target whose attractions need not be known: they are
    /// computed in f64 for rows near the best only. None as in [`Screened::new`].
    pub(super) fn towards(
        points: &'a Points<'a, T>,
        target: &Points<T>,
        gamma: f64,
    ) -> Result<Option<Self>> {
        let Some(mut made) = Self::new(points, &vec![0.0; points.len()], gamma) else {
            return Ok(None);
        };
        let shared = &mut made.shared;
        let Some(tiles) = Single::new(target, &shared.origin, gamma, PICKS) else {
            return Ok(None);
        };
        // In f64 the target has an origin of its own, the mean of some of its rows. Rounding there
        // is far below the flat margin if no row of it is very far away.
        if shared.margin.slope * tiles.largest_norm() > 1.0 {
            return Ok(None);
        }
        let own = origin(target);
        let columns = Packed::new(target, &own, PANEL)?;
        shared.target = Some(Target { columns, origin: own, len: target.len() });
        let (shared, tiles, len) = (&made.shared, &tiles, target.len());
        let panels = made.bounds.par_iter_mut().zip(made.known.par_chunks_mut(WIDE)).enumerate();
        panels.with_min_len(TASK / 4).try_for_each(|(panel, (bounds, known))| {
            points.check_stop()?;
            dispatch(Attract { shared, tiles, len, bounds, panel });
            known.iter_mut().for_each(|known| known.attracted = false);
            Ok(())
        })?;
        Ok(Some(made))
    }
}

/// Bound the attractions of a panel from above.
struct Attract<'a, 's, T> {
    shared: &'a Shared<'s, T>,
    tiles: &'a Single,
    len: usize,
    bounds: &'a mut Bounds,
    panel: usize,
}

impl<T: Scalar> Hot for Attract<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { shared, tiles, len, bounds, panel } = self;
        let columns = shared.single.group(panel);
        let mut values = [[0.0; WIDE]; PICKS];
        let mut high = [0.0; WIDE];
        let mut norms = 0.0;
        for group in 0..len.div_ceil(PICKS) {
            let tile = tiles.group(group);
            single_values::<PICKS>(tile, columns, &mut values);
            let mut sums = [0.0f32; WIDE];
            // All but the last tile are full.
            for values in values.iter().take(len - group * PICKS) {
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
            high.iter_mut().zip(sums).for_each(|(high, sum)| *high += f64::from(sum));
            norms += tile.1.iter().map(|&norm| f64::from(norm)).sum::<f64>();
        }
        let flat = Margin::FLAT + shared.margin.slope * norms / len as f64;
        for ((attraction, high), &norm) in bounds.attraction.iter_mut().zip(high).zip(columns.1) {
            if *attraction > f64::NEG_INFINITY {
                *attraction = high / len as f64 + flat + shared.margin.slope * f64::from(norm);
            }
        }
    }
}

impl Target {
    /// The row's attraction, with the bits that [`crate::kernel::kernel_means`] gives it.
    fn attraction<T: Scalar>(&self, points: &Points<T>, row: usize, gamma: f64) -> Result<f64> {
        let row = Packed::from_rows(points, row..row + 1, &self.origin, TILE)?;
        let sums = row_sums(&row, &self.columns, 0..self.columns.count(), gamma);
        Ok(sums[0] / self.len as f64)
    }
}

impl<T: Scalar> Scores for Screened<'_, T> {
    fn best(&mut self, weight: f64) -> Result<Option<Best>> {
        let Self { shared, bounds, known, promising, .. } = self;
        // The best of last time's runners-up is a high score to beat.
        let mut start = Best::NONE;
        for &p in &*promising {
            dispatch(Update { shared, bounds: &mut bounds[p], panel: p });
            start = start.or(bounds[p].top(weight, p * WIDE));
        }
        if start.row != usize::MAX {
            let (p, j) = (start.row / WIDE, start.row % WIDE);
            start.score = shared.exact(&mut bounds[p], &mut known[start.row], p, j, weight)?;
        }
        let tasks = bounds.par_chunks_mut(TASK).zip(known.par_chunks_mut(TASK * WIDE)).enumerate();
        let search = |(task, (bounds, known))| {
            dispatch(Search { shared: &*shared, weight, first: task * TASK, bounds, known, start })
        };
        let found: Vec<(Best, usize)> = tasks.map(search).collect::<Result<_>>()?;
        promising.clear();
        promising.extend(found.iter().map(|found| found.1).filter(|&panel| panel != usize::MAX));
        let best = found.into_iter().fold(start, |best, found| best.or(found.0));
        Ok((best.row != usize::MAX).then_some(best))
    }

    fn pick(&mut self, row: usize) {
        let Self { shared, bounds, known, tally, .. } = self;
        let attraction = &mut bounds[row / WIDE].attraction[row % WIDE];
        tally.add(row, *attraction, known[row].sum);
        *attraction = f64::NEG_INFINITY;
        let exact = Packed::one(shared.points, row, &shared.origin);
        shared.picked.push(shared.picks, &exact, 0);
        let norm = shared.picked_single.push(shared.picks, &shared.single, row);
        shared.picked_norms.push(shared.picked_norms[shared.picks] + f64::from(norm));
        shared.picks += 1;
    }

    fn into_picks(self: Box<Self>) -> super::Picks {
        self.tally.picks
    }
}

impl Bounds {
    /// No row has a larger score than this.
    #[inline(always)]
    fn high(&self, weight: f64) -> [f64; WIDE] {
        std::array::from_fn(|j| (-self.low[j]).mul_add(weight, self.attraction[j]))
    }

    #[inline(always)]
    fn bound(&self, weight: f64) -> f64 {
        let high = self.high(weight);
        let larger = |a: f64, b: f64| if a > b { a } else { b };
        let half: [f64; 4] = std::array::from_fn(|j| {
            larger(larger(high[j], high[j + 4]), larger(high[j + 8], high[j + 12]))
        });
        half.into_iter().fold(f64::NEG_INFINITY, larger)
    }

    /// The row with the largest bound; the panel's first row is `row`.
    #[inline(always)]
    fn top(&self, weight: f64, row: usize) -> Best {
        let high = self.high(weight).into_iter().enumerate();
        let left = high.filter(|(_, score)| *score > f64::NEG_INFINITY);
        left.fold(Best::NONE, |best, (j, score)| best.or(Best { score, row: row + j }))
    }
}

impl<T: Scalar> Shared<'_, T> {
    /// Make the bounds of a panel know all picks.
    #[inline(always)]
    fn update(&self, bounds: &mut Bounds, panel: usize) {
        let columns = self.single.group(panel);
        let mut values = [[0.0; WIDE]; PICKS];
        while bounds.seen < self.picks {
            let group = bounds.seen / PICKS;
            let end = self.picks.min((group + 1) * PICKS);
            single_values::<PICKS>(self.picked_single.group(group), columns, &mut values);
            let mut sums = [0.0f32; WIDE];
            for values in &values[bounds.seen % PICKS..=(end - 1) % PICKS] {
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
            let count = (end - bounds.seen) as f64;
            let norms = self.picked_norms[end] - self.picked_norms[bounds.seen];
            let flat = count * Margin::FLAT + self.margin.slope * norms;
            let slope = self.margin.slope * count;
            for ((low, sum), &norm) in bounds.low.iter_mut().zip(sums).zip(columns.1) {
                *low += f64::from(sum) - f64::from(norm).mul_add(slope, flat);
            }
            bounds.seen = end;
        }
    }

    /// Row j's score in f64; its sum also becomes its bound. The panel is up to date.
    fn exact(
        &self,
        bounds: &mut Bounds,
        known: &mut Known,
        panel: usize,
        j: usize,
        weight: f64,
    ) -> Result<f64> {
        let row = panel * WIDE + j;
        let packed = Packed::one(self.points, row, &self.origin);
        dispatch(Exact {
            row: &packed,
            picked: &self.picked,
            gamma: self.gamma,
            known,
            picks: self.picks,
        });
        bounds.low[j] = known.sum;
        if let (Some(target), false) = (&self.target, known.attracted) {
            bounds.attraction[j] = target.attraction(self.points, row, self.gamma)?;
            known.attracted = true;
        }
        Ok((-known.sum).mul_add(weight, bounds.attraction[j]))
    }
}

/// Add the kernel values of the picks missed, each in its turn.
struct Exact<'a> {
    row: &'a Packed,
    picked: &'a Packed,
    gamma: f64,
    known: &'a mut Known,
    picks: usize,
}

impl Hot for Exact<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { row, picked, gamma, known, picks } = self;
        let mut values = [[0.0; PANEL]];
        while known.seen < picks {
            let group = known.seen / PANEL;
            let end = picks.min((group + 1) * PANEL);
            kernel_values::<1>(row.group(0), picked.group(group), gamma, &mut values);
            let missed = &values[0][known.seen % PANEL..=(end - 1) % PANEL];
            missed.iter().for_each(|value| known.sum += value);
            known.seen = end;
        }
    }
}

struct Update<'a, 's, T> {
    shared: &'a Shared<'s, T>,
    bounds: &'a mut Bounds,
    panel: usize,
}

impl<T: Scalar> Hot for Update<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.shared.update(self.bounds, self.panel);
    }
}

/// Search a run of panels, starting at panel `first`, for a row better than `start`.
struct Search<'a, 's, T> {
    shared: &'a Shared<'s, T>,
    weight: f64,
    first: usize,
    bounds: &'a mut [Bounds],
    known: &'a mut [Known],
    start: Best,
}

impl<T: Scalar> Hot for Search<'_, '_, T> {
    /// The best row, and the panel with the largest bound of those brought up to date.
    type Output = Result<(Best, usize)>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { shared, weight, first, bounds, known, start } = self;
        let mut best = start;
        let mut promising = Best::NONE;
        // Listed beforehand, as in `lazy`.
        let mut due = [0; TASK];
        let mut n_due = 0;
        for (p, bounds) in bounds.iter().enumerate() {
            due[n_due] = p;
            n_due += usize::from(bounds.bound(weight) >= best.score);
        }
        for (i, &p) in due[..n_due].iter().enumerate() {
            if let Some(&next) = due[..n_due].get(i + 1) {
                prefetch(shared.single.group(first + next).0);
            }
            let bounds = &mut bounds[p];
            shared.update(bounds, first + p);
            let top = bounds.top(weight, (first + p) * WIDE);
            promising = promising.or(top);
            if top.score < best.score {
                continue;
            }
            for j in 0..WIDE {
                let high = bounds.high(weight)[j];
                if high >= best.score && bounds.attraction[j] > f64::NEG_INFINITY {
                    let known = &mut known[p * WIDE + j];
                    let score = shared.exact(bounds, known, first + p, j, weight)?;
                    best = best.or(Best { score, row: (first + p) * WIDE + j });
                }
            }
        }
        let panel = if promising.row == usize::MAX { usize::MAX } else { promising.row / WIDE };
        Ok((best, panel))
    }
}
