//! Rows that may be the best: bounds on their scores from f32, and their scores in f64.
//!
//! Each row has a proven lower bound on its sum c of kernel values in f64 ([`crate::kernel`],
//! `single`): the sum in f32 less its margin, over the picks looked at so far; the values missed
//! are positive. A target's attraction is bounded from above in the same way. Hence an upper bound on
//! its score, also after rounding, which is monotone. Only rows whose bound reaches the best score
//! known in f64 get their own score in f64, by the same operations in the same order as in
//! [`super::lazy`]: same picks, same bits.
//!
//! Equal rows with equal attractions have equal scores, to the last bit, so they have one place here;
//! it stands for the first of them that is not picked.

use std::collections::{BTreeSet, HashMap};

use rayon::prelude::*;

use super::far;
use super::lazy::Best;
use super::screen::Shared;
use crate::error::Result;
use crate::kernel::{PANEL, Packed, Single, WIDE, row_values, single_values};
use crate::points::Scalar;
use crate::simd::{Hot, dispatch, prefetch};

/// Picks that are multiplied with a panel at once, as in [`super::lazy`]; rows of a tile.
pub(super) const PICKS: usize = 4;
/// Panels per parallel task.
const TASK: usize = 128;

/// What the bounds of sixteen rows need.
struct Bounds {
    /// At least the attractions in f64. Minus infinity for places of which no row is left.
    attraction: [f64; WIDE],
    /// At most the sums of kernel values in f64.
    low: [f64; WIDE],
    /// Picks that `low` knows.
    seen: usize,
}

/// A row's sum of kernel values with the first `seen` picks, in f64, and its attraction, which may be
/// a bound until it is `attracted`.
#[derive(Debug, Clone, Copy)]
struct Known {
    /// The first row that this place stands for.
    row: usize,
    sum: f64,
    seen: usize,
    attraction: f64,
    attracted: bool,
}

/// The best row of a search, and its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) best: Best,
    pub(super) place: usize,
}

impl Found {
    pub(super) const NONE: Self = Self { best: Best::NONE, place: usize::MAX };

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        if self.best.or(other.best) == self.best { self } else { other }
    }
}

/// Rows that were near the best once.
pub(super) struct Near {
    /// In f32, place after place.
    single: Single,
    bounds: Vec<Bounds>,
    known: Vec<Known>,
    /// A place of rows with the same hash.
    places: HashMap<u64, usize>,
    /// All rows left of places that stand for several.
    copies: HashMap<usize, BTreeSet<usize>>,
    /// The most promising panel of each task of the last search.
    promising: Vec<usize>,
}

impl Near {
    /// No rows.
    pub(super) fn new(dim: usize) -> Self {
        Self {
            single: Single::empty(dim, WIDE),
            bounds: Vec::new(),
            known: Vec::new(),
            places: HashMap::new(),
            copies: HashMap::new(),
            promising: Vec::new(),
        }
    }

    /// Find the best row of all.
    pub(super) fn best<T: Scalar>(&mut self, shared: &Shared<T>, weight: f64) -> Result<Found> {
        // The best of last time's runners-up is a high score to beat.
        let mut start = Found::NONE;
        for &p in &self.promising {
            let (single, bounds) = (&self.single, &mut self.bounds[p]);
            dispatch(Update { shared, single, bounds, panel: p });
            let (score, j) = bounds.top(weight);
            if score > start.best.score {
                start = Found { best: Best { score, row: 0 }, place: p * WIDE + j };
            }
        }
        if let Some(known) = self.known.get_mut(start.place) {
            let (p, j) = (start.place / WIDE, start.place % WIDE);
            let score = shared.exact(&mut self.bounds[p], known, j, weight)?;
            start.best = Best { score, row: known.row };
        }
        self.search(shared, weight, 0, start)
    }

    /// Find the best row of `start` and the panels from `first` on.
    fn search<T: Scalar>(
        &mut self,
        shared: &Shared<T>,
        weight: f64,
        first: usize,
        start: Found,
    ) -> Result<Found> {
        let single = &self.single;
        let bounds = self.bounds[first..].par_chunks_mut(TASK);
        let known = self.known[first * WIDE..].par_chunks_mut(TASK * WIDE);
        let search = |(task, (bounds, known))| {
            let first = first + task * TASK;
            dispatch(Search { shared, single, weight, first, bounds, known, start })
        };
        let found: Vec<(Found, usize)> =
            bounds.zip(known).enumerate().map(search).collect::<Result<_>>()?;
        if first == 0 {
            self.promising.clear();
        }
        let panels = found.iter().map(|found| found.1).filter(|&panel| panel != usize::MAX);
        self.promising.extend(panels);
        Ok(found.into_iter().fold(start, |best, found| best.or(found.0)))
    }

    /// Take in rows, and find the best of them and `start`.
    pub(super) fn take<T: Scalar>(
        &mut self,
        shared: &Shared<T>,
        rows: &[far::Near],
        weight: f64,
        start: Found,
    ) -> Result<Found> {
        let mut fresh = Vec::with_capacity(rows.len());
        let mut first = self.bounds.len();
        let old = self.known.len();
        for row in rows {
            match self.place_of(shared, row) {
                Some(place) => {
                    self.join(place, row.row, place < old);
                    first = first.min(place / WIDE);
                }
                None => {
                    // The place that it is going to have.
                    self.register(shared, row, self.known.len());
                    self.known.push(Known {
                        row: row.row,
                        sum: 0.0,
                        seen: 0,
                        attraction: row.attraction,
                        attracted: shared.target.is_none(),
                    });
                    fresh.push(self.known.len() - 1);
                }
            }
        }
        let tiles: Vec<([f64; PICKS], [f64; PICKS])> = fresh
            .par_chunks(PICKS)
            .map(|places| {
                shared.points.check_stop()?;
                Ok(dispatch(Arrive { shared, known: &self.known, places }))
            })
            .collect::<Result<_>>()?;
        for (places, (attraction, low)) in fresh.chunks(PICKS).zip(tiles) {
            for ((&place, attraction), low) in places.iter().zip(attraction).zip(low) {
                let known = &mut self.known[place];
                known.attraction = attraction;
                first = first.min(place / WIDE);
                self.single.push(place, &shared.single, known.row);
                if place.is_multiple_of(WIDE) {
                    let attraction = [f64::NEG_INFINITY; WIDE];
                    self.bounds.push(Bounds { attraction, low: [0.0; WIDE], seen: shared.picks });
                }
                let (p, j) = (place / WIDE, place % WIDE);
                let (single, bounds) = (&self.single, &mut self.bounds[p]);
                if bounds.seen < shared.picks {
                    dispatch(Update { shared, single, bounds, panel: p });
                }
                bounds.attraction[j] = attraction;
                bounds.low[j] = low;
            }
        }
        self.search(shared, weight, first, start)
    }

    /// The place of rows that are equal to this one, and attracted as much.
    fn place_of<T: Scalar>(&self, shared: &Shared<T>, row: &far::Near) -> Option<usize> {
        let place = *self.places.get(&hash(shared, row))?;
        let known = &self.known[place];
        let bits = |row: usize| shared.points.row(row).iter().map(|x| x.to_f64().to_bits());
        let attracted =
            shared.target.is_some() || known.attraction.to_bits() == row.attraction.to_bits();
        (attracted && bits(known.row).eq(bits(row.row))).then_some(place)
    }

    fn register<T: Scalar>(&mut self, shared: &Shared<T>, row: &far::Near, place: usize) {
        self.places.entry(hash(shared, row)).or_insert(place);
    }

    /// Let a place, which may be an old one, stand for one more row.
    fn join(&mut self, place: usize, row: usize, old: bool) {
        let known = &mut self.known[place];
        let copies = self.copies.entry(place).or_default();
        if old && self.bounds[place / WIDE].attraction[place % WIDE] == f64::NEG_INFINITY {
            // All its rows were picked.
            self.bounds[place / WIDE].attraction[place % WIDE] = known.attraction;
        } else {
            copies.insert(known.row);
        }
        copies.insert(row);
        known.row = copies.first().copied().unwrap_or(row);
    }

    /// Pick the row of a place, whose score is known; return its attraction and its sum.
    pub(super) fn pick(&mut self, place: usize) -> (f64, f64) {
        let known = &mut self.known[place];
        let picked = (known.attraction, known.sum);
        let left = self.copies.get_mut(&place).and_then(|copies| {
            copies.remove(&known.row);
            copies.first()
        });
        match left {
            Some(&row) => known.row = row,
            None => self.bounds[place / WIDE].attraction[place % WIDE] = f64::NEG_INFINITY,
        }
        picked
    }
}

/// Of the bits of a row, and of its attraction if that was given.
fn hash<T: Scalar>(shared: &Shared<T>, row: &far::Near) -> u64 {
    /// An odd number without pattern.
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let start = if shared.target.is_none() { row.attraction.to_bits() } else { 0 };
    shared
        .points
        .row(row.row)
        .iter()
        .fold(start, |hash, x| (hash.rotate_left(5) ^ x.to_f64().to_bits()).wrapping_mul(MIX))
}

impl Bounds {
    /// No row has a larger score than this.
    #[inline(always)]
    fn high(&self, weight: f64) -> [f64; WIDE] {
        std::array::from_fn(|j| (-self.low[j]).mul_add(weight, self.attraction[j]))
    }

    /// Whether a row may have such a score.
    #[inline(always)]
    fn reaches(&self, weight: f64, score: f64) -> bool {
        self.high(weight).iter().fold(false, |any, &high| any | (high >= score))
    }

    /// The largest bound, and whose it is.
    #[inline(always)]
    fn top(&self, weight: f64) -> (f64, usize) {
        let high = self.high(weight).into_iter().enumerate();
        high.fold(
            (f64::NEG_INFINITY, 0),
            |top, (j, score)| {
                if score > top.0 { (score, j) } else { top }
            },
        )
    }

    /// Make the bounds of a panel know all picks.
    #[inline(always)]
    fn update<T>(&mut self, shared: &Shared<T>, columns: (&[f32], &[f32])) {
        let mut values = [[0.0; WIDE]; PICKS];
        while self.seen < shared.picks {
            let group = self.seen / PICKS;
            let end = shared.picks.min((group + 1) * PICKS);
            let mut sums = [0.0f32; WIDE];
            let mut largest = 0.0f32;
            if end == self.seen + 1 {
                let row = shared.picked_rows.group(self.seen);
                single_values::<1>(row, columns, std::array::from_mut(&mut sums));
                largest = row.1[0];
            } else {
                let tile = shared.picked_tiles.group(group);
                single_values::<PICKS>(tile, columns, &mut values);
                for values in &values[self.seen % PICKS..=(end - 1) % PICKS] {
                    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                }
                largest = tile.1.iter().copied().fold(largest, f32::max);
            }
            let largest = f64::from(largest);
            for ((low, sum), &norm) in self.low.iter_mut().zip(sums).zip(columns.1) {
                let factor = shared.margin.below(f64::from(norm), largest);
                *low = f64::from(sum).mul_add(factor, *low);
            }
            self.seen = end;
        }
    }
}

impl<T: Scalar> Shared<'_, T> {
    /// Score j of a panel in f64; its sum also becomes its bound. The panel is up to date.
    fn exact(&self, bounds: &mut Bounds, known: &mut Known, j: usize, weight: f64) -> Result<f64> {
        let (picked, gamma, picks) = (&self.picked, self.gamma, self.picks);
        let row = Packed::one(self.points, known.row, &self.origin);
        dispatch(Exact { row: &row, picked, gamma, known, picks });
        bounds.low[j] = known.sum;
        if let (Some(target), false) = (&self.target, known.attracted) {
            known.attraction = target.attraction(self.points, known.row, gamma)?;
            known.attracted = true;
            bounds.attraction[j] = known.attraction;
        }
        Ok((-known.sum).mul_add(weight, bounds.attraction[j]))
    }
}

/// Bound the attractions and the sums of up to four new places.
struct Arrive<'a, 's, T> {
    shared: &'a Shared<'s, T>,
    known: &'a [Known],
    places: &'a [usize],
}

impl<T: Scalar> Hot for Arrive<'_, '_, T> {
    type Output = ([f64; PICKS], [f64; PICKS]);

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { shared, known, places } = self;
        let mut tile = Single::empty(shared.points.dim(), PICKS);
        let (mut attraction, mut low, mut norms) = ([0.0; PICKS], [0.0; PICKS], [0.0; PICKS]);
        for (i, &place) in places.iter().enumerate() {
            norms[i] = f64::from(tile.push(i, &shared.single, known[place].row));
            attraction[i] = known[place].attraction;
        }
        let margin = shared.margin;
        if let Some(target) = shared.target.as_ref().filter(|target| target.loose) {
            let count = target.len as f64;
            let sums = row_sums(tile.group(0), &target.single, target.len);
            for i in 0..PICKS {
                let mean = sums[i] / count;
                attraction[i] = margin.above(mean, norms[i], target.norms / count, target.largest);
            }
        }
        let sums = row_sums(tile.group(0), &shared.picked_columns, shared.picks);
        for i in 0..PICKS {
            low[i] = sums[i] * margin.below(norms[i], shared.largest_pick);
        }
        (attraction, low)
    }
}

/// Sums in f32, each over the values of a tile's row with the first `len` columns.
#[inline(always)]
fn row_sums(tile: (&[f32], &[f32]), columns: &Single, len: usize) -> [f64; PICKS] {
    /// As many values are added in f32 as the margin has room for.
    const RUN: usize = 4;
    let mut values = [[0.0; WIDE]; PICKS];
    let mut sums = [[0.0; WIDE]; PICKS];
    let mut run = [[0.0f32; WIDE]; PICKS];
    for panel in 0..len.div_ceil(WIDE) {
        single_values::<PICKS>(tile, columns.group(panel), &mut values);
        let left = len - panel * WIDE;
        if left < WIDE {
            values.iter_mut().for_each(|values| values[left..].fill(0.0));
        }
        let pairs = run.as_flattened_mut().iter_mut().zip(values.as_flattened());
        pairs.for_each(|(sum, value)| *sum += value);
        if panel % RUN == RUN - 1 || left <= WIDE {
            let pairs = sums.as_flattened_mut().iter_mut().zip(run.as_flattened());
            pairs.for_each(|(sum, run): (&mut f64, _)| *sum += f64::from(*run));
            run = [[0.0; WIDE]; PICKS];
        }
    }
    sums.map(|lanes| lanes.iter().sum())
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
        let groups = known.seen / PANEL..picks.div_ceil(PANEL);
        let skipped = groups.start * PANEL;
        let values = row_values(row, picked, groups, gamma);
        let missed = &values.as_flattened()[known.seen - skipped..picks - skipped];
        missed.iter().for_each(|value| known.sum += value);
        known.seen = picks;
    }
}

struct Update<'a, 's, T> {
    shared: &'a Shared<'s, T>,
    single: &'a Single,
    bounds: &'a mut Bounds,
    panel: usize,
}

impl<T: Scalar> Hot for Update<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.bounds.update(self.shared, self.single.group(self.panel));
    }
}

/// Search a run of panels, starting at panel `first`, for a row better than `start`.
struct Search<'a, 's, T> {
    shared: &'a Shared<'s, T>,
    single: &'a Single,
    weight: f64,
    first: usize,
    bounds: &'a mut [Bounds],
    known: &'a mut [Known],
    start: Found,
}

impl<T: Scalar> Hot for Search<'_, '_, T> {
    /// The best row, and the panel with the largest bound of those brought up to date.
    type Output = Result<(Found, usize)>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { shared, single, weight, first, bounds, known, start } = self;
        let mut best = start;
        let mut promising = (f64::NEG_INFINITY, usize::MAX);
        // Listed beforehand, as in `lazy`.
        let mut due = [0; TASK];
        let mut n_due = 0;
        for (p, bounds) in bounds.iter().enumerate() {
            due[n_due] = p;
            n_due += usize::from(bounds.reaches(weight, best.best.score));
        }
        for (i, &p) in due[..n_due].iter().enumerate() {
            if let Some(&next) = due[..n_due].get(i + 1) {
                // The processor fetches neighbours by itself.
                if next > p + 1 {
                    prefetch(single.group(first + next).0);
                }
            }
            let bounds = &mut bounds[p];
            bounds.update(shared, single.group(first + p));
            if bounds.reaches(weight, promising.0) {
                promising = (bounds.top(weight).0, first + p);
            }
            if !bounds.reaches(weight, best.best.score) {
                continue;
            }
            for j in 0..WIDE {
                let high = bounds.high(weight)[j];
                if high >= best.best.score && bounds.attraction[j] > f64::NEG_INFINITY {
                    let known = &mut known[p * WIDE + j];
                    let score = shared.exact(bounds, known, j, weight)?;
                    let place = (first + p) * WIDE + j;
                    best = best.or(Found { best: Best { score, row: known.row }, place });
                }
            }
        }
        Ok((best, promising.1))
    }
}
