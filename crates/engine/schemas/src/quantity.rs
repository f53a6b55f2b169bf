//! Quantities (`500m`, `1.5Gi`, `1e3`) as `resource.Quantity` of Kubernetes reads them.

/// The regular expression that the server's message names; what it takes is what [`is_quantity`] says.
const FORM: &str = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX: &str = "unable to parse quantity's suffix";

const SUFFIXES: [&str; 16] = [
    "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
];

/// The server's message about a text that is not a quantity.
pub(crate) fn fault(text: &str) -> Option<&'static str> {
    let text = text.trim();
    if text.is_empty() {
        return Some(FORM);
    }
    let number = text.strip_prefix(['+', '-']).unwrap_or(text);
    let rest = number.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let rest = match rest.strip_prefix('.') {
        Some(rest) => rest.trim_start_matches(|digit: char| digit.is_ascii_digit()),
        None => rest,
    };
    let letters = rest.trim_start_matches(|letter| "eEinumkKMGTP".contains(letter));
    let end = letters.strip_prefix(['+', '-']).unwrap_or(letters);
    if !end.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(FORM);
    }
    let exponent = rest.strip_prefix(['e', 'E']).filter(|exponent| !exponent.is_empty());
    let is_known = SUFFIXES.contains(&rest) || exponent.is_some_and(|exponent| exponent.parse::<i64>().is_ok());
    (!is_known).then_some(SUFFIX)
}

/// The value of a quantity, to the precision of a floating-point number; `None` if it is invalid.
///
/// # Example
/// `1.5Gi` is 1,610,612,736, `500m` is a half.
#[must_use]
pub fn quantity(text: &str) -> Option<f64> {
    let text = text.trim();
    if fault(text).is_some() {
        return None;
    }
    let is_exponent = |end: &str| end.len() > 1 && end.starts_with(['e', 'E']);
    let start = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(start);
    if is_exponent(suffix) {
        return text.parse().ok();
    }
    let number: f64 = number.parse().ok()?;
    let power = |base: f64, steps: &str| steps.find(suffix.chars().next()?).map(|at| base.powi(at as i32 + 1));
    let factor = match suffix {
        "" => 1.0,
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        binary if binary.ends_with('i') => power(1024.0, "KMGTPE")?,
        _ => power(1000.0, "kMGTPE")?,
    };
    Some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_values() {
        for (text, value) in [
            ("0", 0.0),
            ("1.5Gi", 1_610_612_736.0),
            ("500m", 0.5),
            ("1e3", 1000.0),
            ("-1k", -1000.0),
            ("2E", 2e18),
            ("1Ki", 1024.0),
        ] {
            assert_eq!(quantity(text), Some(value), "{text}");
        }
        assert_eq!(quantity("1gi"), None);
    }

    /// As `resource.ParseQuantity` of k8s.io/apimachinery v0.34.4 has them.
    #[test]
    fn quantities_are_those_of_kubernetes() {
        for good in [
            "0", "1", "-1", "+1", "1.5", ".5", "5.", "500m", "1.5Gi", "1e3", "1E3", "1e-3", "1E+3", "1E", " 1 ",
            "100n", "1Ki",
        ] {
            assert_eq!(fault(good), None, "{good:?}");
        }
        for (bad, message) in [
            ("", FORM),
            ("x", FORM),
            ("1 Gi", FORM),
            ("1.5.5", FORM),
            ("1GB", FORM),
            ("1K", SUFFIX),
            ("1gi", FORM),
            ("1mi", SUFFIX),
            ("1Gi5", SUFFIX),
            ("1e", SUFFIX),
            ("1m1", SUFFIX),
        ] {
            assert_eq!(fault(bad), Some(message), "{bad:?}");
        }
    }
}
