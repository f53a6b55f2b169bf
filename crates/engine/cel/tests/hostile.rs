//! Expressions that would use too much stack, time or memory. They soon end with an error.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bumpwright_cel::{Expression, Ready, Variables};
use serde_json::json;

/// The message of an expression that cannot be read.
fn refused(text: &str) -> String {
    Expression::parse(text)
        .expect_err("the expression is refused")
        .to_string()
}

/// The message of an expression that cannot be evaluated.
fn fails(text: &str) -> String {
    let expression = Expression::parse(text).expect("the expression is read");
    let object = json!({ "list": (0..2_000).collect::<Vec<i32>>() });
    expression
        .evaluate_object(&object)
        .expect_err("the evaluation ends")
        .to_string()
}

#[test]
fn nesting_ends_at_the_limit_of_the_reference() {
    let limit = "ERROR: <input>:-1:0: expression recursion limit exceeded: 250";
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{1:", "}"),
        ("a[", "]"),
        ("f(", ")"),
        ("-(", ")"),
        ("!(", ")"),
    ] {
        let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        assert!(refused(&nested(20_000)).contains(limit), "{open}");
        let unclosed = open.repeat(33_000);
        assert!(refused(&unclosed).contains(limit), "{open}");
        assert!(Expression::parse(&nested(120)).is_ok(), "{open}");
    }
}

#[test]
fn chains_end_at_the_limit_of_the_reference() {
    for chain in [
        "1+".repeat(40_000) + "1",
        "a".to_owned() + &".b".repeat(49_000),
        "1<".repeat(49_000) + "1",
        "a".to_owned() + &".f()".repeat(24_000),
        "a".to_owned() + &"[0]".repeat(33_000),
    ] {
        assert!(refused(&chain).contains("max recursion depth exceeded"));
    }
    assert!(Expression::parse(&("a?b:".repeat(200) + "c")).is_ok());
    assert!(Expression::parse(&("true&&".repeat(15_000) + "true")).is_ok());
}

#[test]
fn long_texts_are_refused() {
    let message = refused(&" ".repeat(100_001));
    assert!(message.contains("expression code point size exceeds limit: size: 100001, limit 100000"));
}

#[test]
fn wrong_texts_of_any_length_end() {
    for piece in [
        "@",
        "=",
        "'",
        "((",
        "]]",
        "a b ",
        "1 2 ",
        "? ",
        ". ",
        "-",
        "in ",
        "{a",
        "\u{1f600}",
        "\"\n",
        ", ",
    ] {
        refused(&piece.repeat(20_000));
    }
    // Signs before a number are scanned once, not once for each of them.
    assert!(Expression::parse(&("-".repeat(99_000) + "1")).is_ok());
}

#[test]
fn macros_do_not_double_forever() {
    let message = refused(&("optional.of(1)".to_owned() + &".optMap(x, x)".repeat(60)));
    assert!(message.contains("macros copy more than 50000 parts"), "{message}");
}

#[test]
fn loops_are_interrupted() {
    let message = fails("list.all(a, list.all(b, list.all(c, a + b + c >= 0)))");
    assert!(message.ends_with(": operation interrupted"), "{message}");
    // Logic absorbs faults, but not this one.
    let message = fails("list.all(a, list.all(b, list.all(c, a + b + c >= 0))) || true");
    assert!(message.ends_with(": operation interrupted"), "{message}");
    let message = fails("list.all(a, list == list)");
    assert!(message.ends_with(": operation interrupted"), "{message}");
}

#[test]
fn texts_do_not_grow_forever() {
    let mut text = "size(v)".to_owned();
    for _ in 0..40 {
        text = format!("optional.of(v + v).optMap(v, {text}).orValue(0)");
    }
    let message = fails(&format!("optional.of('0123456789').optMap(v, {text}).orValue(0) > 0"));
    assert!(message.ends_with(": operation interrupted"), "{message}");
    let message = fails(
        "'x'.replace('', string(list.map(a, '0123456789').join())).replace('', list.map(a, '0123456789').join()) == ''",
    );
    assert!(
        message.contains("no such overload") || message.contains("interrupted"),
        "{message}"
    );
}

#[test]
fn checking_is_bounded_too() {
    let nested = |open: &str, close: &str| format!("size({}{}) == 1", open.repeat(200), close.repeat(200));
    assert!(Ready::new(&nested("[", "]")).is_ok());
    assert!(Ready::new(&nested("{'a':[", "]}")).is_err(), "too deep for the grammar");
    let many = "self.a == dep.b && ".repeat(4_000) + "true";
    assert!(Ready::new(&many).is_ok());
}

#[test]
fn deep_objects_are_compared_and_freed() {
    let mut deep = json!(1);
    for _ in 0..1_000 {
        deep = json!([deep]);
    }
    let expression = Expression::parse("a == b && a in [b]").unwrap();
    let variables = Variables::new([("a", &deep), ("b", &deep)]);
    assert_eq!(expression.evaluate(&variables), Ok(true));
}
