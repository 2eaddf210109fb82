//! 16-bit floats of IEEE 754, in which vectors are stored.

/// The number that the bits stand for.
pub(crate) fn read(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let (exponent, fraction) = (u32::from(bits >> 10 & 31), u32::from(bits & 1023));
    match exponent {
        0 => f32::from_bits(sign | 0x3F80_0000) * (fraction as f32) * f32::powi(2.0, -24),
        31 => f32::from_bits(sign | 0x7F80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

/// The nearest bits of a number; what is too large becomes infinite.
pub(crate) fn write(value: f32) -> u16 {
    let sign = ((value.to_bits() >> 16) & 0x8000) as u16;
    let size = value.abs();
    if size.is_nan() {
        return sign | 0x7E00;
    }
    if size >= 65_520.0 {
        return sign | 0x7C00;
    }
    if size < f32::powi(2.0, -14) {
        return sign | (size * f32::powi(2.0, 24)).round_ties_even() as u16;
    }
    // Rounded to ten bits of fraction by what is cut off; a carry goes into the exponent, where it belongs.
    let bits = size.to_bits() - (112 << 23);
    let rounded = bits + 0xFFF + ((bits >> 13) & 1);
    sign | (rounded >> 13) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_floats() {
        let known =
            [(0x3C00, 1.0), (0xC000, -2.0), (1, 5.960_464_5e-8), (0x7BFF, 65504.0), (0, 0.0), (0x3555, 0.333_251_95)];
        for (bits, value) in known {
            assert_eq!((read(bits), write(value)), (value, bits), "{bits:#x}");
        }
        assert!(read(0x7C00).is_infinite() && read(write(f32::NAN)).is_nan() && write(1e6) == 0x7C00);
    }

    #[test]
    fn every_half_is_read_and_written_back() {
        for bits in (0..=u16::MAX).filter(|bits| !read(*bits).is_nan()) {
            assert_eq!(write(read(bits)), bits, "{bits:#x}");
        }
    }
}
