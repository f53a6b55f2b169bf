//! Files of SOPS whose MAC is over all of their values: SOPS refuses them once a plain value was
//! changed by anybody else.

use memchr::memmem;

use super::values::{Value, documents};

/// Whether the MAC of a file is over its plain values too. `mac_only_encrypted` leaves these out.
#[must_use]
pub fn is_signed(bytes: &[u8]) -> bool {
    if memmem::find(bytes, b"sops").is_none() || memmem::find(bytes, b"mac").is_none() {
        return false;
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    // JSON is YAML.
    documents(text).is_ok_and(|found| found.iter().any(of_document)) || of_lines(text)
}

fn of_document(document: &Value) -> bool {
    let own = document.get("sops");
    let text = |key: &str| own.and_then(|sops| sops.get(key)).and_then(Value::scalar);
    text("mac").is_some() && text("mac_only_encrypted").is_none_or(|(text, _)| text != "true")
}

/// `.env`: `sops_mac=…`; INI: `mac = …` in the section `[sops]`.
fn of_lines(text: &str) -> bool {
    let mut section = "";
    let (mut has_mac, mut is_partial) = (false, false);
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = name;
        }
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let (key, value) = (key.trim(), value.trim());
        let key = match (key.strip_prefix("sops_"), section) {
            (Some(key), "") => key,
            (None, "sops") => key,
            _ => continue,
        };
        has_mac |= key == "mac" && !value.is_empty();
        is_partial |= key == "mac_only_encrypted" && value == "true";
    }
    has_mac && !is_partial
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mac_is_over_all_values_unless_it_says_otherwise() {
        for (text, signed) in [
            ("image: x\nsops:\n  mac: ENC[x]\n  version: 3.9.4\n", true),
            ("a: 1\n---\nimage: x\nsops: {mac: 'ENC[x]'}\n", true),
            (
                "image: x\nsops:\n    mac: ENC[x]\n    mac_only_encrypted: true\n",
                false,
            ),
            ("image: x\nsops:\n    version: 3.9.4\n", false),
            ("image: x\nspec: {sops: {mac: x}}\n", false),
            ("# sops mac\nimage: x\n", false),
            (r#"{"image": "x", "sops": {"mac": "ENC[x]"}}"#, true),
            (
                r#"{"image": "x", "sops": {"mac": "ENC[x]", "mac_only_encrypted": true}}"#,
                false,
            ),
            ("TAG=1\nsops_mac=ENC[x]\n", true),
            ("TAG=1\nsops_mac=ENC[x]\nsops_mac_only_encrypted=true\n", false),
            ("[a]\ntag = 1\n[sops]\nmac                = ENC[x]\n", true),
            ("[a]\nmac = 1\n[sops]\nversion = 3\n", false),
        ] {
            assert_eq!(is_signed(text.as_bytes()), signed, "{text}");
        }
    }
}
