//! URLs.

use crate::{
    gostd::{Url, UserInfo},
    template::{Args, DICT, Failure, Function, Host, Map, STRING, Value},
};

/// The functions of this family.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("urlJoin", &[&DICT], &STRING, join),
    Function::new("urlParse", &[&STRING], &DICT, parse),
];

fn parse(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let text = args.text(0)?;
    host.produce(text.len())?;
    let url = Url::parse(text).map_err(|fault| Failure::new(format!("unable to parse url: {fault}")))?;
    let hostname = url.hostname().to_vec();
    let user = url.user.as_ref().map(UserInfo::text).unwrap_or_default();
    let parts = [
        ("scheme", url.scheme),
        ("host", url.host),
        ("hostname", hostname),
        ("path", url.path),
        ("query", url.query),
        ("opaque", url.opaque),
        ("fragment", url.fragment),
        ("userinfo", user),
    ];
    Ok(Value::dict(parts.map(|(name, part)| (name, Value::text(part)))))
}

fn join(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let parts = args.map(0)?;
    let mut url = Url {
        scheme: part(parts, "scheme")?,
        host: part(parts, "host")?,
        path: part(parts, "path")?,
        query: part(parts, "query")?,
        opaque: part(parts, "opaque")?,
        fragment: part(parts, "fragment")?,
        ..Url::default()
    };
    let user = part(parts, "userinfo")?;
    if !user.is_empty() {
        let sample = [b"proto://".as_slice(), &user, b"@host"].concat();
        let sample =
            Url::parse(&sample).map_err(|fault| Failure::new(format!("unable to parse userinfo in dict: {fault}")))?;
        url.user = sample.user;
    }
    let text = url.text();
    host.produce(text.len())?;
    Ok(Value::text(text))
}

/// The string at a key; nothing when there is no such key.
fn part(parts: &Map, key: &str) -> Result<Vec<u8>, Failure> {
    let Some(value) = parts.get(&Value::text(key)) else {
        return Ok(Vec::new());
    };
    match (value.bare(), value.type_of()) {
        (Value::String(text), _) => Ok(text.to_vec()),
        (_, Some(of)) => {
            let kind = of.kind_name();
            Err(Failure::new(format!(
                "unable to parse {key} key, must be of type string, but {kind} found"
            )))
        }
        // Sprig asks nil for its type.
        (_, None) => Err(Failure::new(
            "runtime error: invalid memory address or nil pointer dereference",
        )),
    }
}
