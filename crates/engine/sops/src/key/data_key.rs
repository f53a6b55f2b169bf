//! The data key of a file: one master key of a group decrypts the group's part, enough groups yield the key.

use super::service::{KeyError, KeyService, MasterKey};
use super::shamir::{CombineError, combine};
use crate::metadata::{KeyGroup, Metadata};
use crate::report::{prefix, wrap};
use zeroize::Zeroizing;

/// The kinds of keys that are tried first, SOPS' default order.
const ORDER: [&str; 2] = ["age", "pgp"];

/// Why a file's data key cannot be recovered, in SOPS' report for users.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DataKeyError {
    #[error("{0}")]
    Refused(String),
    #[error("could not get data key from shamir parts: {0}")]
    Shamir(CombineError),
}

/// The errors of a group; `None` for one that decrypted its part.
type GroupResult = Option<Vec<(String, KeyError)>>;

/// Recovers the data key.
pub(crate) fn data_key(metadata: &Metadata, service: &dyn KeyService) -> Result<Zeroizing<Vec<u8>>, DataKeyError> {
    let mut parts = Vec::new();
    let mut results = Vec::new();
    for group in &metadata.groups {
        match group_part(group, service) {
            Ok(part) => {
                parts.push(part);
                results.push(None);
            }
            Err(errors) => results.push(Some(errors)),
        }
    }
    if metadata.groups.len() > 1 {
        let wanted = usize::try_from(metadata.threshold).unwrap_or(0);
        return if parts.len() < wanted {
            Err(refused(metadata.threshold, &results))
        } else {
            combine(&parts).map_err(DataKeyError::Shamir)
        };
    }
    parts.pop().ok_or_else(|| refused(metadata.threshold, &results))
}

/// The part of a group, decrypted by any of its keys; else the error of each key.
fn group_part(group: &KeyGroup, service: &dyn KeyService) -> Result<Zeroizing<Vec<u8>>, Vec<(String, KeyError)>> {
    let mut keys: Vec<&MasterKey> = group.iter().collect();
    keys.sort_by_key(|key| ORDER.iter().position(|kind| *kind == key.kind()).unwrap_or(ORDER.len()));
    let mut errors = Vec::new();
    for key in keys {
        match service.decrypt(key) {
            Ok(part) => return Ok(part),
            Err(error) => errors.push((key.to_string(), error)),
        }
    }
    Err(errors)
}

fn refused(threshold: i64, results: &[GroupResult]) -> DataKeyError {
    let groups: Vec<String> = results
        .iter()
        .enumerate()
        .map(|(at, result)| group_report(at, result.as_deref()))
        .collect();
    let trailer = match threshold {
        0 => "Recovery failed because no master key was able to decrypt the file. In order for SOPS to recover the file, \
              at least one key has to be successful, but none were."
            .to_owned(),
        _ => {
            let recovered = results.iter().filter(|result| result.is_none()).count();
            format!(
                "Recovery failed because the file was encrypted with a Shamir threshold of {threshold}, but only \
                 {recovered} part(s) were successfully recovered, one for each successful key group. In order for \
                 SOPS to recover the file, at least {threshold} groups have to be successful. In order for a group to \
                 be successful, decryption has to succeed with any of the keys in that key group."
            )
        }
    };
    DataKeyError::Refused(format!(
        "Failed to get the data key required to decrypt the SOPS file.\n\n{}\n\n{}",
        groups.join("\n\n"),
        wrap(&trailer, 75)
    ))
}

fn group_report(at: usize, errors: Option<&[(String, KeyError)]>) -> String {
    let Some(errors) = errors else {
        return format!("Group {at}: SUCCESS");
    };
    let keys: Vec<String> = errors.iter().map(|(name, error)| key_report(name, error)).collect();
    format!("Group {at}: FAILED\n{}", prefix(&keys.join("\n\n"), "  "))
}

fn key_report(name: &str, error: &KeyError) -> String {
    let lines = prefix(&wrap(&error.to_string(), 60), "  | ");
    let lines = match lines.strip_prefix(' ') {
        Some(rest) => format!("-{rest}"),
        None => lines,
    };
    format!("{name}: FAILED\n{}", prefix(&lines, "  "))
}
