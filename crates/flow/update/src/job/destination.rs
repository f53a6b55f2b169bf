//! Where a run pushes: branch and refspecs (docs/decisions.md C30, C31; IUA-072 to IUA-090).

/// One refspec as written: `[+]SOURCE:DESTINATION`, both full reference names (IUA-090).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refspec {
    /// As written, for reports.
    pub text: String,
    /// A leading `+`: the destination is replaced whatever it holds.
    pub force: bool,
    /// The local reference.
    pub source: String,
    /// The reference at the remote.
    pub destination: String,
}

/// Reasons why nothing can be pushed with these settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DestinationError {
    /// Flux's text for it.
    #[error("malformed refspec, separators are wrong: {text:?}; write SOURCE:DESTINATION, both full reference names")]
    Malformed { text: String },
    /// An empty source would delete the reference, which automations do not do.
    #[error("refspec {text:?} has no source; deleting references is not supported")]
    NoSource { text: String },
    /// A refspec whose source is not a reference of this run.
    #[error("refspec {text:?}: there is no {source_name} to push; this run has {}", known.join(" and "))]
    UnknownSource {
        text: String,
        source_name: String,
        /// The references that it could have named.
        known: Vec<String>,
    },
    /// A wildcard on one side, or two on a side.
    #[error("malformed refspec, pattern is wrong: {text:?}; one '*' on both sides or none")]
    Pattern { text: String },
    /// Two commits for one reference.
    #[error("refspecs push two different commits to {reference}; leave one of them out")]
    Twice {
        /// The reference at the remote.
        reference: String,
    },
    /// IUA-074, in Flux's words.
    #[error("push spec not provided, and cannot be inferred from .spec.git.checkout.ref or GitRepository .spec.ref")]
    NoBranch,
}

impl Refspec {
    /// Reads one refspec.
    ///
    /// # Errors
    ///
    /// Not exactly one `:`, an empty side, or a wildcard on one side only.
    pub fn parse(text: &str) -> Result<Self, DestinationError> {
        let owned = || text.to_owned();
        let (force, body) = text.strip_prefix('+').map_or((false, text), |body| (true, body));
        let (source, destination) = match body.split_once(':') {
            Some((source, destination)) if !destination.contains(':') && !destination.is_empty() => {
                (source, destination)
            }
            _ => return Err(DestinationError::Malformed { text: owned() }),
        };
        if source.is_empty() {
            return Err(DestinationError::NoSource { text: owned() });
        }
        let stars = |side: &str| side.matches('*').count();
        if stars(source) != stars(destination) || stars(source) > 1 {
            return Err(DestinationError::Pattern { text: owned() });
        }
        Ok(Self {
            text: owned(),
            force,
            source: source.to_owned(),
            destination: destination.to_owned(),
        })
    }

    /// A refspec that pushes the commit of the run to one reference.
    pub(crate) fn of_commit(destination: String) -> Self {
        Self {
            text: format!("HEAD:{destination}"),
            force: false,
            source: "HEAD".to_owned(),
            destination,
        }
    }

    /// The branch to commit on, as named by a refspec for review; none for wildcards.
    fn branch_for_review(&self) -> Option<&str> {
        let names =
            is_review(&self.destination) && self.source.starts_with("refs/heads/") && !self.source.contains('*');
        names.then_some(self.source.as_str())
    }

    /// The destination for the local reference `local`, when this refspec covers it.
    fn covers(&self, local: &str) -> Option<String> {
        match self.source.split_once('*') {
            None => (self.source == local).then(|| self.destination.clone()),
            Some((before, after)) => {
                let middle = local.strip_prefix(before)?.strip_suffix(after)?;
                Some(self.destination.replacen('*', middle, 1))
            }
        }
    }
}

/// The two commits that a run has to push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// The commit that the run makes.
    New,
    /// The tip that was checked out.
    Tip,
}

/// One reference at the remote and what it is to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Full name at the remote.
    pub reference: String,
    /// Which commit.
    pub value: Value,
    /// Replace it whatever it holds (always with the old value as a lease).
    pub force: bool,
}

/// All that a run pushes, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destinations {
    /// The full name of the local branch that the commit is made on.
    pub work: String,
    /// True when that branch is not the one checked out (C30).
    pub switched: bool,
    /// The push of the branch; none with refspecs alone (C31).
    pub branch: Option<Target>,
    /// The second push, one entry per refspec.
    pub specs: Vec<Target>,
}

impl Destinations {
    /// Leaves a branch as it is.
    pub(crate) fn leave(&mut self, reference: &str) {
        self.branch = self.branch.take().filter(|target| target.reference != reference);
        self.specs.retain(|target| target.reference != reference);
    }

    /// Whether nothing is left to push.
    pub(crate) fn is_empty(&self) -> bool {
        self.branch.is_none() && self.specs.is_empty()
    }
}

/// References through which Gerrit (and AGit) accept changes; they cannot be read back.
#[must_use]
pub fn is_review(reference: &str) -> bool {
    reference.starts_with("refs/for/")
}

/// A branch's full name; full names stay as they are.
#[must_use]
pub fn full_branch(name: &str) -> String {
    if name.starts_with("refs/") {
        name.to_owned()
    } else {
        format!("refs/heads/{name}")
    }
}

/// Decides what is pushed where. `checkout` is the full name of the checked-out branch, if a branch was checked out.
///
/// # Errors
///
/// See [`DestinationError`]; all of them are found before anything is pushed.
pub fn destinations(
    checkout: Option<&str>,
    push_branch: Option<&str>,
    refspecs: &[Refspec],
) -> Result<Destinations, DestinationError> {
    let work = work(checkout, push_branch, refspecs).ok_or(DestinationError::NoBranch)?;
    let switched = checkout != Some(work.as_str());
    let branch = (push_branch.is_some() || refspecs.is_empty()).then(|| Target {
        reference: work.clone(),
        value: Value::New,
        force: switched,
    });
    let mut locals = vec![(work.clone(), Value::New)];
    if let Some(checkout) = checkout.filter(|_| switched) {
        locals.push((checkout.to_owned(), Value::Tip));
    }
    // As with Flux, a push branch is forced together with its refspecs. The checked-out branch is never forced: its
    // lease is not the tip when a tag or an older commit was requested.
    let forces = |reference: &str| branch.as_ref().is_some_and(|branch| branch.force) && Some(reference) != checkout;
    let mut specs: Vec<Target> = Vec::new();
    for spec in refspecs {
        for mut target in covered(spec, &locals)? {
            target.force |= forces(&target.reference);
            add(&mut specs, target, branch.as_ref())?;
        }
    }
    Ok(Destinations {
        work,
        switched,
        branch,
        specs,
    })
}

/// The full name of the branch that the commit is made on.
fn work(checkout: Option<&str>, push_branch: Option<&str>, refspecs: &[Refspec]) -> Option<String> {
    if let Some(branch) = push_branch {
        return Some(full_branch(branch));
    }
    // Only the review server sees the branch, so its short name is enough.
    let for_review = || refspecs.iter().find_map(Refspec::branch_for_review);
    checkout.map(|checkout| for_review().unwrap_or(checkout).to_owned())
}

/// The targets of a refspec; at least one is required.
fn covered(spec: &Refspec, locals: &[(String, Value)]) -> Result<Vec<Target>, DestinationError> {
    let targets: Vec<Target> = targets_of(spec, locals).collect();
    if targets.is_empty() {
        return Err(DestinationError::UnknownSource {
            text: spec.text.clone(),
            source_name: spec.source.clone(),
            known: locals.iter().map(|(name, _)| name.clone()).collect(),
        });
    }
    Ok(targets)
}

/// An equal commit is pushed to a reference once: Flux's "already up-to-date" is a success here (C30).
fn add(specs: &mut Vec<Target>, target: Target, branch: Option<&Target>) -> Result<(), DestinationError> {
    let earlier = branch.into_iter().chain(specs.iter());
    match earlier.clone().find(|other| other.reference == target.reference) {
        None => specs.push(target),
        Some(other) if other.value == target.value => {
            for spec in specs.iter_mut().filter(|spec| spec.reference == target.reference) {
                spec.force |= target.force;
            }
        }
        Some(other) => {
            return Err(DestinationError::Twice {
                reference: other.reference.clone(),
            });
        }
    }
    Ok(())
}

/// The targets of `spec` for the local references. `HEAD` is the commit of the run.
fn targets_of<'a>(spec: &'a Refspec, locals: &'a [(String, Value)]) -> impl Iterator<Item = Target> + 'a {
    locals.iter().filter_map(move |(local, value)| {
        let head = spec.source == "HEAD" && *value == Value::New;
        let destination = if head {
            Some(spec.destination.clone())
        } else {
            spec.covers(local)
        };
        destination.map(|reference| Target {
            reference,
            value: *value,
            force: spec.force,
        })
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const MAIN: Option<&str> = Some("refs/heads/main");

    fn specs(texts: &[&str]) -> Vec<Refspec> {
        texts.iter().map(|text| Refspec::parse(text).unwrap()).collect()
    }

    fn names(d: &Destinations) -> (Option<&str>, Vec<(&str, Value, bool)>) {
        let specs = d
            .specs
            .iter()
            .map(|t| (t.reference.as_str(), t.value, t.force))
            .collect();
        (d.branch.as_ref().map(|t| t.reference.as_str()), specs)
    }

    #[test]
    fn iua_072_no_push_section_goes_back_to_the_checkout_branch() {
        let d = destinations(MAIN, None, &[]).unwrap();
        assert_eq!(names(&d), (Some("refs/heads/main"), vec![]));
        assert!(!d.switched && !d.branch.unwrap().force);
    }

    #[test]
    fn iua_074_no_branch_to_be_had() {
        assert_eq!(destinations(None, None, &[]), Err(DestinationError::NoBranch));
        assert_eq!(
            destinations(None, None, &specs(&["a:b"])),
            Err(DestinationError::NoBranch)
        );
        assert!(destinations(None, Some("auto"), &[]).is_ok());
    }

    #[test]
    fn iua_080_the_same_branch_is_never_forced() {
        assert!(!destinations(MAIN, Some("main"), &[]).unwrap().branch.unwrap().force);
        assert!(destinations(MAIN, Some("auto"), &[]).unwrap().branch.unwrap().force);
    }

    #[test]
    fn c31_a_refspec_alone_pushes_only_itself() {
        let d = destinations(MAIN, None, &specs(&["refs/heads/main:refs/heads/auto"])).unwrap();
        assert_eq!(names(&d), (None, vec![("refs/heads/auto", Value::New, false)]));
        assert!(!d.switched);
    }

    #[test]
    fn iua_082_branch_first_then_refspecs() {
        let texts = [
            "refs/heads/auto:refs/for/main",
            "+refs/heads/main:refs/heads/mirror",
            "HEAD:refs/heads/third",
        ];
        let d = destinations(MAIN, Some("auto"), &specs(&texts)).unwrap();
        let wanted = vec![
            ("refs/for/main", Value::New, true),
            ("refs/heads/mirror", Value::Tip, true),
            ("refs/heads/third", Value::New, true),
        ];
        assert_eq!(names(&d), (Some("refs/heads/auto"), wanted));
    }

    #[test]
    fn c30_the_refspec_that_repeats_the_branch_is_no_second_push() {
        let d = destinations(MAIN, Some("main"), &specs(&["refs/heads/main:refs/heads/main"])).unwrap();
        assert_eq!(names(&d), (Some("refs/heads/main"), vec![]));
    }

    #[test]
    fn wildcards_cover_the_references_of_the_run() {
        let d = destinations(MAIN, Some("auto"), &specs(&["refs/heads/*:refs/remotes/x/*"])).unwrap();
        let wanted = vec![
            ("refs/remotes/x/auto", Value::New, true),
            ("refs/remotes/x/main", Value::Tip, true),
        ];
        assert_eq!(names(&d).1, wanted);
    }

    #[test]
    fn a_refspec_is_forced_with_its_push_branch_but_never_onto_the_checkout() {
        let texts = ["refs/heads/auto:refs/heads/copy", "refs/heads/auto:refs/heads/main"];
        let forced = destinations(MAIN, Some("auto"), &specs(&texts)).unwrap();
        let wanted = vec![
            ("refs/heads/copy", Value::New, true),
            ("refs/heads/main", Value::New, false),
        ];
        assert_eq!(names(&forced).1, wanted);
        let alone = destinations(MAIN, None, &specs(&["refs/heads/main:refs/heads/copy"])).unwrap();
        assert_eq!(names(&alone).1, vec![("refs/heads/copy", Value::New, false)]);
    }

    #[test]
    fn a_review_names_the_branch_to_commit_on() {
        let d = destinations(MAIN, None, &specs(&["refs/heads/auto:refs/for/main"])).unwrap();
        assert_eq!(names(&d), (None, vec![("refs/for/main", Value::New, false)]));
        assert_eq!(d.work, "refs/heads/auto");
        assert!(matches!(
            destinations(MAIN, Some("other"), &specs(&["refs/heads/auto:refs/for/main"])),
            Err(DestinationError::UnknownSource { .. })
        ));
    }

    #[test]
    fn one_reference_gets_one_commit() {
        let twice = ["refs/heads/main:refs/heads/x", "+HEAD:refs/heads/x"];
        let d = destinations(MAIN, None, &specs(&twice)).unwrap();
        assert_eq!(names(&d).1, vec![("refs/heads/x", Value::New, true)]);
        let undone = destinations(MAIN, Some("auto"), &specs(&["refs/heads/main:refs/heads/auto"]));
        assert!(matches!(undone, Err(DestinationError::Twice { .. })), "{undone:?}");
    }

    #[test]
    fn what_cannot_be_pushed_is_said_before_anything_is() {
        assert!(matches!(
            Refspec::parse("refs/heads/x"),
            Err(DestinationError::Malformed { .. })
        ));
        assert!(matches!(
            Refspec::parse("a:b:c"),
            Err(DestinationError::Malformed { .. })
        ));
        assert!(matches!(Refspec::parse("a:"), Err(DestinationError::Malformed { .. })));
        assert!(matches!(
            Refspec::parse(":refs/heads/x"),
            Err(DestinationError::NoSource { .. })
        ));
        assert!(matches!(
            Refspec::parse("refs/heads/*:refs/x"),
            Err(DestinationError::Pattern { .. })
        ));
        assert!(matches!(
            Refspec::parse("+:refs/heads/x"),
            Err(DestinationError::NoSource { .. })
        ));
        let unknown = destinations(MAIN, None, &specs(&["refs/heads/nope:refs/heads/auto"])).unwrap_err();
        assert!(unknown.to_string().contains("there is no refs/heads/nope"), "{unknown}");
    }
}
