//! `.Files`: the files of a chart that have no meaning of their own.

use super::{glob, serial::yaml_or_nothing};
use crate::chart::File;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bumpwright_template::{
    Args, BYTES, Failure, Host, Map, Method, NamedType, STRING, STRINGS, Slice, Text, Type, UINT8, UintKind, Value,
};
use bumpwright_text::Cuts;
use std::{collections::BTreeMap, sync::Arc};

/// `engine.files`. Its items are texts in place of `[]byte`, which would take a value for each byte.
static FILES: NamedType = NamedType {
    name: "engine.files",
    underlying: &MAP,
    methods: &[
        Method::new("AsConfig", &[], &STRING, |host, args| as_yaml(host, args, Clone::clone)),
        Method::new("AsSecrets", &[], &STRING, |host, args| {
            as_yaml(host, args, |data| BASE64_STANDARD.encode(&**data).into())
        }),
        Method::new("Get", &[&STRING], &STRING, |_, args| {
            Ok(Value::String(content(args)?.unwrap_or_else(|| "".into())))
        }),
        Method::new("GetBytes", &[&STRING], &BYTES, get_bytes),
        Method::new("Glob", &[&STRING], &FILES_TYPE, matching),
        Method::new("Lines", &[&STRING], &STRINGS, lines),
    ],
};
static FILES_TYPE: Type = Type::Named(&FILES);
static MAP: Type = Type::Map(&STRING, &BYTES);

/// The files as `engine.files`. Few templates look at them, so they are copied for those that do.
pub(super) fn files_value(files: &[Arc<File>]) -> Value {
    let files = files.to_vec();
    let map = Map::later(&STRING, &BYTES, move || {
        // The last of several with one name counts.
        let by_name: BTreeMap<&str, &File> = files.iter().map(|file| (&*file.name, &**file)).collect();
        let entries = by_name.into_iter();
        entries
            .map(|(name, file)| (Value::text(name), Value::text(&*file.data)))
            .collect()
    });
    Value::named(&FILES, Value::Map(map))
}

fn content(args: Args<'_>) -> Result<Option<Text>, Failure> {
    Ok(match args.map(0)?.get(args.value(1)?) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    })
}

fn get_bytes(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let content = content(args)?.unwrap_or_else(|| "".into());
    host.produce(content.len().saturating_mul(size_of::<Value>()))?;
    let bytes = content
        .iter()
        .map(|byte| Value::Uint(UintKind::Uint8, u64::from(*byte)));
    Ok(Value::Slice(Slice::new(&UINT8, bytes.collect())))
}

fn lines(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let content = content(args)?.unwrap_or_else(|| "".into());
    if content.is_empty() {
        return Ok(Value::strings::<&str>([]));
    }
    let content = content.strip_suffix(b"\n").unwrap_or(&content);
    let lines: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
    host.produce(lines.len().saturating_mul(64))?;
    Ok(Value::strings(lines))
}

fn matching(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let map = args.map(0)?;
    let entries = map.counted_entries(host)?;
    let pattern = glob::Glob::new(args.text(1)?);
    let mut matching = Vec::new();
    for (name, file) in entries.iter() {
        let Value::String(path) = name else { continue };
        if pattern.as_ref().map_or(Ok(true), |pattern| pattern.matches(path))? {
            matching.push((name.clone(), file.clone()));
        }
    }
    let map = Map::in_order(map.key, map.item, matching);
    Ok(Value::named(&FILES, Value::Map(map)))
}

/// The files by the last component of their paths, as YAML.
fn as_yaml(host: &mut Host<'_>, args: Args<'_>, text: impl Fn(&Text) -> Text) -> Result<Value, Failure> {
    let entries = args.map(0)?.counted_entries(host)?;
    let entries = entries.iter().filter_map(|(name, data)| match (name, data) {
        (Value::String(name), Value::String(data)) => {
            let name = name.behind_last(b'/');
            Some((Value::text(name), Value::String(text(data))))
        }
        _ => None,
    });
    let map = Value::Map(Map::new(&STRING, &STRING, entries));
    yaml_or_nothing(host, &map).map(Value::text)
}
