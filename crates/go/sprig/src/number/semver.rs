//! Semantic versions.

use bumpwright_semver::{Constraint, Version};
use bumpwright_template::{
    ANY, Args, BOOL, BYTES, Failure, Field, Function, Host, INT, Method, Pointer, STRING, Slice, Struct, StructType,
    Text, Type, UINT8, UINT64, UintKind, Value,
};
use std::cmp::Ordering;

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("semver", &[&STRING], &VERSION_POINTER, semver),
    Function::new("semverCompare", &[&STRING, &STRING], &BOOL, compare),
];

static VERSION: Type = Type::Struct(&VERSION_TYPE);
static VERSION_POINTER: Type = Type::Pointer(&VERSION);
static VERSION_TYPE: StructType = StructType {
    name: "semver.Version",
    fields: &[
        Field::new("major", &UINT64),
        Field::new("minor", &UINT64),
        Field::new("patch", &UINT64),
        Field::new("pre", &STRING),
        Field::new("metadata", &STRING),
        Field::new("original", &STRING),
    ],
    methods: METHODS,
};

/// Those that change a version in place are left out.
static METHODS: &[Method] = &[
    Method::new("Compare", &[&VERSION_POINTER], &INT, |_, args| {
        Ok(Value::int(order(args)? as i64))
    })
    .of_pointer(),
    Method::new("Equal", &[&VERSION_POINTER], &BOOL, |_, args| {
        let other = matches!(args.value(1)?, Value::Pointer(Pointer { target: Some(_), .. }));
        Ok(Value::Bool(other && order(args)?.is_eq()))
    })
    .of_pointer(),
    Method::new("GreaterThan", &[&VERSION_POINTER], &BOOL, |_, args| {
        Ok(Value::Bool(order(args)?.is_gt()))
    })
    .of_pointer(),
    Method::new("GreaterThanEqual", &[&VERSION_POINTER], &BOOL, |_, args| {
        Ok(Value::Bool(order(args)?.is_ge()))
    })
    .of_pointer(),
    Method::new("IncMajor", &[], &VERSION, |_, args| {
        next(receiver(args)?.next_major(), "major")
    }),
    Method::new("IncMinor", &[], &VERSION, |_, args| {
        next(receiver(args)?.next_minor(), "minor")
    }),
    Method::new("IncPatch", &[], &VERSION, |_, args| {
        next(receiver(args)?.next_patch(), "patch")
    }),
    Method::new("LessThan", &[&VERSION_POINTER], &BOOL, |_, args| {
        Ok(Value::Bool(order(args)?.is_lt()))
    })
    .of_pointer(),
    Method::new("LessThanEqual", &[&VERSION_POINTER], &BOOL, |_, args| {
        Ok(Value::Bool(order(args)?.is_le()))
    })
    .of_pointer(),
    Method::new("Major", &[], &UINT64, |_, args| {
        Ok(Value::Uint(UintKind::Uint64, receiver(args)?.major()))
    }),
    Method::new("MarshalJSON", &[], &BYTES, |_, args| {
        Ok(bytes(&format!("\"{}\"", receiver(args)?)))
    }),
    Method::new("MarshalText", &[], &BYTES, |_, args| {
        Ok(bytes(&receiver(args)?.to_string()))
    }),
    Method::new("Metadata", &[], &STRING, |_, args| {
        Ok(Value::text(receiver(args)?.metadata()))
    }),
    Method::new("Minor", &[], &UINT64, |_, args| {
        Ok(Value::Uint(UintKind::Uint64, receiver(args)?.minor()))
    }),
    Method::new("Original", &[], &STRING, |_, args| {
        Ok(Value::text(receiver(args)?.original()))
    })
    .of_pointer(),
    Method::new("Patch", &[], &UINT64, |_, args| {
        Ok(Value::Uint(UintKind::Uint64, receiver(args)?.patch()))
    }),
    Method::new("Prerelease", &[], &STRING, |_, args| {
        Ok(Value::text(receiver(args)?.prerelease()))
    }),
    Method::new("SetMetadata", &[&STRING], &VERSION, |_, args| {
        changed(receiver(args)?.with_metadata(&args.text(1)?.lossy()))
    }),
    Method::new("SetPrerelease", &[&STRING], &VERSION, |_, args| {
        changed(receiver(args)?.with_prerelease(&args.text(1)?.lossy()))
    }),
    Method::new("String", &[], &STRING, |_, args| {
        Ok(Value::text(receiver(args)?.to_string()))
    }),
    Method::new("Value", &[], &ANY, |_, args| {
        Ok(Value::text(receiver(args)?.to_string()))
    }),
];

fn semver(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let version = version_value(&parse(args.text(0)?)?);
    Ok(Value::Pointer(Pointer::new(&VERSION, version)))
}

fn compare(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    // A range is 512 bytes at most; parsing it takes a while.
    host.step(64)?;
    let range = Constraint::parse(&args.text(0)?.lossy()).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Value::Bool(range.check(&parse(args.text(1)?)?)))
}

fn parse(text: &Text) -> Result<Version, Failure> {
    Version::parse(&text.lossy()).map_err(|error| Failure::new(error.to_string()))
}

fn version_value(version: &Version) -> Value {
    let number = |number| Value::Uint(UintKind::Uint64, number);
    let fields = vec![
        number(version.major()),
        number(version.minor()),
        number(version.patch()),
        Value::text(version.prerelease()),
        Value::text(version.metadata()),
        Value::text(version.original()),
    ];
    Value::Struct(Struct::new(&VERSION_TYPE, fields))
}

fn version_of(value: &Value) -> Result<Version, Failure> {
    let value = match value {
        Value::Pointer(Pointer {
            target: Some(target), ..
        }) => target,
        Value::Pointer(_) => {
            return Err(Failure::new(
                "runtime error: invalid memory address or nil pointer dereference",
            ));
        }
        value => value,
    };
    if let Value::Struct(of) = value
        && let [
            Value::Uint(_, major),
            Value::Uint(_, minor),
            Value::Uint(_, patch),
            Value::String(prerelease),
            Value::String(metadata),
            Value::String(original),
        ] = of.fields()
    {
        let [prerelease, metadata, original] = [prerelease, metadata, original].map(|text| text.lossy().into_owned());
        return Ok(Version::from_parts(
            [*major, *minor, *patch],
            prerelease,
            metadata,
            original,
        ));
    }
    Err(Failure::new(
        "internal: an argument of the function is not a semver.Version",
    ))
}

fn receiver(args: Args<'_>) -> Result<Version, Failure> {
    version_of(args.value(0)?)
}

fn order(args: Args<'_>) -> Result<Ordering, Failure> {
    Ok(receiver(args)?.cmp(&version_of(args.value(1)?)?))
}

fn next(version: Option<Version>, segment: &str) -> Result<Value, Failure> {
    let version = version.ok_or_else(|| Failure::new(format!("{segment} version increment would overflow uint64")))?;
    Ok(version_value(&version))
}

fn changed(version: Result<Version, impl std::fmt::Display>) -> Result<Value, Failure> {
    match version {
        Ok(version) => Ok(version_value(&version)),
        Err(error) => Err(Failure::new(error.to_string())),
    }
}

fn bytes(text: &str) -> Value {
    let item = |byte: u8| Value::Uint(UintKind::Uint8, byte.into());
    Value::Slice(Slice::new(&UINT8, text.bytes().map(item).collect()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::testing::call;
    use bumpwright_template::find_method;

    #[test]
    fn pointers_have_all_methods_and_values_some() {
        let version = call("semver", &["v1.2.3-rc.1+b".into()]).unwrap();
        let of = version.type_of().unwrap();
        assert_eq!(of.to_string(), "*semver.Version");
        assert!(find_method(&of, "Original", false).is_some());
        let Value::Pointer(Pointer {
            target: Some(target), ..
        }) = &version
        else {
            panic!()
        };
        let next = next(version_of(target).unwrap().next_patch(), "patch").unwrap();
        assert!(find_method(&next.type_of().unwrap(), "Original", false).is_none());
        assert_eq!(version_of(&next).unwrap().original(), "v1.2.3");
        assert!(order(Args(&[next, version])).unwrap().is_gt());
    }

    #[test]
    fn compares_with_ranges() {
        for (range, version, expected) in [
            ("^1.2", "v1.3", Ok(true)),
            ("^1.2", "2.0.0", Ok(false)),
            ("bad", "1", Err("improper constraint: \"bad\"")),
            ("1", "bad", Err("invalid semantic version")),
        ] {
            let result = call("semverCompare", &[range.into(), version.into()]);
            match (result, expected) {
                (Ok(Value::Bool(truth)), Ok(expected)) => assert_eq!(truth, expected, "{range} {version}"),
                (Err(failure), Err(expected)) => assert_eq!(failure, Failure::new(expected)),
                (other, _) => panic!("{other:?}"),
            }
        }
        let most = next(
            Version::parse("1.18446744073709551615.0").unwrap().next_minor(),
            "minor",
        );
        assert_eq!(
            most.unwrap_err(),
            Failure::new("minor version increment would overflow uint64")
        );
    }
}
