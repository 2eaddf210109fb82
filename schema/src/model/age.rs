//! Ages such as `12h`, `7d`, `2w`, `3mo` and `1y`, in the one format that commands and settings share.

/// A number of units, such as 7 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Age {
    pub count: u32,
    pub unit: AgeUnit,
}

/// The unit of an age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgeUnit {
    Hour,
    Day,
    Week,
    Month,
    Year,
}

impl Age {
    /// Parses a number and a unit. There are no minutes, and a bare `m` is rejected because it could also mean months.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (number, unit) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
        let unit = match unit.trim().to_ascii_lowercase().as_str() {
            "h" => AgeUnit::Hour,
            "d" => AgeUnit::Day,
            "w" => AgeUnit::Week,
            "mo" => AgeUnit::Month,
            "y" => AgeUnit::Year,
            _ => return None,
        };
        Some(Self { count: number.parse().ok()?, unit })
    }

    /// Converts to whole days, rounding up. A month has 30 days and a year 365.
    pub fn to_days(self) -> Option<u32> {
        match self.unit {
            AgeUnit::Hour => Some(self.count.div_ceil(24)),
            AgeUnit::Day => Some(self.count),
            AgeUnit::Week => self.count.checked_mul(7),
            AgeUnit::Month => self.count.checked_mul(30),
            AgeUnit::Year => self.count.checked_mul(365),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_convert_to_days() {
        let days = |text| Age::parse(text).and_then(Age::to_days);
        for (text, expected) in [
            ("36h", Some(2)),
            ("180d", Some(180)),
            (" 2 W ", Some(14)),
            ("6mo", Some(180)),
            ("1y", Some(365)),
            ("6m", None),
            ("6min", None),
            ("d", None),
            ("-1d", None),
            ("4000000000y", None),
            ("99999999999d", None),
        ] {
            assert_eq!(days(text), expected, "{text:?}");
        }
    }
}
