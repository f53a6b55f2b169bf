//! Resolution of a checkout to a reference and an object of the listing.

use crate::wire::listing::{Listed, Listing, MAX_NAME};
use crate::{Also, Checkout, GitError, ObjectId};

/// Assumed targets of HEAD when the remote does not report one.
const USUAL_BRANCHES: [&str; 2] = ["refs/heads/main", "refs/heads/master"];

/// A resolved reference, or a commit given by its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// The full name; empty for a bare commit.
    pub(crate) reference: String,
    /// The object to fetch.
    pub(crate) object: ObjectId,
    /// The branch to search when the server does not send a bare commit: its name and value.
    pub(crate) branch: Option<(String, ObjectId)>,
    /// True when `object` comes from the user rather than from the listing.
    pub(crate) bare: bool,
}

impl Checkout<'_> {
    /// The prefixes of the references that resolve it.
    pub(crate) fn prefixes(&self) -> Vec<String> {
        match self {
            Self::Default | Self::Commit { branch: None, .. } => {
                let usual = USUAL_BRANCHES.iter().copied();
                std::iter::once("HEAD").chain(usual).map(str::to_owned).collect()
            }
            Self::Branch(name) | Self::Commit { branch: Some(name), .. } => vec![format!("refs/heads/{name}")],
            Self::Tag(name) => vec![format!("refs/tags/{name}")],
            Self::Semver { .. } => vec!["refs/tags/".to_owned()],
            Self::Name(name) => vec![name.clone()],
        }
    }

    /// Finds the reference in a listing.
    pub(crate) fn resolve(&self, listing: &Listing) -> Result<Resolved, GitError> {
        match self {
            Self::Default => default(listing),
            Self::Branch(name) => named(listing, &format!("refs/heads/{name}")),
            Self::Tag(name) => named(listing, &format!("refs/tags/{name}")),
            Self::Name(name) if name == "HEAD" => default(listing),
            Self::Name(name) => named(listing, name),
            Self::Semver { range, choose } => {
                let tags: Vec<String> = (listing.refs.iter())
                    .filter_map(|listed| listed.name.strip_prefix("refs/tags/").map(str::to_owned))
                    .collect();
                let chosen = choose(&tags).ok_or_else(|| GitError::NoTagMatches { range: range.clone() })?;
                named(listing, &format!("refs/tags/{chosen}"))
            }
            Self::Commit { id, branch } => commit(listing, id, branch.as_deref()),
        }
    }
}

fn named(listing: &Listing, name: &str) -> Result<Resolved, GitError> {
    let not_found = || GitError::RefNotFound { name: name.to_owned() };
    let object = listing.find(name).and_then(|listed| listed.id).ok_or_else(not_found)?;
    Ok(Resolved {
        reference: name.to_owned(),
        object,
        branch: None,
        bare: false,
    })
}

/// HEAD's target. A HEAD without a reported target is matched with the usual branches, and stands for itself
/// when it is not one of them (a detached HEAD).
fn default(listing: &Listing) -> Result<Resolved, GitError> {
    let head = listing.find("HEAD");
    if let Some(target) = head.and_then(|head| head.target.as_deref())
        && let Some(id) = head.and_then(|head| head.id)
    {
        return Ok(Resolved {
            reference: target.to_owned(),
            object: id,
            branch: None,
            bare: false,
        });
    }
    for usual in USUAL_BRANCHES {
        if let Ok(found) = named(listing, usual)
            && head.and_then(|head| head.id).is_none_or(|id| id == found.object)
        {
            return Ok(found);
        }
    }
    let wanted = head.and_then(|head| head.target.as_deref()).unwrap_or("HEAD");
    match head.and_then(|head| head.id) {
        Some(_) => named(listing, "HEAD"),
        None => Err(GitError::RefNotFound {
            name: wanted.to_owned(),
        }),
    }
}

fn commit(listing: &Listing, id: &str, branch: Option<&str>) -> Result<Resolved, GitError> {
    let object = ObjectId::from_hex(id.as_bytes()).map_err(|_| GitError::CommitNotFound {
        id: id.to_owned(),
        detail: "write the full hexadecimal id of 40 (SHA-1) or 64 (SHA-256) digits".to_owned(),
    })?;
    let Some(branch) = branch else {
        let hint = default(listing).ok().map(|found| (found.reference, found.object));
        return Ok(Resolved {
            reference: String::new(),
            object,
            branch: hint,
            bare: true,
        });
    };
    let head = named(listing, &format!("refs/heads/{branch}"))?;
    let hint = Some((head.reference.clone(), head.object));
    Ok(Resolved {
        reference: head.reference,
        object,
        branch: hint,
        bare: true,
    })
}

/// The commit of a listed reference, as far as the listing has it.
pub(crate) fn commit_of(listed: &Listed) -> Option<ObjectId> {
    listed.peeled.or(listed.id)
}

/// All prefixes for one listing, each once.
pub(crate) fn prefixes(checkout: &Checkout<'_>, also: &[Also]) -> Result<Vec<String>, GitError> {
    let mut prefixes = checkout.prefixes();
    for other in also {
        if !prefixes.iter().any(|known| other.reference.starts_with(known.as_str())) {
            prefixes.push(other.reference.clone());
        }
    }
    match prefixes
        .iter()
        .find(|name| name.len() > MAX_NAME || name.contains(['\n', '\0']))
    {
        None => Ok(prefixes),
        Some(name) => {
            let shown: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
            Err(GitError::Invalid(format!(
                "\"{shown}\" cannot name a reference: it has a line break or is too long"
            )))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn id(digit: u8) -> ObjectId {
        ObjectId::from_hex(format!("{digit}").repeat(40).as_bytes()).unwrap()
    }

    fn listed(name: &str, digit: u8, target: Option<&str>) -> Listed {
        Listed {
            name: name.to_owned(),
            id: (digit > 0).then(|| id(digit)),
            peeled: None,
            target: target.map(str::to_owned),
        }
    }

    fn listing(refs: &[Listed]) -> Listing {
        let mut listing = Listing::default();
        listing.refs = refs.to_vec();
        listing
    }

    #[test]
    fn head_leads_to_its_branch() {
        let all = listing(&[
            listed("HEAD", 1, Some("refs/heads/trunk")),
            listed("refs/heads/main", 2, None),
        ]);
        assert_eq!(Checkout::Default.resolve(&all).unwrap().reference, "refs/heads/trunk");
    }

    #[test]
    fn a_silent_head_is_matched_with_the_usual_branches() {
        let all = listing(&[
            listed("HEAD", 2, None),
            listed("refs/heads/main", 1, None),
            listed("refs/heads/master", 2, None),
        ]);
        assert_eq!(Checkout::Default.resolve(&all).unwrap().reference, "refs/heads/master");
        let detached = listing(&[listed("HEAD", 3, None), listed("refs/heads/main", 1, None)]);
        assert_eq!(Checkout::Default.resolve(&detached).unwrap().reference, "HEAD");
    }

    #[test]
    fn an_unborn_head_names_the_missing_branch() {
        let all = listing(&[listed("HEAD", 0, Some("refs/heads/gone"))]);
        assert_eq!(
            Checkout::Default.resolve(&all).unwrap_err().to_string(),
            "couldn't find remote ref \"refs/heads/gone\""
        );
    }

    #[test]
    fn a_longer_name_with_the_same_start_is_not_taken() {
        let all = listing(&[listed("refs/heads/main-2", 1, None)]);
        assert!(matches!(
            Checkout::Branch("main".into()).resolve(&all),
            Err(GitError::RefNotFound { .. })
        ));
    }

    #[test]
    fn the_caller_chooses_among_tags() {
        let all = listing(&[listed("refs/tags/v1", 1, None), listed("refs/tags/v2", 2, None)]);
        let checkout = |choose| Checkout::Semver {
            range: ">=1".to_owned(),
            choose,
        };
        let last = |tags: &[String]| tags.last().cloned();
        assert_eq!(checkout(&last).resolve(&all).unwrap().object, id(2));
        assert!(matches!(
            checkout(&|_: &[String]| None).resolve(&all),
            Err(GitError::NoTagMatches { .. })
        ));
    }

    #[test]
    fn an_abbreviated_commit_is_refused_with_a_way_out() {
        let checkout = Checkout::Commit {
            id: "abc123".to_owned(),
            branch: None,
        };
        assert!(
            checkout
                .resolve(&listing(&[]))
                .unwrap_err()
                .to_string()
                .contains("full hexadecimal id")
        );
    }

    #[test]
    fn prefixes_are_asked_for_once() {
        let also = [Also {
            reference: "refs/heads/main".to_owned(),
            fetch: true,
        }];
        assert_eq!(
            prefixes(&Checkout::Branch("main".to_owned()), &also).unwrap(),
            ["refs/heads/main"]
        );
    }
}
