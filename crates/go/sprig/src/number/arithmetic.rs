//! Arithmetic: over `int64`, which wraps around, and over decimal numbers.

use super::{
    cast::{to_float, to_int},
    decimal::Decimal,
};
use bumpwright_template::{ANY, Args, FLOAT64, Failure, Function, Host, INT, INT64, INTS, STRING, Slice, Value};

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("add", &[&ANY], &INT64, add).variadic(),
    Function::new("add1", &[&ANY], &INT64, add1),
    Function::new("sub", &[&ANY, &ANY], &INT64, sub),
    Function::new("mul", &[&ANY, &ANY], &INT64, mul).variadic(),
    Function::new("div", &[&ANY, &ANY], &INT64, div),
    Function::new("mod", &[&ANY, &ANY], &INT64, remainder),
    Function::new("max", &[&ANY, &ANY], &INT64, max).variadic(),
    Function::new("biggest", &[&ANY, &ANY], &INT64, max).variadic(),
    Function::new("min", &[&ANY, &ANY], &INT64, min).variadic(),
    Function::new("addf", &[&ANY], &FLOAT64, addf).variadic(),
    Function::new("add1f", &[&ANY], &FLOAT64, add1f),
    Function::new("subf", &[&ANY, &ANY], &FLOAT64, subf).variadic(),
    Function::new("mulf", &[&ANY, &ANY], &FLOAT64, mulf).variadic(),
    Function::new("divf", &[&ANY, &ANY], &FLOAT64, divf).variadic(),
    Function::new("maxf", &[&ANY, &ANY], &FLOAT64, maxf).variadic(),
    Function::new("minf", &[&ANY, &ANY], &FLOAT64, minf).variadic(),
    Function::new("ceil", &[&ANY], &FLOAT64, ceil),
    Function::new("floor", &[&ANY], &FLOAT64, floor),
    Function::new("round", &[&ANY, &INT, &FLOAT64], &FLOAT64, round).variadic(),
    Function::new("until", &[&INT], &INTS, until),
    Function::new("untilStep", &[&INT, &INT, &INT], &INTS, until_step),
    Function::new("seq", &[&INT], &STRING, seq).variadic(),
    Function::new("randInt", &[&INT, &INT], &INT, rand_int),
];

type Outcome = Result<Value, Failure>;

/// Folds an operation over the first argument and each further one.
fn fold_int(args: Args<'_>, operation: fn(i64, i64) -> i64) -> Outcome {
    let first = to_int(args.value(0)?);
    let rest = args.rest(1).iter().map(to_int);
    Ok(Value::int64(rest.fold(first, operation)))
}

fn fold_float(args: Args<'_>, operation: fn(f64, f64) -> f64) -> Outcome {
    let first = to_float(args.value(0)?);
    let rest = args.rest(1).iter().map(to_float);
    Ok(Value::float(rest.fold(first, operation)))
}

type Operation = fn(Decimal, &mut Host<'_>, Decimal) -> Result<Decimal, Failure>;

fn fold_decimal(host: &mut Host<'_>, first: f64, rest: &[Value], operation: Operation) -> Outcome {
    let mut result = Decimal::of(first)?;
    for value in rest {
        host.step(1)?;
        result = operation(result, host, Decimal::of(to_float(value))?)?;
    }
    result.to_float(host).map(Value::float)
}

fn add(_: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let sum = args.rest(0).iter().map(to_int).fold(0, i64::wrapping_add);
    Ok(Value::int64(sum))
}

fn add1(_: &mut Host<'_>, args: Args<'_>) -> Outcome {
    Ok(Value::int64(to_int(args.value(0)?).wrapping_add(1)))
}

fn sub(_: &mut Host<'_>, args: Args<'_>) -> Outcome {
    fold_int(args, i64::wrapping_sub)
}

fn mul(_: &mut Host<'_>, args: Args<'_>) -> Outcome {
    fold_int(args, i64::wrapping_mul)
}

fn div(_: &mut Host<'_>, args: Args<'_>) -> Outcome {
    divisor(args).and_then(|_| fold_int(args, i64::wrapping_div))
}

fn remainder(_: &mut Host<'_>, args: Args<'_>) -> Outcome {
    divisor(args).and_then(|_| fold_int(args, i64::wrapping_rem))
}

fn divisor(args: Args<'_>) -> Result<i64, Failure> {
    match to_int(args.value(1)?) {
        0 => Err(Failure::new("runtime error: integer divide by zero")),
        divisor => Ok(divisor),
    }
}

fn max(_: &mut Host<'_>, args: Args<'_>) -> Outcome {
    fold_int(args, i64::max)
}

fn min(_: &mut Host<'_>, args: Args<'_>) -> Outcome {
    fold_int(args, i64::min)
}

fn addf(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    fold_decimal(host, 0.0, args.rest(0), Decimal::plus)
}

fn add1f(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    fold_decimal(host, to_float(args.value(0)?), &[Value::int(1)], Decimal::plus)
}

fn subf(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    fold_decimal(host, to_float(args.value(0)?), args.rest(1), Decimal::minus)
}

fn mulf(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    fold_decimal(host, to_float(args.value(0)?), args.rest(1), Decimal::times)
}

fn divf(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    fold_decimal(host, to_float(args.value(0)?), args.rest(1), Decimal::divided_by)
}

/// Go's `math.Max`: an infinity takes precedence over NaN, NaN over numbers, 0 over -0.
fn maxf(_: &mut Host<'_>, args: Args<'_>) -> Outcome {
    fold_float(args, |a, b| match (a, b) {
        (f64::INFINITY, _) | (_, f64::INFINITY) => f64::INFINITY,
        _ if a.is_nan() || b.is_nan() => f64::NAN,
        _ if a > b || (a == b && b.is_sign_negative()) => a,
        _ => b,
    })
}

/// Go's `math.Min`, with the same precedences.
fn minf(_: &mut Host<'_>, args: Args<'_>) -> Outcome {
    fold_float(args, |a, b| match (a, b) {
        (f64::NEG_INFINITY, _) | (_, f64::NEG_INFINITY) => f64::NEG_INFINITY,
        _ if a.is_nan() || b.is_nan() => f64::NAN,
        _ if a < b || (a == b && a.is_sign_negative()) => a,
        _ => b,
    })
}

fn ceil(_: &mut Host<'_>, args: Args<'_>) -> Outcome {
    Ok(Value::float(to_float(args.value(0)?).ceil()))
}

fn floor(_: &mut Host<'_>, args: Args<'_>) -> Outcome {
    Ok(Value::float(to_float(args.value(0)?).floor()))
}

/// Rounds up when the remainder reaches a half, or the third argument. It never does for a negative number.
fn round(_: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let threshold = if args.len() > 2 { args.float(2)? } else { 0.5 };
    let power = power_of_ten(args.int(1)? as f64);
    let digit = power * to_float(args.value(0)?);
    let cut_off = digit - digit.trunc();
    let rounded = if cut_off >= threshold {
        digit.ceil()
    } else {
        digit.floor()
    };
    Ok(Value::float(rounded / power))
}

/// Go's `math.Pow(10, exponent)` for integer exponents, which is not always the nearest float: it squares a fraction
/// and counts the powers of two apart.
fn power_of_ten(exponent: f64) -> f64 {
    if exponent == 0.0 {
        return 1.0;
    }
    if exponent == 1.0 {
        return 10.0;
    }
    let mut bits = exponent.abs() as u64;
    let (mut square, mut square_twos) = (0.625, 4_i64);
    let (mut power, mut twos) = (1.0, 0_i64);
    while bits != 0 {
        if square_twos > 1 << 12 {
            twos += square_twos;
            break;
        }
        if bits & 1 == 1 {
            power *= square;
            twos += square_twos;
        }
        square *= square;
        square_twos *= 2;
        if square < 0.5 {
            square += square;
            square_twos -= 1;
        }
        bits >>= 1;
    }
    if exponent < 0.0 {
        power = 1.0 / power;
        twos = -twos;
    }
    times_power_of_two(power, twos)
}

/// Go's `math.Ldexp` for a fraction near 1.
fn times_power_of_two(fraction: f64, twos: i64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    const BIAS: i64 = 1023;
    let bits = fraction.to_bits();
    let exponent = twos + (bits >> 52).cast_signed() - BIAS;
    if exponent < -1075 {
        return 0.0;
    }
    if exponent > BIAS {
        return f64::INFINITY;
    }
    // Subnormal numbers are rounded by one multiplication.
    let (exponent, scale) = if exponent < -1022 {
        (exponent + 53, 1.0 / (1_u64 << 53) as f64)
    } else {
        (exponent, 1.0)
    };
    scale * f64::from_bits(((exponent + BIAS).cast_unsigned() << 52) | (bits & MANTISSA))
}

fn until(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let count = args.int(0)?;
    let numbers = counted(host, 0, count, if count < 0 { -1 } else { 1 })?;
    Ok(ints(numbers))
}

fn until_step(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let numbers = counted(host, args.int(0)?, args.int(1)?, args.int(2)?)?;
    Ok(ints(numbers))
}

fn ints(numbers: Vec<i64>) -> Value {
    Value::Slice(Slice::new(&INT, numbers.into_iter().map(Value::int).collect()))
}

/// The numbers from `start` to before `stop`; none when the step has the wrong sign. A step beyond the last `int`
/// wraps around, as in Go, until a limit is reached.
fn counted(host: &mut Host<'_>, start: i64, stop: i64, step: i64) -> Result<Vec<i64>, Failure> {
    let is_down = stop < start;
    let mut numbers = Vec::new();
    if if is_down { step >= 0 } else { step <= 0 } {
        return Ok(numbers);
    }
    let mut number = start;
    while if is_down { number > stop } else { number < stop } {
        host.step(1)?;
        host.produce(size_of::<Value>())?;
        numbers.push(number);
        number = number.wrapping_add(step);
    }
    Ok(numbers)
}

/// Like the shell's `seq`: includes the end.
fn seq(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let towards = |start: i64, end: i64| if end < start { -1 } else { 1 };
    let (start, step, end) = match args.len() {
        1 => (1, towards(1, args.int(0)?), args.int(0)?),
        2 => (args.int(0)?, towards(args.int(0)?, args.int(1)?), args.int(1)?),
        3 => (args.int(0)?, args.int(1)?, args.int(2)?),
        _ => return Ok("".into()),
    };
    let direction = towards(start, end);
    if direction < 0 && step > 0 {
        return Ok("".into());
    }
    let numbers = counted(host, start, end.wrapping_add(direction), step)?;
    let words: Vec<String> = numbers.iter().map(i64::to_string).collect();
    let text = words.join(" ");
    host.produce(text.len())?;
    Ok(text.into())
}

fn rand_int(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let (least, beyond) = (args.int(0)?, args.int(1)?);
    let width = beyond.wrapping_sub(least);
    if width <= 0 {
        return Err(Failure::new("invalid argument to Intn"));
    }
    let mut random = [0; 8];
    host.world().random(&mut random);
    // The upper half of the product is below the width, evenly but for one in 2^64 / width.
    let product = u128::from(u64::from_le_bytes(random)) * u128::from(width.unsigned_abs());
    Ok(Value::int(least.wrapping_add((product >> 64) as i64)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::testing::call;

    fn said(name: &str, arguments: &[Value]) -> String {
        match call(name, arguments) {
            Ok(Value::Int(_, number)) => number.to_string(),
            Ok(Value::Float(_, number)) => format!("{number:?}"),
            Ok(Value::String(text)) => text.lossy().into_owned(),
            Ok(list) => format!("{:?}", list.items().unwrap().iter().map(to_int).collect::<Vec<_>>()),
            Err(Failure::Error(text)) => text,
            Err(_) => "too much".to_owned(),
        }
    }

    #[test]
    fn integers_wrap_around() {
        let int = |numbers: &[i64]| numbers.iter().copied().map(Value::int).collect::<Vec<_>>();
        for (name, numbers, expected) in [
            ("add", &[][..], "0"),
            ("add", &[i64::MAX, 1], "-9223372036854775808"),
            ("mul", &[i64::MAX, 2], "-2"),
            ("div", &[i64::MIN, -1], "-9223372036854775808"),
            ("div", &[1, 0], "runtime error: integer divide by zero"),
            ("mod", &[-7, 3], "-1"),
            ("max", &[-3, 9, 2], "9"),
            ("min", &[3, -9, 2], "-9"),
            ("randInt", &[5, 6], "5"),
            ("randInt", &[6, 6], "invalid argument to Intn"),
            ("randInt", &[i64::MIN, i64::MAX], "invalid argument to Intn"),
        ] {
            assert_eq!(said(name, &int(numbers)), expected, "{name} {numbers:?}");
        }
    }

    #[test]
    fn floats_are_decimals() {
        for (name, numbers, expected) in [
            ("addf", &[0.1, 0.2][..], "0.3"),
            ("subf", &[5.5, 2.2, 1.1], "2.2"),
            ("mulf", &[0.1, 3.0], "0.3"),
            // The shortest text of the first number is as far from it above as below.
            ("subf", &[8_494_355_594_720_849.0 / 4.0, 0.6], "2123588898680211.5"),
            ("divf", &[2.0, 3.0], "0.6666666666666667"),
            ("divf", &[-2.0, 3.0], "-0.6666666666666667"),
            ("divf", &[1.0, 1e17], "0.0"),
            ("divf", &[1.0, 0.0], "decimal division by 0"),
            ("addf", &[f64::NEG_INFINITY], "Cannot create a Decimal from -Inf"),
            ("mulf", &[1e300, 1e300], "inf"),
            ("maxf", &[f64::NAN, f64::INFINITY], "inf"),
            ("minf", &[0.0, -0.0], "-0.0"),
        ] {
            let arguments: Vec<Value> = numbers.iter().copied().map(Value::float).collect();
            assert_eq!(said(name, &arguments), expected, "{name} {numbers:?}");
        }
    }

    #[test]
    fn rounding_follows_the_threshold() {
        for (number, places, threshold, expected) in [
            (2.675, 2, None, "2.68"),
            (-1.45, 1, None, "-1.5"),
            (3.74, 1, Some(0.3), "3.8"),
            (1234.5, -2, None, "1200.0"),
            (1.0, 400, None, "NaN"),
            (1.0, -400, None, "NaN"),
        ] {
            let mut arguments = vec![Value::float(number), Value::int(places)];
            arguments.extend(threshold.map(Value::float));
            assert_eq!(said("round", &arguments), expected, "{number} {places} {threshold:?}");
        }
    }

    #[test]
    fn powers_of_ten_are_those_of_go() {
        // Not all of them are the nearest floats.
        for (exponent, bits) in [
            (22, 0x4480_f0cf_064d_d592_u64),
            (-5, 0x3ee4_f8b5_88e3_68f1),
            (-310, 0x0000_1268_8b70_e62b),
        ] {
            assert_eq!(power_of_ten(f64::from(exponent)).to_bits(), bits, "{exponent}");
        }
        assert_eq!(power_of_ten(9.3e18), f64::INFINITY);
        assert_eq!(power_of_ten(-9.3e18), 0.0);
    }

    #[test]
    fn sequences_have_an_end() {
        let int = |numbers: &[i64]| numbers.iter().copied().map(Value::int).collect::<Vec<_>>();
        for (name, numbers, expected) in [
            ("until", &[-3][..], "[0, -1, -2]"),
            ("untilStep", &[3, 9, 4], "[3, 7]"),
            ("untilStep", &[0, 5, -1], "[]"),
            ("seq", &[], ""),
            ("seq", &[-1], "1 0 -1"),
            ("seq", &[0, 2, 5], "0 2 4"),
            ("seq", &[9, 2, 1], ""),
            ("until", &[1_000_000_000_000], "too much"),
            ("seq", &[1_000_000_000_000], "too much"),
            ("untilStep", &[1, i64::MAX, i64::MAX - 1], "[1]"),
            ("untilStep", &[1, i64::MAX, i64::MAX - 7], "too much"),
        ] {
            assert_eq!(said(name, &int(numbers)), expected, "{name} {numbers:?}");
        }
    }
}
