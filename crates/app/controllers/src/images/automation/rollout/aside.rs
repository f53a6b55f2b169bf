//! Where commits go that put images back: the way of the automation's commits, and never in their place.

use bumpwright_update::{RemoteJob, full_branch, is_review};

/// Options that would give a request the automation's title and text, not those of the commit.
const TEXTS: [&str; 4] = [
    "title",
    "description",
    "merge_request.title",
    "merge_request.description",
];

/// The refspec of the push would put the commit in the place of the automation's own.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("push.refspec '{0}' would put the commit in the place of the automation's own")]
pub(super) struct TakesPlace(String);

/// Has a job push commits that put images back on the branch `reconciled`, by its full name. Where the
/// automation's commits go to a branch, request or change of their own, these have another one: they would take
/// the place of the automation's.
pub(super) fn aside(job: &mut RemoteJob, reconciled: &str) -> Result<(), TakesPlace> {
    let of_checkout = || job.start_branch().filter(|_| job.push.refspecs.is_empty());
    let branch = job.push.branch.clone().or_else(of_checkout);
    let push = &mut job.push;
    if let Some(branch) = branch.filter(|branch| full_branch(branch) != reconciled) {
        let short = branch.strip_prefix("refs/heads/").unwrap_or(&branch);
        let other = format!("{short}-put-back");
        let (from, to) = (full_branch(&branch), full_branch(&other));
        let sources = push.refspecs.iter_mut().map(|refspec| &mut refspec.source);
        sources
            .filter(|source| **source == from)
            .for_each(|source| source.clone_from(&to));
        push.branch = Some(other);
    }
    let base = reconciled.strip_prefix("refs/heads/").unwrap_or(reconciled);
    for refspec in &mut push.refspecs {
        if is_review(&refspec.destination) {
            refspec.destination = for_review(&refspec.destination, base);
        } else if refspec.destination != reconciled {
            return Err(TakesPlace(refspec.text.clone()));
        }
    }
    push.options.retain(|(key, _)| !TEXTS.contains(&key.as_str()));
    for (key, value) in &mut push.options {
        match key.as_str() {
            "topic" => value.push_str("-put-back"),
            "merge_request.target" => base.clone_into(value),
            _ => {}
        }
    }
    if let Some(request) = &mut job.pull_request {
        request.base = None;
    }
    Ok(())
}

/// Where commits for the review of a branch are pushed, with another topic: `refs/for/BRANCH/TOPIC`,
/// `refs/for/BRANCH%topic=TOPIC`.
fn for_review(destination: &str, branch: &str) -> String {
    let (reference, options) = destination.split_once('%').unwrap_or((destination, ""));
    let base = format!("refs/for/{branch}");
    let topic = reference.strip_prefix(&base).and_then(|rest| rest.strip_prefix('/'));
    let mut text = base;
    if let Some(topic) = topic {
        text.push_str(&format!("/{topic}-put-back"));
    }
    for (n, option) in options.split(',').filter(|option| !option.is_empty()).enumerate() {
        text.push(if n == 0 { '%' } else { ',' });
        text.push_str(option);
        if option.starts_with("topic=") {
            text.push_str("-put-back");
        }
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bumpwright_update::{Author, CommitMessage, Edits, PushSettings, Refspec, Start};

    fn job(start: &str, branch: Option<&str>, refspec: Option<&str>) -> RemoteJob {
        RemoteJob {
            edits: Edits::default(),
            url: String::new(),
            start: Start::Branch(start.to_owned()),
            branch: None,
            sparse: false,
            push: PushSettings {
                branch: branch.map(str::to_owned),
                refspecs: refspec.map(|text| Refspec::parse(text).unwrap()).into_iter().collect(),
                options: [
                    ("topic", "images"),
                    ("title", "New"),
                    ("merge_request.target", "release"),
                ]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .to_vec(),
                ..PushSettings::default()
            },
            pull_request: None,
            agit: None,
            gerrit: None,
            author: Author {
                name: String::new(),
                email: String::new(),
            },
            message: CommitMessage::default(),
            signer: None,
        }
    }

    fn branch(start: &str, branch: Option<&str>, refspec: Option<&str>) -> Result<Option<String>, TakesPlace> {
        let mut job = job(start, branch, refspec);
        aside(&mut job, "refs/heads/main")?;
        let options = [("topic", "images-put-back"), ("merge_request.target", "main")];
        assert_eq!(
            job.push.options,
            options.map(|(key, value)| (key.to_owned(), value.to_owned()))
        );
        // What is to be pushed can be.
        assert_eq!(job.destinations("refs/heads/main").err(), None);
        Ok(job.push.branch)
    }

    #[test]
    fn a_branch_of_the_automation_is_left_alone() {
        assert_eq!(branch("main", None, None), Ok(None));
        assert_eq!(branch("main", Some("main"), None), Ok(Some("main".to_owned())));
        let full = "refs/heads/main";
        assert_eq!(branch("main", Some(full), None), Ok(Some(full.to_owned())));
        let aside = Ok(Some("auto-put-back".to_owned()));
        assert_eq!(branch("main", Some("auto"), None), aside);
        // By the checkout alone.
        assert_eq!(branch("auto", None, None), aside);
    }

    #[test]
    fn refspecs_are_for_review_or_for_the_reconciled_branch() {
        assert_eq!(branch("main", None, Some("refs/heads/main:refs/for/main")), Ok(None));
        let both = branch("main", Some("auto"), Some("refs/heads/auto:refs/for/main"));
        assert_eq!(both, Ok(Some("auto-put-back".to_owned())));
        assert_eq!(branch("main", None, Some("refs/heads/main:refs/heads/main")), Ok(None));
        let why = branch("main", None, Some("refs/heads/main:refs/heads/auto"))
            .unwrap_err()
            .to_string();
        assert!(why.contains("push.refspec 'refs/heads/main:refs/heads/auto'"), "{why}");
    }

    #[test]
    fn reviews_are_for_the_reconciled_branch_and_have_a_topic_of_their_own() {
        for (destination, expected) in [
            ("refs/for/main", "refs/for/main"),
            ("refs/for/release/1.x", "refs/for/main"),
            ("refs/for/main/images", "refs/for/main/images-put-back"),
            (
                "refs/for/main%topic=images,r=a@b.c",
                "refs/for/main%topic=images-put-back,r=a@b.c",
            ),
        ] {
            assert_eq!(for_review(destination, "main"), expected);
        }
    }
}
