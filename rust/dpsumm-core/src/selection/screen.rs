//! The picks of [`super::lazy`], from looking at all points in f32 and at few of them in f64.
//!
//! All rows start in [`super::far`], where a bound on the score takes one product now and then. Those
//! that it cannot tell from the best move to [`super::near`], which knows every kernel value.

use rayon::prelude::*;

use super::far::{EARLY, Far};
use super::lazy::Best;
use super::moments::{Bound, Moments};
use super::near::{Found, Near, PICKS};
use super::{Scores, Tally};
use crate::error::Result;
use crate::kernel::{Margin, PANEL, Packed, Single, WIDE, origin, row_values, single_values};
use crate::points::{Points, Scalar};
use crate::simd::{Hot, dispatch};

/// Panels per parallel task, at least.
const TASK: usize = 32;
/// Moments bound attractions if the target has so many rows for each column: they take twice as many
/// operations a column as a row of the target does, and may be of no use.
const ROWS_FOR_MOMENTS: usize = 6;

/// What both kinds of rows read.
pub(super) struct Shared<'a, T> {
    pub(super) points: &'a Points<'a, T>,
    pub(super) origin: Vec<f64>,
    pub(super) gamma: f64,
    /// Gives the attractions, if they are not known from the start.
    pub(super) target: Option<Target>,
    pub(super) single: Single,
    pub(super) margin: Margin,
    pub(super) picked: Packed,
    /// The picks in f32: one by one, as rows of tiles and as columns.
    pub(super) picked_rows: Single,
    pub(super) picked_tiles: Single,
    pub(super) picked_columns: Single,
    /// Sum of the squared norms of the first t picks, for t = 0, 1, ..
    pub(super) picked_norms: Vec<f64>,
    pub(super) largest_pick: f64,
    pub(super) picks: usize,
}

/// The target, packed in f64 as [`crate::kernel::kernel_means`] does it, and in f32.
pub(super) struct Target {
    columns: Packed,
    origin: Vec<f64>,
    pub(super) len: usize,
    pub(super) single: Single,
    /// Sum of the squared norms, and the largest.
    pub(super) norms: f64,
    pub(super) largest: f64,
    /// Whether the rows far away have only moments for a bound.
    pub(super) loose: bool,
}

/// Scores of all points, in f64 where it matters.
pub(super) struct Screened<'a, T> {
    shared: Shared<'a, T>,
    far: Far,
    near: Near,
    tally: Tally,
    found: Found,
}

impl<'a, T: Scalar> Screened<'a, T> {
    /// Start with nothing picked; none if f32 cannot tell the points apart well enough.
    pub(super) fn new(points: &'a Points<'a, T>, attraction: &[f64], gamma: f64) -> Option<Self> {
        let shared = Shared::new(points, gamma)?;
        let panel = |given: &[f64]| {
            let mut attraction = [f64::NEG_INFINITY; WIDE];
            attraction[..given.len()].copy_from_slice(given);
            attraction
        };
        Some(Self::start(shared, attraction.chunks(WIDE).map(panel).collect()))
    }

    fn start(shared: Shared<'a, T>, attraction: Vec<[f64; WIDE]>) -> Self {
        let dim = shared.points.dim();
        Self {
            far: Far::new(attraction, &shared.single, dim),
            shared,
            near: Near::new(dim),
            tally: Tally::default(),
            found: Found::NONE,
        }
    }

    /// Start with nothing picked, towards a target whose attractions need not be known: they are
    /// computed in f64 for rows near the best only. None as in [`Screened::new`].
    pub(super) fn towards(
        points: &'a Points<'a, T>,
        target: &Points<T>,
        gamma: f64,
    ) -> Result<Option<Self>> {
        let Some(mut shared) = Shared::new(points, gamma) else { return Ok(None) };
        let pack = |width| Single::new(target, &shared.origin, gamma, width);
        let (Some(single), Some(tiles)) = (pack(WIDE), pack(PICKS)) else { return Ok(None) };
        // In f64 the target has an origin of its own, the mean of some of its rows. Rounding there
        // is far below the flat margin if no row of it is very far away.
        let largest = tiles.largest_norm();
        if shared.margin.slope * largest > 1.0 {
            return Ok(None);
        }
        let (len, dim) = (target.len(), points.dim());
        let loose = len >= ROWS_FOR_MOMENTS * dim;
        let moments = loose.then(|| Moments::new(&single, len, dim));
        let mut attraction = vec![[f64::NEG_INFINITY; WIDE]; points.len().div_ceil(WIDE)];
        attraction.as_flattened_mut()[..points.len()].fill(0.0);
        let panels = attraction.par_iter_mut().enumerate().with_min_len(TASK);
        panels.try_for_each(|(panel, out)| {
            points.check_stop()?;
            let (columns, margin) = (shared.single.group(panel), shared.margin);
            match &moments {
                Some(moments) => dispatch(Bound { moments, margin, columns, out }),
                None => dispatch(Attract { tiles: &tiles, len, largest, margin, columns, out }),
            }
            Ok(())
        })?;
        let origin = origin(target);
        let columns = Packed::new(target, &origin, PANEL)?;
        let norms = single.sum_of_norms();
        shared.target = Some(Target { columns, origin, len, single, norms, largest, loose });
        Ok(Some(Self::start(shared, attraction)))
    }
}

impl<'a, T: Scalar> Shared<'a, T> {
    fn new(points: &'a Points<'a, T>, gamma: f64) -> Option<Self> {
        let origin = origin(points);
        let dim = points.dim();
        Some(Self {
            single: Single::new(points, &origin, gamma, WIDE)?,
            points,
            origin,
            gamma,
            target: None,
            margin: Margin::new(dim),
            picked: Packed::empty(dim, PANEL),
            picked_rows: Single::empty(dim, 1),
            picked_tiles: Single::empty(dim, PICKS),
            picked_columns: Single::empty(dim, WIDE),
            picked_norms: vec![0.0],
            largest_pick: 0.0,
            picks: 0,
        })
    }

    fn pick(&mut self, row: usize) {
        self.picked.push(self.picks, &Packed::one(self.points, row, &self.origin), 0);
        self.picked_columns.push(self.picks, &self.single, row);
        self.picked_rows.push(self.picks, &self.single, row);
        let norm = self.picked_tiles.push(self.picks, &self.single, row);
        self.picked_norms.push(self.picked_norms[self.picks] + f64::from(norm));
        self.largest_pick = self.largest_pick.max(f64::from(norm));
        self.picks += 1;
    }
}

/// Bound the attractions of a panel from above, by every value.
struct Attract<'a> {
    tiles: &'a Single,
    len: usize,
    largest: f64,
    margin: Margin,
    columns: (&'a [f32], &'a [f32]),
    out: &'a mut [f64; WIDE],
}

impl Hot for Attract<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { tiles, len, largest, margin, columns, out } = self;
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
        let (count, average) = (len as f64, norms / len as f64);
        for ((out, high), &norm) in out.iter_mut().zip(high).zip(columns.1) {
            if *out > f64::NEG_INFINITY {
                *out = margin.above(high / count, f64::from(norm), average, largest);
            }
        }
    }
}

impl Target {
    /// The row's attraction, with the bits that [`crate::kernel::kernel_means`] gives it.
    pub(super) fn attraction<T: Scalar>(
        &self,
        points: &Points<T>,
        row: usize,
        gamma: f64,
    ) -> Result<f64> {
        let row = Packed::from_rows(points, row..row + 1, &self.origin, 1)?;
        let sum = dispatch(RowSum { row: &row, columns: &self.columns, gamma });
        Ok(sum / self.len as f64)
    }
}

/// One of [`crate::kernel::row_sums`], which pay for a tile of rows.
struct RowSum<'a> {
    row: &'a Packed,
    columns: &'a Packed,
    gamma: f64,
}

impl Hot for RowSum<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let mut sums = [0.0; PANEL];
        for values in row_values(self.row, self.columns, 0..self.columns.count(), self.gamma) {
            sums.iter_mut().zip(&values).for_each(|(sum, x)| *sum += x);
        }
        sums.iter().sum()
    }
}

impl<T: Scalar> Scores for Screened<'_, T> {
    fn best(&mut self, weight: f64) -> Result<Option<Best>> {
        let Self { shared, far, near, found, .. } = self;
        *found = near.best(shared, weight)?;
        // While few rows are near they may all be like the picks, and so poor that every row far away
        // reaches them: copies of one point, when it is picked.
        if shared.picks < EARLY || found.best == Best::NONE {
            let promising = far.first();
            if !promising.is_empty() {
                *found = near.take(shared, &promising, weight, *found)?;
            }
        }
        let rows = far.reaching(shared, weight, found.best.score);
        if !rows.is_empty() {
            *found = near.take(shared, &rows, weight, *found)?;
        }
        Ok((found.best != Best::NONE).then_some(found.best))
    }

    fn pick(&mut self, row: usize) {
        let (attraction, sum) = self.near.pick(self.found.place);
        self.tally.add(row, attraction, sum);
        self.shared.pick(row);
        self.far.pick(&self.shared);
    }

    fn into_picks(self: Box<Self>) -> super::Picks {
        self.tally.picks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::tests::normals;

    /// Scores by plain loops of all rows that are still far away, at every pick.
    #[test]
    fn no_row_far_away_scores_above_the_bound_of_its_panel() -> Result<()> {
        let mut waiting = 0;
        for (n, dim, m, size, gamma, shift) in [
            (700, 30, 200, 150, 0.01, 0.5),
            (700, 30, 100, 150, 0.03, 0.0),
            (300, 3, 60, 100, 0.05, 2.0),
        ] {
            let data = normals(n * dim, 21);
            let target: Vec<f64> = normals(m * dim, 22).iter().map(|x| x + shift).collect();
            let points = Points::new("points", &data, dim)?;
            let target = Points::new("target", &target, dim)?;
            let attraction = crate::kernel::kernel_means(&points, &target, gamma)?;
            let Some(mut scores) = Screened::towards(&points, &target, gamma)? else {
                panic!("points near each other")
            };
            let mut sums = vec![0.0; n];
            for t in 0..size {
                let weight = 1.0 / (t + 1) as f64;
                let best = scores.best(weight)?.expect("enough rows");
                for (row, bound) in scores.far.bounds(t) {
                    let score = attraction[row] - sums[row] * weight;
                    assert!(score <= bound && bound < best.score, "{t} {row}");
                    waiting += 1;
                }
                scores.pick(best.row);
                for (row, sum) in sums.iter_mut().enumerate() {
                    let pairs = points.row(row).iter().zip(points.row(best.row));
                    let square: f64 = pairs.map(|(x, y)| (x - y) * (x - y)).sum();
                    *sum += (-gamma * square).exp();
                }
            }
        }
        assert!(waiting > 2000, "hardly any row was left far away: {waiting}");
        Ok(())
    }

    /// The first pick is one of many copies, which all score little once it is picked.
    #[test]
    fn copies_of_a_pick_bring_few_other_rows_near() -> Result<()> {
        const DIM: usize = 64;
        let mut data = normals(2000 * DIM, 23);
        let target: Vec<f64> = normals(500 * DIM, 24).iter().map(|x| x + 0.5).collect();
        let target = Points::new("target", &target, DIM)?;
        let first = {
            let points = Points::new("points", &data, DIM)?;
            super::super::greedy_towards(&points, &target, 0.002, 1)?.rows[0]
        };
        for copy in 0..800 {
            data.copy_within(first * DIM..(first + 1) * DIM, copy * DIM);
        }
        let points = Points::new("points", &data, DIM)?;
        let mut scores =
            Screened::towards(&points, &target, 0.002)?.expect("points near each other");
        for t in 0..4 {
            let best = scores.best(1.0 / (t + 1) as f64)?.expect("enough rows");
            scores.pick(best.row);
        }
        let far = scores.far.bounds(4).len();
        assert!((600..=1200).contains(&far), "{far} of 1200 rows are far away");
        Ok(())
    }

    /// The picks are copies of one point, so Jensen's bound is exact, and the rows far away lose the
    /// most that rounding can take, in the direction that raises their kernel values.
    #[test]
    fn bounds_have_room_for_what_the_copy_of_16_bits_rounds() -> Result<()> {
        const DIM: usize = 32;
        // One unit of `Single` is 16 here, so that nothing but that copy rounds.
        let gamma = std::f64::consts::LN_2 / 256.0;
        let (mut data, mut attraction) = (Vec::new(), Vec::new());
        for i in 0..256 {
            let row: Vec<f64> = if i < 24 {
                vec![1.0; DIM]
            } else {
                let sign = |k: usize| if (i + k).is_multiple_of(4) { -1.0 } else { 1.0 };
                (0..DIM).map(|k| sign(k) * (1.0 + 1.02 / 256.0)).collect()
            };
            // Mirrored rows, so that the origin does not move, which nobody wants.
            data.extend(row.iter().copied().chain(row.iter().map(|x| -x)));
            attraction.extend([if i < 24 { 1.5 } else { 0.62 }, -5.0]);
        }
        let points = Points::new("points", &data, DIM)?;
        let mut scores = Screened::new(&points, &attraction, gamma).expect("near points");
        let mut seen = 0;
        for t in 0..24 {
            let weight = 1.0 / (t + 1) as f64;
            let best = scores.best(weight)?.expect("enough rows");
            assert_eq!(best.row, 2 * t);
            for (row, bound) in scores.far.bounds(t).into_iter().filter(|(row, _)| row % 2 == 0) {
                let pairs = points.row(row).iter().zip(points.row(0));
                let square: f64 = pairs.map(|(x, y)| (x - y) * (x - y)).sum();
                let score = attraction[row] - t as f64 * weight * (-gamma * square).exp();
                assert!(score <= bound, "{t} {row} {score} {bound}");
                seen += usize::from(t >= 10 && bound < 0.5);
            }
            scores.pick(best.row);
        }
        assert!(seen > 100, "hardly any row was looked at: {seen}");
        Ok(())
    }
}
