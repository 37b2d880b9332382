//! Secret products of one-hot matrices, mixtures of products, logistic models of codes.

use dpsumm_core::Error;
use dpsumm_core::error::check_room;
use dpsumm_core::rng::Source;
use dpsumm_core::vertical::mixture::{self, Settings, Tables};
use dpsumm_core::vertical::pad::{Key, Use, Word, fill};
use dpsumm_core::vertical::ring::{self, OneHot};
use dpsumm_core::vertical::softmax::{self, Codes, Wanted};
use numpy::{
    Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, ToPyArray,
};
use pyo3::prelude::*;

use crate::arrays::{rows, vector};
use crate::errors::{CoreError, key_of};
use crate::run::detached;

const SAMPLE: u64 = 0x7361_6d70;

/// A matrix of words of either ring.
#[derive(FromPyObject)]
pub enum AnyWords<'py> {
    #[pyo3(transparent, annotation = "uint32 array of two dimensions")]
    W32(PyReadonlyArray2<'py, u32>),
    #[pyo3(transparent, annotation = "uint64 array of two dimensions")]
    W64(PyReadonlyArray2<'py, u64>),
}

type Matrix<'py> = PyResult<Bound<'py, PyAny>>;

fn matrix<'py, W: Word + Element>(py: Python<'py>, words: &[W], width: usize) -> Matrix<'py> {
    let shape = [words.len() / width.max(1), width];
    Ok(words.to_pyarray(py).reshape(shape)?.into_any())
}

fn masked_in<'py, W: Word + Element>(
    py: Python<'py>,
    codes: &PyReadonlyArray2<'py, u32>,
    width: usize,
    key: &Key,
    first_row: u64,
) -> Matrix<'py> {
    let (codes, columns) = rows(codes);
    let words = detached(py, |_| {
        let x = OneHot::new(&codes, columns, width)?;
        check_room::<W>("codes", x.rows(), width)?;
        let mut out = vec![W::ZERO; x.rows() * width];
        ring::mask(x, key, first_row, &mut out)?;
        Ok(out)
    })?;
    matrix(py, &words, width)
}

#[pyfunction]
pub fn pad_mask<'py>(
    py: Python<'py>,
    codes: PyReadonlyArray2<'py, u32>,
    width: usize,
    key: &[u8],
    first_row: u64,
    ring: u32,
) -> Matrix<'py> {
    let key = key_of(key)?;
    match ring {
        32 => masked_in::<u32>(py, &codes, width, key, first_row),
        _ => masked_in::<u64>(py, &codes, width, key, first_row),
    }
}

fn scatter_in<'py, W: Word + Element>(
    py: Python<'py>,
    codes: &PyReadonlyArray2<'py, u32>,
    width: usize,
    masked: &PyReadonlyArray2<'py, W>,
) -> Matrix<'py> {
    let (codes, columns) = rows(codes);
    let (masked, right) = rows(masked);
    let words =
        detached(py, |_| Ok(ring::scatter(OneHot::new(&codes, columns, width)?, &masked, right)?))?;
    matrix(py, &words, right)
}

#[pyfunction]
pub fn one_hot_product<'py>(
    py: Python<'py>,
    codes: PyReadonlyArray2<'py, u32>,
    width: usize,
    masked: AnyWords<'py>,
) -> Matrix<'py> {
    match masked {
        AnyWords::W32(masked) => scatter_in(py, &codes, width, &masked),
        AnyWords::W64(masked) => scatter_in(py, &codes, width, &masked),
    }
}

fn times_pad_in<'py, W: Word + Element>(
    py: Python<'py>,
    masked: &PyReadonlyArray2<'py, W>,
    key: &Key,
    width: usize,
    first_row: u64,
) -> Matrix<'py> {
    let (masked, left) = rows(masked);
    let words = detached(py, |_| Ok(ring::times_pad(&masked, left, key, width, first_row)?))?;
    matrix(py, &words, width)
}

#[pyfunction]
pub fn pad_product<'py>(
    py: Python<'py>,
    masked: AnyWords<'py>,
    key: &[u8],
    width: usize,
    first_row: u64,
) -> Matrix<'py> {
    let key = key_of(key)?;
    match masked {
        AnyWords::W32(masked) => times_pad_in(py, &masked, key, width, first_row),
        AnyWords::W64(masked) => times_pad_in(py, &masked, key, width, first_row),
    }
}

fn correction_in<'py, W: Word + Element>(
    py: Python<'py>,
    n: usize,
    left: (&Key, usize),
    right: (&Key, usize),
) -> Matrix<'py> {
    let words = detached(py, |_| Ok(ring::correction::<W>(n, left.0, left.1, right.0, right.1)?))?;
    matrix(py, &words, right.1)
}

#[pyfunction]
pub fn pad_correction<'py>(
    py: Python<'py>,
    rows: usize,
    left_key: &[u8],
    left: usize,
    right_key: &[u8],
    right: usize,
    ring: u32,
) -> Matrix<'py> {
    let (left, right) = ((key_of(left_key)?, left), (key_of(right_key)?, right));
    match ring {
        32 => correction_in::<u32>(py, rows, left, right),
        _ => correction_in::<u64>(py, rows, left, right),
    }
}

fn share_in<'py, W: Word + Element>(
    py: Python<'py>,
    key: &Key,
    left: usize,
    right: usize,
) -> Matrix<'py> {
    check_room::<W>("width", left, right).map_err(CoreError)?;
    let mut words = vec![W::ZERO; left * right];
    fill(key, Use::Share, 0, &mut words);
    matrix(py, &words, right)
}

#[pyfunction]
pub fn pad_share<'py>(
    py: Python<'py>,
    key: &[u8],
    left: usize,
    right: usize,
    ring: u32,
) -> Matrix<'py> {
    let key = key_of(key)?;
    match ring {
        32 => share_in::<u32>(py, key, left, right),
        _ => share_in::<u64>(py, key, left, right),
    }
}

#[pyfunction]
pub fn pair_counts<'py>(
    py: Python<'py>,
    codes: PyReadonlyArray2<'py, u32>,
    width: usize,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let (codes, columns) = rows(&codes);
    let counts = detached(py, |_| {
        let counts = ring::pair_counts(OneHot::new(&codes, columns, width)?)?;
        // No more than rows times pairs of columns.
        Ok(counts.into_iter().map(|count| count as i64).collect::<Vec<_>>())
    })?;
    counts.to_pyarray(py).reshape([width, width])
}

type Fitted<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>, usize, f64);

#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the tables, and the parameters of the fit")]
pub fn fit_mixture<'py>(
    py: Python<'py>,
    sizes: Vec<usize>,
    pairs: PyReadonlyArray2<'py, f64>,
    pair_weights: PyReadonlyArray2<'py, f64>,
    singles: PyReadonlyArray1<'py, f64>,
    single_weights: PyReadonlyArray1<'py, f64>,
    components: usize,
    step: f64,
    init: f64,
    stop: f64,
    max_steps: usize,
    seed: u64,
) -> PyResult<Fitted<'py>> {
    let settings = Settings { components, step, init, stop, max_steps, seed };
    let ((pairs, _), (pair_weights, _)) = (rows(&pairs), rows(&pair_weights));
    let (singles, single_weights) = (vector(&singles), vector(&single_weights));
    let fit = detached(py, |until| {
        let tables = Tables {
            sizes: &sizes,
            pairs: &pairs,
            pair_weights: &pair_weights,
            singles: &singles,
            single_weights: &single_weights,
        };
        Ok(mixture::fit(&tables, &settings, until)?)
    })?;
    let theta = fit.theta.to_pyarray(py).reshape([components, singles.len()])?;
    Ok((fit.pi.to_pyarray(py), theta, fit.steps, fit.chi2))
}

#[pyfunction]
#[pyo3(signature = (pi, theta, sizes, given, n, seed=None))]
pub fn sample_mixture<'py>(
    py: Python<'py>,
    pi: PyReadonlyArray1<'py, f64>,
    theta: PyReadonlyArray2<'py, f64>,
    sizes: Vec<usize>,
    given: Vec<Option<u32>>,
    n: usize,
    seed: Option<u64>,
) -> PyResult<Bound<'py, PyArray2<u32>>> {
    let (pi, (theta, width)) = (vector(&pi), rows(&theta));
    if theta.len() != pi.len() * width {
        let error = Error::invalid("theta", "must have shape (len(pi), sum(sizes))");
        return Err(CoreError(error).into());
    }
    let columns = sizes.len();
    let codes = detached(py, |_| {
        let mut source = Source::from_option(seed, SAMPLE)?;
        Ok(mixture::sample(&pi, &theta, &sizes, &given, n, &mut source)?)
    })?;
    codes.to_pyarray(py).reshape([n, columns])
}

#[pyfunction]
#[pyo3(signature = (codes, sizes, moments, ridges, start, max_steps))]
pub fn fit_softmax<'py>(
    py: Python<'py>,
    codes: PyReadonlyArray2<'py, u32>,
    sizes: Vec<usize>,
    moments: PyReadonlyArray2<'py, f64>,
    ridges: PyReadonlyArray2<'py, f64>,
    start: PyReadonlyArray1<'py, f64>,
    max_steps: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let ((codes, _), start) = (rows(&codes), vector(&start));
    let ((moments, width), (ridges, other)) = (rows(&moments), rows(&ridges));
    if width != start.len() || other != start.len() {
        let error = Error::invalid("start", "must have a number for each class of the moments");
        return Err(CoreError(error).into());
    }
    let weights = detached(py, |until| {
        let codes = Codes::new(&codes, &sizes, start.len())?;
        let wanted = Wanted { moments: &moments, ridges: &ridges };
        Ok(softmax::fit(codes, &wanted, &start, max_steps, until)?)
    })?;
    weights.to_pyarray(py).reshape([weights.len() / start.len(), start.len()])
}

#[pyfunction]
pub fn softmax_shares<'py>(
    py: Python<'py>,
    codes: PyReadonlyArray2<'py, u32>,
    sizes: Vec<usize>,
    weights: PyReadonlyArray2<'py, f64>,
    start: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let ((codes, _), (weights, _), start) = (rows(&codes), rows(&weights), vector(&start));
    let shares = detached(py, |_| {
        Ok(softmax::shares(Codes::new(&codes, &sizes, start.len())?, &weights, &start)?)
    })?;
    shares.to_pyarray(py).reshape([shares.len() / start.len(), start.len()])
}
