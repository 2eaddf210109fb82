//! 16-bit IEEE 754 floats, the format of stored vectors.

fn from_bits(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let (exponent, fraction) = (u32::from(bits >> 10 & 31), u32::from(bits & 1023));
    match exponent {
        0 => f32::from_bits(sign | 0x3F80_0000) * (fraction as f32) * f32::powi(2.0, -24),
        31 => f32::from_bits(sign | 0x7F80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

/// The floats of a list of bytes.
pub(crate) fn decode(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks().0.iter().map(|pair| from_bits(u16::from_le_bytes(*pair)))
}

/// The nearest 16-bit float; an overflow becomes infinite.
pub(crate) fn to_bits(value: f32) -> u16 {
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
    // Rounds to ten bits of fraction; a carry correctly increments the exponent.
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
            assert_eq!((from_bits(bits), to_bits(value)), (value, bits), "{bits:#x}");
        }
        assert!(from_bits(0x7C00).is_infinite() && from_bits(to_bits(f32::NAN)).is_nan() && to_bits(1e6) == 0x7C00);
    }

    #[test]
    fn every_half_is_read_and_written_back() {
        for bits in (0..=u16::MAX).filter(|bits| !from_bits(*bits).is_nan()) {
            assert_eq!(to_bits(from_bits(bits)), bits, "{bits:#x}");
        }
    }
}
