//! `toYamlPretty`: YAML as yaml.v3 writes it with an indent of two.

use bumpwright_gostd::{format_float, lossy};
use bumpwright_template::{ANY, Args, Failure, Function, Host, Map, STRING, Value};
use bumpwright_yaml::{
    self as yaml, Dialect, Entry, Mapping, Node, Scalar, SequenceIndent, Style, Tag, is_base_60, natural_order,
    plain_tag, write_kyaml,
};

/// The function of this file.
pub(super) static FUNCTIONS: &[Function] = &[Function::new("toYamlPretty", &[&ANY], &STRING, pretty)];

fn pretty(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let node = node_of(host, args.value(0)?)?;
    let mut text = String::new();
    write_kyaml(&node, SequenceIndent::Wide, &mut text);
    host.produce(text.len())?;
    Ok(Value::text(text.strip_suffix('\n').unwrap_or(&text)))
}

fn node_of(host: &mut Host<'_>, value: &Value) -> Result<Node, Failure> {
    host.step(1)?;
    host.read(value)?;
    host.deeper(|host| {
        Ok(match value.bare() {
            Value::Bool(truth) => plain(truth.to_string(), Tag::Bool),
            Value::Int(_, number) => plain(number.to_string(), Tag::Int),
            Value::Uint(_, number) => plain(number.to_string(), Tag::Int),
            Value::Float(_, number) => float(*number),
            Value::String(text) => Node::new(yaml::Value::Scalar(text_of(&lossy(text)))),
            Value::Map(map) => mapping(host, map)?,
            other => match other.items() {
                Some(items) => {
                    let items: Result<Vec<Node>, Failure> = items.iter().map(|item| node_of(host, item)).collect();
                    Node::sequence(items?)
                }
                None => Node::null(),
            },
        })
    })
}

fn mapping(host: &mut Host<'_>, map: &Map) -> Result<Node, Failure> {
    let mut entries = Vec::new();
    for (key, value) in map.counted_entries(host)?.iter() {
        let value = node_of(host, value)?;
        if let yaml::Value::Scalar(key) = node_of(host, key)?.value {
            let place = value.place;
            entries.push(Entry { key, place, value });
        }
    }
    entries.sort_by(|a, b| natural_order(&a.key.text, &b.key.text));
    let mapping = Mapping {
        entries,
        ..Mapping::default()
    };
    Ok(Node::new(yaml::Value::Mapping(mapping)))
}

/// A whole number is written as one, without a tag.
fn float(number: f64) -> Node {
    let text = spelled(number);
    let tag = plain_tag(&text, Dialect::V3);
    plain(text, tag)
}

fn plain(text: String, tag: Tag) -> Node {
    Node::new(yaml::Value::Scalar(Scalar {
        text: text.into(),
        tag,
        style: Style::Plain,
    }))
}

fn spelled(number: f64) -> String {
    match number {
        number if number.is_nan() => ".nan".to_owned(),
        f64::INFINITY => ".inf".to_owned(),
        f64::NEG_INFINITY => "-.inf".to_owned(),
        number => format_float(number, b'g', None, 64),
    }
}

/// A string: in quotes when it would be read as something else, as a block when it has several lines.
fn text_of(text: &str) -> Scalar {
    let is_other = plain_tag(text, Dialect::V3) != Tag::Str || plain_tag(text, Dialect::V2) == Tag::Bool;
    let style = match text {
        "<<" => Style::Plain,
        _ if is_other || is_base_60(text) => Style::Double,
        _ if text.contains('\n') => Style::Literal,
        _ => Style::Plain,
    };
    Scalar {
        style,
        ..Scalar::string(text)
    }
}
