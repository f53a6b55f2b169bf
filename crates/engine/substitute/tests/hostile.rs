//! Hostile texts: deep, growing, slow, truncated anywhere.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bumpwright_substitute::{EvalError, MAX_BYTES, eval};

/// The text with `a` as its only variable.
fn run(text: &str, a: &[u8]) -> Result<Vec<u8>, EvalError> {
    eval(text.as_bytes(), |name| (name == "a").then_some(a), false)
}

/// The length of the result.
fn size(text: &str, a: &[u8]) -> Result<usize, EvalError> {
    run(text, a).map(|text| text.len())
}

const DEEP: usize = 100_000;

#[test]
fn depth_costs_no_stack() {
    let text = "${b:-".repeat(DEEP) + "x" + &"}".repeat(DEEP);
    assert_eq!(run(&text, b"").unwrap(), b"x");
    let open = "${b:-".repeat(DEEP);
    assert_eq!(run(&open, b""), Err(EvalError::Parameter));
    let nameless = "${".repeat(DEEP);
    assert_eq!(run(&nameless, b""), Err(EvalError::VariableName));
    let trims = "${a#".repeat(DEEP) + "x" + &"}".repeat(DEEP);
    assert_eq!(run(&trims, b"x").unwrap(), b"x");
}

#[test]
fn growth_ends_at_a_bound() {
    let value = "x".repeat(1 << 20).into_bytes();
    let text = format!("${{a//x/{}}}", "y".repeat(1000));
    assert_eq!(size(&text, &value), Err(EvalError::TooLarge));
    let many = "${a}".repeat(MAX_BYTES / value.len() + 1);
    assert_eq!(size(&many, &value), Err(EvalError::TooLarge));
    let most = "${a}".repeat(MAX_BYTES / value.len());
    assert_eq!(size(&most, &value), Ok(MAX_BYTES));
}

#[test]
fn empty_patterns_grow_within_the_bound() {
    let value = "x".repeat(1 << 20).into_bytes();
    let text = format!("${{a//${{e}}/{}}}", "y".repeat(100));
    assert_eq!(size(&text, &value), Err(EvalError::TooLarge));
    assert_eq!(run("${a//${e}/-}", b"xy").unwrap(), b"-x-y-");
}

#[test]
fn slow_patterns_are_given_up() {
    let value = "x".repeat(1 << 20).into_bytes();
    for text in ["${a#*[y]}", "${a%%?*y*x}"] {
        assert_eq!(size(text, &value), Err(EvalError::TooSlow), "{text}");
    }
    // Real texts are far from it.
    let path = "dir/".repeat(250).into_bytes();
    assert_eq!(run("${a##*/x}", &path).unwrap(), path);
}

#[test]
fn nested_defaults_with_text_are_given_up_and_not_squared() {
    let text = "${b:-x".repeat(DEEP) + &"}".repeat(DEEP);
    assert_eq!(size(&text, b""), Err(EvalError::TooSlow));
    let text = "${b:-x".repeat(10_000) + &"}".repeat(10_000);
    assert_eq!(size(&text, b""), Ok(10_000));
}

#[test]
fn every_beginning_of_an_expression_ends() {
    let text = "é${a:-${b//$$\\/${c:1:${#d}}/x}}${e##[a-c]*}$${f}${g^^}\u{0}${";
    for end in 0..=text.len() {
        for (part, strict) in [(&text.as_bytes()[..end], false), (&text.as_bytes()[end..], true)] {
            let _ = eval(part, |name| (name == "a").then_some(&b"a/b\xff"[..]), strict);
        }
    }
}

#[test]
fn lengths_that_overflow_take_the_rest() {
    let text = "${a:2:9223372036854775807}${a:9223372036854775807:1}${a:-9223372036854775808:1}";
    assert_eq!(run(text, b"abcd").unwrap(), b"cdabcd");
}
