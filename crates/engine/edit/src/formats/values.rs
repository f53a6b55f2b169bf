//! Fields that are chosen by where they are in a file that is not YAML.

use super::reader::{State, Value};
use super::valued::Values;
use super::{beside, hcl_tree, json, toml_tree};
use crate::cut::OUTSIDE;
use crate::file::Format;
use crate::find::values::{self, MOST};
use crate::lines::Lines;
use crate::model::Reason;
use crate::scanned::{LocalSkip, Scan};
use crate::site::{Choice, Site};

/// Scans a file for the fields that `choose` names.
///
/// # Errors
/// The skip to report when the file does not parse.
pub(crate) fn choose(
    format: Format,
    text: &str,
    choose: &dyn Fn(&[values::Value]) -> Choice,
) -> Result<Scan, LocalSkip> {
    let lines = Lines::of(text);
    let (name, read) = match format {
        Format::Json => ("JSON", json::values(text)),
        Format::Toml => ("TOML", toml_tree::values(text)),
        _ => ("HCL", hcl_tree::values(text)),
    };
    let Values { tree, scalars } = read.map_err(|(at, why)| {
        let message = format!("the {name} does not parse: {why}; correct it, no rule read it");
        LocalSkip::new(lines.place(at), Reason::Unparsable, message)
    })?;
    if scalars.len() > MOST {
        let message = format!("the file has more than {MOST} values; split it, no rule read it");
        return Err(LocalSkip::new((1, 1), Reason::TooLarge, message));
    }
    let mut scan = Scan::default();
    for (number, setters) in choose(&tree.roots) {
        let Some(value) = scalars.get(number) else { continue };
        let place = lines.place(value.at);
        for (setter, rule) in setters {
            match refusal(value) {
                None => match Site::verbatim(setter, text, value.span.clone(), place) {
                    Some(site) => scan.sites.push(Site {
                        rule: Some(rule),
                        ..site
                    }),
                    None => {
                        let skip = LocalSkip::new(place, Reason::NotAScalar, OUTSIDE.to_owned());
                        scan.skips.push(skip);
                    }
                },
                Some((reason, why)) => {
                    let message = format!("the value that a rule sets to {setter} {why}");
                    scan.skips.push(LocalSkip::new(place, reason, message));
                }
            }
        }
    }
    scan.sites.sort_by_key(|site| site.span.start);
    Ok(beside::complete(text, scan))
}

/// Why a value is not edited.
fn refusal(value: &Value) -> Option<(Reason, String)> {
    match value.state {
        State::Whole => None,
        State::Interpolated => Some((
            Reason::Interpolated,
            "has variables or templates in it; name the place where the version itself is written".to_owned(),
        )),
        State::Other(what) => Some((Reason::NotAScalar, format!("is {what}"))),
    }
}
