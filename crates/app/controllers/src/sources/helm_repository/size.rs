//! Sizes as Docker's go-units shows them (`HumanSize`).

use bumpwright_gostd::format_float;

const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];

/// `size 1.234kB`, with four digits.
pub(super) fn shown(bytes: Option<u64>) -> String {
    let Some(bytes) = bytes else {
        return "unknown size".to_owned();
    };
    let mut size = bytes as f64;
    let [mut unit, larger @ ..] = UNITS;
    for next in larger {
        if size >= 1000.0 {
            (size, unit) = (size / 1000.0, next);
        }
    }
    let number = format_float(size, b'g', Some(4), 64);
    format!("size {number}{unit}")
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn sizes_have_four_digits() {
        for (bytes, wanted) in [(0, "0B"), (999, "999B"), (1000, "1kB"), (1_234_567, "1.235MB")] {
            assert_eq!(shown(Some(bytes)), format!("size {wanted}"));
        }
        assert_eq!(shown(None), "unknown size");
    }
}
