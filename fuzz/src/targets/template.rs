//! Templates of commit messages: Go's text/template with Sprig's functions.

use bumpwright_message::{Data, EXAMPLE, check as checked, read, render};
use bumpwright_template::{Limits, World};

/// A clock that stands, and chance that is none.
pub struct Still;

impl World for Still {
    fn now(&self) -> (i64, u32) {
        (1_767_323_045, 678_000_000)
    }

    fn random(&self, buffer: &mut [u8]) {
        for (n, byte) in buffer.iter_mut().enumerate() {
            *byte = (n as u8).wrapping_mul(37).wrapping_add(11);
        }
    }
}

/// The data that templates are tried with.
pub const DATA: &str = r#"{"automationObject": {"namespace": "flux", "name": "apps"}, "values": {"env": "prod", "n": "7"},
  "changes": [{"file": "a.yaml", "object": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "app", "namespace": "x"},
    "changes": [{"OldValue": "o/app:1", "NewValue": "o/app:2", "Setter": "x:app"}]}]}"#;

pub fn data() -> Data {
    read(DATA).expect("the data is valid")
}

/// A template, by what it says of its functions, that takes long by nature: keys and passwords.
pub fn is_slow(template: &str) -> bool {
    ["gen", "derivePassword", "bcrypt", "htpasswd"]
        .iter()
        .any(|word| template.contains(word))
}

/// Any text as a template.
pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let _ = read(text);
    if is_slow(text) {
        return;
    }
    let limits = Limits {
        steps: 20_000,
        output: 1 << 20,
        produced: 16 << 20,
        ..Limits::default()
    };
    let _ = render(text, &data(), limits, &Still);
    if checked(text, EXAMPLE.values.as_ref(), &Still).is_err() {
        let rendered = render(text, &EXAMPLE, Limits::default(), &Still);
        assert!(rendered.is_err(), "rendered, though it is not valid");
    }
}
