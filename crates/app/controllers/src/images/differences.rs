//! The differences of commits of automations, from the mirrors that their runs have used. Nothing is fetched for them.

use std::sync::Arc;
use std::time::Duration;

use crate::mirror_uses::Owner;
use crate::mirrors::Mirrors;
use bumpwright_api::ObjectName;
use bumpwright_git::Objects;
use bumpwright_http::Deadline;
use bumpwright_kube::IMAGE_UPDATE_AUTOMATION;
use bumpwright_ui::Differences;
use bumpwright_update::{NoDifference, difference};

/// The time for all commits of a page.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the pages ask for differences.
pub(crate) fn differences(mirrors: Arc<Mirrors>) -> Differences {
    Box::new(move |automation: &ObjectName, commits: &[String]| {
        let owner = Owner::new(IMAGE_UPDATE_AUTOMATION.kind, automation.clone());
        let mirrors = mirrors.look(&owner, Deadline::after(PATIENCE));
        commits.iter().map(|commit| of_any(&mirrors, commit)).collect()
    })
}

/// The difference of a commit, from the first mirror that has it.
fn of_any(mirrors: &[Objects], commit: &str) -> Result<String, bumpwright_ui::NoDifference> {
    let mut why = None;
    for objects in mirrors {
        match difference(objects, commit) {
            Ok(text) => return Ok(text),
            Err(NoDifference::NoCommit) => why.get_or_insert(NoDifference::NoCommit),
            Err(error) => why.insert(error),
        };
    }
    Err(why.map_or(bumpwright_ui::NoDifference::NoMirror, |why| {
        bumpwright_ui::NoDifference::Mirror(why.into())
    }))
}
