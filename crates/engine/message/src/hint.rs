//! Hints at what the author of a template meant.

use bumpwright_nearest::nearest;
use bumpwright_template::{Missing, MissingKind};

/// Functions of Sprig that its `HermeticTxtFuncMap` excludes, since their results vary by call or machine.
const NOT_HERMETIC: &[&str] = &[
    "date",
    "dateInZone",
    "dateModify",
    "date_in_zone",
    "date_modify",
    "env",
    "expandenv",
    "getHostByName",
    "htmlDate",
    "htmlDateInZone",
    "now",
    "randAlpha",
    "randAlphaNum",
    "randAscii",
    "randBytes",
    "randNumeric",
    "uuidv4",
];

/// Greatest number of names that are listed when none is similar.
const LISTED: usize = 12;

/// A hint about an unknown name: `no field Update, did you mean .Updated?`
pub(super) fn hint(missing: &Missing) -> Option<String> {
    let (what, sigil) = match missing.what {
        MissingKind::Field => ("field", "."),
        MissingKind::Function => ("function", ""),
        MissingKind::Variable => ("variable", ""),
        MissingKind::Template => ("template", ""),
    };
    let name = &missing.name;
    if missing.what == MissingKind::Function && NOT_HERMETIC.contains(&name.as_str()) {
        return Some(format!(
            "`{name}` is not available: a message must not depend on clock, randomness, environment or network"
        ));
    }
    if let Some(similar) = similar(name, &missing.known) {
        return Some(format!("no {what} `{name}`, did you mean `{sigil}{similar}`?"));
    }
    if missing.known.is_empty() {
        return Some(format!("no {what} `{name}` here"));
    }
    let mut listed: Vec<String> = missing.known.iter().map(|known| format!("`{sigil}{known}`")).collect();
    if listed.len() > LISTED {
        return Some(format!("no {what} `{name}`"));
    }
    listed.sort();
    Some(format!("no {what} `{name}`; there is {}", listed.join(", ")))
}

/// The known name that was probably meant: the nearest, or one with this prefix.
fn similar<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let begins_so = || {
        let mut longer = known.iter().filter(|known| known.to_lowercase().starts_with(&lower));
        longer.next().filter(|_| lower.len() >= 3).map(String::as_str)
    };
    nearest(name, known.iter().map(String::as_str)).or_else(begins_so)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint_of(what: MissingKind, name: &str, known: &[&str]) -> Option<String> {
        hint(&Missing {
            name: name.to_owned(),
            known: known.iter().map(|name| (*name).to_owned()).collect(),
            what,
        })
    }

    #[test]
    fn names_what_was_meant() {
        let root = ["AutomationObject", "Changed", "Updated", "Values"];
        for (name, expected) in [
            ("Update", "no field `Update`, did you mean `.Updated`?"),
            ("changed", "no field `changed`, did you mean `.Changed`?"),
            ("Automation", "no field `Automation`, did you mean `.AutomationObject`?"),
            (
                "Nope",
                "no field `Nope`; there is `.AutomationObject`, `.Changed`, `.Updated`, `.Values`",
            ),
        ] {
            assert_eq!(hint_of(MissingKind::Field, name, &root).as_deref(), Some(expected));
        }
        assert_eq!(
            hint_of(MissingKind::Function, "uper", &["upper", "lower"]).as_deref(),
            Some("no function `uper`, did you mean `upper`?")
        );
        assert_eq!(
            hint_of(MissingKind::Function, "now", &["not"]).as_deref(),
            Some("`now` is not available: a message must not depend on clock, randomness, environment or network")
        );
    }
}
