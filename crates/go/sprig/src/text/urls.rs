//! URLs.

use bumpwright_gostd::{Url, UserInfo};
use bumpwright_template::{Args, DICT, Failure, Function, Host, Map, STRING, Value};

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[
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

/// The string at a key; empty if the key is missing.
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
        // Sprig takes the type of nil.
        (_, None) => Err(Failure::new(
            "runtime error: invalid memory address or nil pointer dereference",
        )),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use crate::testing::call;
    use bumpwright_template::{Failure, Value};

    fn joined(parts: &Value) -> Result<String, Failure> {
        match call("urlJoin", std::slice::from_ref(parts))? {
            Value::String(text) => Ok(text.lossy().into_owned()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn parts_come_apart_and_together() {
        let text = "https://u:p@h.io:8443/a%20b?x=1#f";
        let parts = call("urlParse", &[text.into()]).unwrap();
        assert_eq!(joined(&parts).as_deref(), Ok(text));
        let Value::Map(map) = parts else { panic!() };
        assert_eq!(format!("{:?}", map.get(&"hostname".into())), "Some(String(\"h.io\"))");
    }

    #[test]
    fn parts_must_be_strings() {
        for (value, expected) in [
            (
                Value::int(1),
                "unable to parse host key, must be of type string, but int found",
            ),
            (
                Value::list(vec![]),
                "unable to parse host key, must be of type string, but slice found",
            ),
            (
                Value::Nil,
                "runtime error: invalid memory address or nil pointer dereference",
            ),
        ] {
            assert_eq!(joined(&Value::dict([("host", value)])), Err(Failure::new(expected)));
        }
        let expected = "unable to parse userinfo in dict: parse \"proto://a b@host\": net/url: invalid userinfo";
        assert_eq!(
            joined(&Value::dict([("userinfo", "a b".into())])),
            Err(Failure::new(expected))
        );
    }
}
