//! Where commits go that put images back: the way of the automation's commits, and never in their place.

use bumpwright_update::{RemoteJob, Start};

/// Has a job that pushes to a branch of its own push to another one, for commits that put images back: they would take the place of the
/// automation's commits there.
pub(super) fn aside(job: &mut RemoteJob, reconciled: &Start) -> Result<(), String> {
    let full = |branch: &str| match branch.starts_with("refs/") {
        true => branch.to_owned(),
        false => format!("refs/heads/{branch}"),
    };
    let reconciled = match reconciled {
        Start::Branch(branch) | Start::Name(branch) => full(branch),
        _ => String::new(),
    };
    let of_checkout = || job.start_branch().filter(|_| job.push.refspecs.is_empty());
    let branch = job.push.branch.clone().or_else(of_checkout);
    if let Some(branch) = branch.filter(|branch| full(branch) != reconciled) {
        let short = branch.strip_prefix("refs/heads/").unwrap_or(&branch);
        job.push.branch = Some(format!("{short}-put-back"));
    }
    let is_over = |destination: &str| !destination.starts_with("refs/for/") && destination != reconciled;
    if let Some(refspec) = job.push.refspecs.iter().find(|refspec| is_over(&refspec.destination)) {
        return Err(format!(
            "push.refspec '{}' would put the commit in the place of the automation's own",
            refspec.text
        ));
    }
    for (_, topic) in job.push.options.iter_mut().filter(|(key, _)| key == "topic") {
        topic.push_str("-put-back");
    }
    if let Some(request) = &mut job.pull_request {
        request.base = None;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bumpwright_update::{Author, CommitMessage, Edits, PushSettings, Refspec};

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
                options: vec![("topic".to_owned(), "images".to_owned())],
                ..PushSettings::default()
            },
            pull_request: None,
            agit: None,
            author: Author {
                name: String::new(),
                email: String::new(),
            },
            message: CommitMessage::default(),
            signer: None,
        }
    }

    fn branch(start: &str, branch: Option<&str>, refspec: Option<&str>) -> Result<Option<String>, String> {
        let mut job = job(start, branch, refspec);
        aside(&mut job, &Start::Branch("main".to_owned()))?;
        assert_eq!(job.push.options, [("topic".to_owned(), "images-put-back".to_owned())]);
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
        assert_eq!(branch("main", None, Some("refs/heads/main:refs/heads/main")), Ok(None));
        let why = branch("main", None, Some("refs/heads/main:refs/heads/auto")).unwrap_err();
        assert!(why.contains("push.refspec 'refs/heads/main:refs/heads/auto'"), "{why}");
    }
}
