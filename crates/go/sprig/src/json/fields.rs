//! The fields of a struct in JSON and their names, as `encoding/json` finds them.

use bumpwright_template::{Field, StructType, Type};

/// A field in the JSON of a struct.
#[derive(Debug)]
pub(crate) struct JsonField {
    pub name: &'static str,
    /// Indices of the embedded fields on the way to it, and its own.
    pub path: Vec<usize>,
    /// Whether it is omitted when it is empty.
    pub omit_empty: bool,
    tagged: bool,
}

/// A struct whose fields are visited.
struct Visit {
    of: &'static StructType,
    path: Vec<usize>,
    /// Whether it is embedded more than once at this depth, so that its fields cancel each other out.
    twice: bool,
}

/// The fields of a struct in the order of their declaration, those of embedded structs in their place.
pub(crate) fn json_fields(of: &'static StructType) -> Vec<JsonField> {
    let mut visited: Vec<*const StructType> = Vec::new();
    let mut fields: Vec<(JsonField, bool)> = Vec::new();
    let mut level = vec![Visit {
        of,
        path: Vec::new(),
        twice: false,
    }];
    while !level.is_empty() {
        let mut next: Vec<Visit> = Vec::new();
        for visit in level {
            if visited.contains(&std::ptr::from_ref(visit.of)) {
                continue;
            }
            visited.push(visit.of);
            for (index, field) in visit.of.fields.iter().enumerate() {
                let path = [visit.path.as_slice(), &[index]].concat();
                let (name, options) = field.json.split_once(',').unwrap_or((field.json, ""));
                match inner(field) {
                    _ if field.json == "-" => {}
                    Some(of) if field.embedded && name.is_empty() => {
                        match next.iter_mut().find(|other| std::ptr::eq(other.of, of)) {
                            Some(other) => other.twice = true,
                            None => next.push(Visit { of, path, twice: false }),
                        }
                    }
                    // An embedded struct counts also when its own name is lower-case.
                    inner if !(field.is_exported() || field.embedded && inner.is_some()) => {}
                    _ => {
                        let field = JsonField {
                            name: if name.is_empty() { field.name } else { name },
                            path,
                            omit_empty: options.split(',').any(|option| option == "omitempty"),
                            tagged: !name.is_empty(),
                        };
                        fields.push((field, visit.twice));
                    }
                }
            }
        }
        level = next;
    }
    dominant(fields)
}

/// The struct that a field holds or points to.
fn inner(field: &Field) -> Option<&'static StructType> {
    match field.ty {
        Type::Struct(of) | Type::Pointer(Type::Struct(of)) => Some(of),
        _ => None,
    }
}

/// Of the fields with one name the shallowest is chosen, then one with a tag; none when two remain.
fn dominant(found: Vec<(JsonField, bool)>) -> Vec<JsonField> {
    let rank = |field: &JsonField| (field.path.len(), !field.tagged);
    let best = |(field, twice): &(JsonField, bool)| {
        let rivals = found.iter().filter(|(other, _)| other.name == field.name);
        let better = rivals.filter(|(other, _)| rank(other) <= rank(field)).count();
        better == 1 && !twice
    };
    let wins: Vec<bool> = found.iter().map(best).collect();
    let mut fields: Vec<JsonField> = found
        .into_iter()
        .zip(wins)
        .filter_map(|((field, _), wins)| wins.then_some(field))
        .collect();
    fields.sort_by(|a, b| a.path.cmp(&b.path));
    fields
}
