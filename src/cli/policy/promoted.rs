//! What Git says of policies that promote by path (`bumpwright.dev/promote-path`), where their manifests
//! are in a repository.

use std::path::{Path, PathBuf};

use super::find::{Finding, Subject};
use bumpwright_api::ImagePolicy;
use bumpwright_gostd::Time;
use bumpwright_policy::{GuardRefusal, LatestRef};
use bumpwright_update::{Proven, RunError, proven_in};

/// The folder of manifests that were given; none for standard input.
pub(super) fn folder(given: &Path) -> Option<PathBuf> {
    match given.parent() {
        _ if given.as_os_str() == "-" => None,
        _ if given.is_dir() => Some(given.to_owned()),
        Some(above) if above.as_os_str().is_empty() => Some(PathBuf::from(".")),
        above => above.map(Path::to_owned),
    }
}

/// Judges the choices by the first of these folders whose repository has the paths, at the commit that
/// is checked out there.
pub(super) fn judge(findings: &mut [Finding], subjects: &[Subject], folders: &[PathBuf], now: &Time) {
    let chosen: Vec<(&ImagePolicy, LatestRef)> = (findings.iter().zip(subjects))
        .filter_map(|(finding, subject)| Some((&subject.policy, finding.choice.clone()?)))
        .collect();
    for folder in folders {
        let mut proven = match proven_in(folder, &chosen, now) {
            Ok(proven) if !proven.is_empty() => proven,
            Ok(_) | Err(RunError::NoRepository(_)) => continue,
            Err(error) => {
                let notes = findings.first_mut().map(|finding| &mut finding.notes);
                notes.into_iter().for_each(|notes| notes.push(error.to_string()));
                continue;
            }
        };
        for finding in findings {
            if let Some(proven) = finding.policy.as_ref().and_then(|name| proven.remove(name)) {
                finding.is_promoted(&proven);
            }
        }
        return;
    }
}

impl Finding {
    fn is_promoted(&mut self, proven: &Proven) {
        let has = &proven.has;
        let shown = proven.image.as_ref().map(ToString::to_string);
        if let Some(explained) = self.explanation.as_mut().filter(|told| told.verdict.is_some()) {
            let shown = shown.as_deref().unwrap_or("nothing");
            explained.steps.push(format!(
                "By the commit that is checked out, {has}, so {shown} is proven."
            ));
        }
        if proven.image != self.choice {
            let why = match shown {
                Some(shown) => format!("{has}; {shown} is proven"),
                None => has.clone(),
            };
            self.guards.push(GuardRefusal::NotProven { promotion: None, why });
        }
    }
}
