//! `time.Time` and `*time.Location` as templates see them: structs with Go's hidden fields.

use super::methods::TIME_METHODS;
use bumpwright_gostd::{Time, Zone};
use bumpwright_template::{
    Args, BOOL, Failure, Field, INT, INT64, Method, Pointer, STRING, Slice, Struct, StructType, Text, Type, UINT8,
    UINT64, UintKind, Value,
};

pub(crate) static TIME: Type = Type::Struct(&TIME_TYPE);
/// `*time.Location`
pub(crate) static LOCATION_POINTER: Type = Type::Pointer(&LOCATION);

static TIME_TYPE: StructType = StructType {
    name: "time.Time",
    fields: &[
        Field::new("wall", &UINT64),
        Field::new("ext", &INT64),
        Field::new("loc", &LOCATION_POINTER),
    ],
    methods: TIME_METHODS,
};

static LOCATION: Type = Type::Struct(&LOCATION_TYPE);
static LOCATION_TYPE: StructType = StructType {
    name: "time.Location",
    fields: &[
        Field::new("name", &STRING),
        Field::new("zone", &Type::Slice(&ZONE)),
        Field::new("tx", &Type::Slice(&TRANSITION)),
        Field::new("extend", &STRING),
        Field::new("cacheStart", &INT64),
        Field::new("cacheEnd", &INT64),
        Field::new("cacheZone", &ZONE_POINTER),
    ],
    methods: &[Method {
        pointer: true,
        function: Method::new("String", &[], &STRING, |_, args| location_name(args)).function,
    }],
};

static ZONE: Type = Type::Struct(&ZONE_TYPE);
static ZONE_TYPE: StructType = StructType {
    name: "time.zone",
    fields: &[
        Field::new("name", &STRING),
        Field::new("offset", &INT),
        Field::new("isDST", &BOOL),
    ],
    methods: &[],
};

static ZONE_POINTER: Type = Type::Pointer(&ZONE);
static TRANSITION: Type = Type::Struct(&TRANSITION_TYPE);
static TRANSITION_TYPE: StructType = StructType {
    name: "time.zoneTrans",
    fields: &[
        Field::new("when", &INT64),
        Field::new("index", &UINT8),
        Field::new("isstd", &BOOL),
        Field::new("isutc", &BOOL),
    ],
    methods: &[],
};

thread_local! {
    // Go has one of each, and distinguishes them by their addresses.
    static UTC: Pointer = unzoned();
    static LOCAL: Pointer = unzoned();
}

/// A location without a table: its times are those of UTC.
fn unzoned() -> Pointer {
    location("UTC".into(), Vec::new(), Vec::new(), (0, 0), Value::zero(&ZONE_POINTER))
}

fn fixed(name: &[u8], offset: i64) -> Pointer {
    let name = Text::from(name);
    let zone = Struct::new(
        &ZONE_TYPE,
        vec![Value::String(name.clone()), Value::int(offset), Value::Bool(false)],
    );
    let always = Struct::new(
        &TRANSITION_TYPE,
        vec![
            Value::int64(i64::MIN),
            Value::Uint(UintKind::Uint8, 0),
            Value::Bool(false),
            Value::Bool(false),
        ],
    );
    let cached = Value::Pointer(Pointer::new(&ZONE, Value::Struct(zone.clone())));
    let (zones, transitions) = (vec![Value::Struct(zone)], vec![Value::Struct(always)]);
    location(name, zones, transitions, (i64::MIN, i64::MAX), cached)
}

fn location(name: Text, zones: Vec<Value>, transitions: Vec<Value>, cached: (i64, i64), zone: Value) -> Pointer {
    let table = |item: &'static Type, items: Vec<Value>| {
        if items.is_empty() {
            Value::Slice(Slice::nil(item))
        } else {
            Value::Slice(Slice::new(item, items))
        }
    };
    let fields = vec![
        Value::String(name),
        table(&ZONE, zones),
        table(&TRANSITION, transitions),
        Value::text(""),
        Value::int64(cached.0),
        Value::int64(cached.1),
        zone,
    ];
    Pointer::new(&LOCATION, Value::Struct(Struct::new(&LOCATION_TYPE, fields)))
}

pub(crate) fn time_value(time: &Time) -> Value {
    time_at(time, zone_pointer(&time.zone))
}

/// Another time with the same zone value as `like`.
pub(crate) fn time_like(time: &Time, like: &Value) -> Value {
    match time_fields(like) {
        Some((_, _, zone)) => time_at(time, zone.clone()),
        None => time_value(time),
    }
}

fn time_at(time: &Time, zone: Pointer) -> Value {
    let fields = vec![
        Value::Uint(UintKind::Uint64, time.nanoseconds.into()),
        Value::int64(time.seconds),
        Value::Pointer(zone),
    ];
    Value::Struct(Struct::new(&TIME_TYPE, fields))
}

/// A `*time.Location`, which a time in UTC does not have.
fn zone_pointer(zone: &Zone) -> Pointer {
    match zone {
        Zone::Utc => Pointer {
            to: &LOCATION,
            target: None,
        },
        Zone::Local => LOCAL.with(Clone::clone),
        Zone::Fixed { name, offset } => fixed(name, *offset),
    }
}

/// The `time.Time` that a value is, if it is one.
pub(crate) fn time_of(value: &Value) -> Option<Time> {
    let (wall, seconds, zone) = time_fields(value)?;
    Some(Time {
        seconds,
        nanoseconds: u32::try_from(wall).ok()?,
        zone: zone_of(zone),
    })
}

fn time_fields(value: &Value) -> Option<(u64, i64, &Pointer)> {
    let Value::Struct(of) = value else { return None };
    if !std::ptr::eq(of.of, &TIME_TYPE) {
        return None;
    }
    match of.fields() {
        [Value::Uint(_, wall), Value::Int(_, ext), Value::Pointer(zone)] => Some((*wall, *ext, zone)),
        _ => None,
    }
}

/// The `time.Time` argument at an index.
pub(crate) fn time_argument(args: Args<'_>, index: usize) -> Result<Time, Failure> {
    time_of(args.value(index)?)
        .ok_or_else(|| Failure::new(format!("internal: argument {index} of the function is not a time.Time")))
}

/// The result of `Time.Location`.
pub(crate) fn location_of(value: &Value) -> Value {
    let zone = time_fields(value).and_then(|(_, _, zone)| zone.target.is_some().then(|| zone.clone()));
    Value::Pointer(zone.unwrap_or_else(|| UTC.with(Clone::clone)))
}

/// The time in the location of a `*time.Location`: Go's `Time.In`.
pub(crate) fn time_in(time: &Time, location: &Value) -> Result<Value, Failure> {
    match location {
        Value::Pointer(pointer) if pointer.target.is_some() => Ok(match zone_of(pointer) {
            Zone::Utc => time_value(&time.clone().in_zone(Zone::Utc)),
            _ => time_at(time, pointer.clone()),
        }),
        _ => Err(Failure::new("time: missing Location in call to Time.In")),
    }
}

fn zone_of(pointer: &Pointer) -> Zone {
    let Some(target) = &pointer.target else {
        return Zone::Utc;
    };
    let is = |other: &Pointer| {
        other
            .target
            .as_ref()
            .is_some_and(|other| std::rc::Rc::ptr_eq(target, other))
    };
    if UTC.with(is) {
        return Zone::Utc;
    }
    let Value::Struct(location) = &**target else {
        return Zone::Local;
    };
    let zone = match location.field("zone") {
        Some(Value::Slice(zones)) => zones.items().first(),
        _ => None,
    };
    let Some(Value::Struct(zone)) = zone else {
        return Zone::Local;
    };
    match zone.fields() {
        [Value::String(name), Value::Int(_, offset), ..] => Zone::Fixed {
            name: (**name).into(),
            offset: *offset,
        },
        _ => Zone::Local,
    }
}

fn location_name(args: Args<'_>) -> Result<Value, Failure> {
    match args.value(0)? {
        Value::Struct(location) => Ok(Value::or_nil(location.field("name"))),
        _ => Ok(Value::text("UTC")),
    }
}
