//! Arrays of Python as slices: float32 or float64, borrowed when C-contiguous, else copied once.

use std::borrow::Cow;

use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// A table of points as it came.
#[derive(FromPyObject)]
pub enum AnyPoints<'py> {
    #[pyo3(transparent, annotation = "float32 array of two dimensions")]
    F32(PyReadonlyArray2<'py, f32>),
    #[pyo3(transparent, annotation = "float64 array of two dimensions")]
    F64(PyReadonlyArray2<'py, f64>),
}

/// Rows and their width.
pub fn rows<'a, T: Element + Copy>(array: &'a PyReadonlyArray2<'_, T>) -> (Cow<'a, [T]>, usize) {
    let width = array.shape()[1];
    match array.as_slice() {
        // `as_slice` takes Fortran order as well, in which rows are not runs of the slice.
        Ok(slice) if array.is_c_contiguous() => (Cow::Borrowed(slice), width),
        _ => (array.as_array().iter().copied().collect::<Vec<T>>().into(), width),
    }
}

/// Numbers of a vector.
pub fn vector<'a, T: Element + Copy>(array: &'a PyReadonlyArray1<'_, T>) -> Cow<'a, [T]> {
    match array.as_slice() {
        Ok(slice) => Cow::Borrowed(slice),
        Err(_) => array.as_array().iter().copied().collect::<Vec<T>>().into(),
    }
}

/// Bind `$points` to the core's view of an [`AnyPoints`], in its own precision, for one expression.
macro_rules! with_points {
    ($any:expr, $name:literal, |$points:ident| $body:expr) => {
        match $any {
            $crate::arrays::AnyPoints::F32(array) => {
                let (data, width) = $crate::arrays::rows(&array);
                let $points = dpsumm_core::points::Points::new($name, &data, width)
                    .map_err($crate::errors::CoreError)?;
                $body
            }
            $crate::arrays::AnyPoints::F64(array) => {
                let (data, width) = $crate::arrays::rows(&array);
                let $points = dpsumm_core::points::Points::new($name, &data, width)
                    .map_err($crate::errors::CoreError)?;
                $body
            }
        }
    };
}

/// Bind two tables of the same precision; of different precision, an error that says so.
macro_rules! with_two {
    ($a:expr, $a_name:literal, $b:expr, $b_name:literal, |$p:ident, $q:ident| $body:expr) => {
        match ($a, $b) {
            ($crate::arrays::AnyPoints::F32(a), $crate::arrays::AnyPoints::F32(b)) => {
                $crate::arrays::with_two!(@ a, $a_name, b, $b_name, |$p, $q| $body)
            }
            ($crate::arrays::AnyPoints::F64(a), $crate::arrays::AnyPoints::F64(b)) => {
                $crate::arrays::with_two!(@ a, $a_name, b, $b_name, |$p, $q| $body)
            }
            _ => Err($crate::errors::InvalidParameterError::new_err(concat!(
                $a_name, " and ", $b_name,
                " must have the same dtype, both float32 or both float64; convert one with astype"
            ))),
        }
    };
    (@ $a:expr, $a_name:literal, $b:expr, $b_name:literal, |$p:ident, $q:ident| $body:expr) => {{
        let (a, a_width) = $crate::arrays::rows(&$a);
        let (b, b_width) = $crate::arrays::rows(&$b);
        let $p = dpsumm_core::points::Points::new($a_name, &a, a_width)
            .map_err($crate::errors::CoreError)?;
        let $q = dpsumm_core::points::Points::new($b_name, &b, b_width)
            .map_err($crate::errors::CoreError)?;
        $body
    }};
}

pub(crate) use {with_points, with_two};
