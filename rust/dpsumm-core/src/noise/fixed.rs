//! Noise parameters as integers: multiples of `2^-20`, rounded up.

use crate::error::{Error, Result};

/// Bits behind the point of a noise parameter.
pub const FRACTION_BITS: u32 = 20;

const ONE: f64 = (1u64 << FRACTION_BITS) as f64;
const LARGEST: f64 = (1u64 << 40) as f64;

/// Return `value` in units of `2^-20`, rounded up: in `1..=2^60`.
///
/// Rounding up gives more noise than asked for, never less. Every step is exact in f64: scaling
/// by a power of two loses nothing, and a product above `2^53` is an integer already.
///
/// Errors: `value` is NaN or outside `[2^-20, 2^40]`.
pub fn units_up(name: &'static str, value: f64) -> Result<u64> {
    if (1.0 / ONE..=LARGEST).contains(&value) {
        Ok((value * ONE).ceil() as u64)
    } else {
        Err(Error::invalid(name, format!("{value:?} is outside [2^-20, 2^40]; rescale the data")))
    }
}

/// Return the value that `units` stands for. Exact for the result of [`units_up`].
pub fn to_f64(units: u64) -> f64 {
    units as f64 / ONE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_up_to_the_next_unit_only() -> Result<()> {
        for (value, units) in [(1.0 / ONE, 1), (1.0, 1 << 20), (0.5, 1 << 19), (LARGEST, 1 << 60)] {
            assert_eq!(units_up("scale", value)?, units);
            assert_eq!(to_f64(units), value);
        }
        assert_eq!(units_up("scale", 1.0 + f64::EPSILON)?, (1 << 20) + 1);
        // Above 2^33 every f64 is a multiple of 2^-20 already.
        assert_eq!(to_f64(units_up("scale", LARGEST - 0.1)?), LARGEST - 0.1);
        Ok(())
    }

    #[test]
    fn refuses_what_is_outside_and_names_it() {
        for value in [f64::NAN, 0.0, -1.0, 0.9 / ONE, LARGEST * 1.001, f64::INFINITY] {
            let refused = matches!(
                units_up("noise_std", value),
                Err(Error::InvalidParameter { name: "noise_std", .. })
            );
            assert!(refused, "{value}");
        }
        // As a person writes it: plain, it would have 301 digits.
        let refused = units_up("scale", 1e300).map_err(|error| error.to_string());
        assert!(refused.is_err_and(|text| text.contains(" 1e300 is outside")));
    }
}
