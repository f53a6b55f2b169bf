//! Changes at Gerrit by its own SSH command, where there is no login over HTTP (`gerrit query`, Gerrit 3.10).

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::change::{ANSWER, Change, ChangeStatus, GerritChange, MOST, Revision, change_at};
use crate::error::ForgeError;
use bumpwright_text::Excerpt;

/// The command for a change with all its patch sets.
pub(super) const PATCH_SETS: &str = "gerrit query --format=JSON --patch-sets";

/// The command for changes with the files of their current patch sets.
pub(super) const FILES: &str = "gerrit query --format=JSON --current-patch-set --files";

/// The file that Gerrit lists for the commit message.
const MESSAGE: &str = "/COMMIT_MSG";

/// The longest address or text of the server, in characters.
const TEXT: usize = 300;

/// A command at a server that gave no output, or too much.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct NoOutput {
    /// In the words of the transport.
    pub why: String,
}

/// Runs commands at the server of a project.
pub trait GerritShell: fmt::Debug + Send + Sync {
    /// The output of a command with one more argument, which is not quoted yet; none where the server does not have the
    /// command, so that it is not a Gerrit.
    ///
    /// # Errors
    /// There is no output, or one of more than `limit` bytes.
    fn output(&self, command: &str, argument: &str, limit: usize) -> Result<Option<Vec<u8>>, NoOutput>;
}

/// A line of the output: a change, an error, or the counts at the end.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(rename = "type")]
    kind: Option<String>,
    message: Option<String>,
    id: Option<String>,
    #[serde(default)]
    subject: String,
    status: Option<ChangeStatus>,
    url: Option<String>,
    #[serde(default)]
    number: u64,
    #[serde(default)]
    patch_sets: Vec<PatchSet>,
    current_patch_set: Option<PatchSet>,
}

/// A *patchset* of the query output.
#[derive(Deserialize)]
struct PatchSet {
    number: u64,
    revision: String,
    #[serde(rename = "ref")]
    reference: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    file: String,
}

/// The changes that a query finds.
pub(super) fn over_ssh(
    shell: &dyn GerritShell,
    attempt: &str,
    query: &str,
    command: &str,
) -> Result<Vec<GerritChange>, ForgeError> {
    let failed = |detail: String| ForgeError::NotGiven {
        attempt: attempt.to_owned(),
        url: "gerrit query".to_owned(),
        detail,
    };
    let argument = format!("{query} limit:{MOST}");
    let Some(output) = shell
        .output(command, &argument, ANSWER)
        .map_err(|error| failed(error.why))?
    else {
        return Ok(Vec::new());
    };
    let lines = output
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty());
    let mut changes = Vec::new();
    for line in lines {
        let line: Line = serde_json::from_slice(line)
            .map_err(|error| failed(format!("the answer is not as documented: {error}")))?;
        if line.kind.as_deref() == Some("error") {
            let message = line.message.unwrap_or_else(|| "an error without a message".to_owned());
            return Err(failed(message.excerpt(TEXT).into_owned()));
        }
        changes.extend(change_of(line));
    }
    Ok(changes)
}

/// None for a line that is not a change.
fn change_of(line: Line) -> Option<GerritChange> {
    let (id, status) = (line.id?, line.status?);
    let is_page = |url: &String| url.starts_with("https://") || url.starts_with("http://");
    let url = line.url.filter(is_page).map(|url| url.excerpt(TEXT).into_owned());
    let sets = line.patch_sets.into_iter().chain(line.current_patch_set);
    let change = Change {
        change_id: id,
        subject: line.subject,
        status,
        number: line.number,
        revisions: sets.map(|set| (set.revision.clone(), revision_of(set))).collect(),
    };
    let url = url.unwrap_or_else(|| format!("change {}", change.number));
    change_at(change, url)
}

fn revision_of(set: PatchSet) -> Revision {
    let files = set
        .files
        .into_iter()
        .map(|file| file.file)
        .filter(|file| file != MESSAGE);
    let files: BTreeMap<String, IgnoredAny> = files.map(|file| (file, IgnoredAny)).collect();
    Revision {
        number: set.number,
        reference: set.reference,
        kind: set.kind,
        files,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Gives each command the same answer.
    #[derive(Debug)]
    struct Answers(Result<Option<&'static str>, &'static str>);

    impl GerritShell for Answers {
        fn output(&self, command: &str, argument: &str, limit: usize) -> Result<Option<Vec<u8>>, NoOutput> {
            assert_eq!((command, argument, limit), (PATCH_SETS, "change:I01 limit:50", ANSWER));
            let text = self.0.map_err(|why| NoOutput { why: why.to_owned() })?;
            Ok(text.map(|text| text.as_bytes().to_vec()))
        }
    }

    fn found(answer: Result<Option<&'static str>, &'static str>) -> Result<Vec<GerritChange>, ForgeError> {
        over_ssh(&Answers(answer), "look", "change:I01", PATCH_SETS)
    }

    const ONE: &str = concat!(
        r#"{"project":"x/fleet","branch":"main","id":"I01","number":7,"subject":"Bump","open":false,"status":"ABANDONED","#,
        r#""url":"https://review.example/c/x/fleet/+/7","patchSets":["#,
        r#"{"number":1,"revision":"aa","parents":["ff"],"ref":"refs/changes/07/7/1","kind":"REWORK"},"#,
        r#"{"number":2,"revision":"bb","ref":"refs/changes/07/7/2","kind":"TRIVIAL_REBASE"}]}"#,
        "\n",
        r#"{"type":"stats","rowCount":1,"runTimeMilliseconds":5,"moreChanges":false}"#,
        "\n"
    );

    #[test]
    fn a_change_is_read_with_its_patch_sets() {
        let expected = GerritChange {
            change_id: "I01".to_owned(),
            status: ChangeStatus::Abandoned,
            url: "https://review.example/c/x/fleet/+/7".to_owned(),
            subject: "Bump".to_owned(),
            commits: vec!["aa".to_owned(), "bb".to_owned()],
            current: "refs/changes/07/7/2".to_owned(),
            written: "refs/changes/07/7/1".to_owned(),
            paths: Vec::new(),
        };
        assert_eq!(found(Ok(Some(ONE))), Ok(vec![expected]));
        assert_eq!(found(Ok(None)), Ok(Vec::new()));
    }

    #[test]
    fn open_changes_are_listed_with_their_files() {
        let text = concat!(
            r#"{"id":"I01","number":7,"subject":"Bump","status":"NEW","currentPatchSet":{"number":1,"revision":"aa","#,
            r#""ref":"refs/changes/07/7/1","kind":"REWORK","#,
            r#""files":[{"file":"/COMMIT_MSG","type":"ADDED"},{"file":"a.yaml","type":"MODIFIED"}]}}"#
        );
        let found = found(Ok(Some(text))).unwrap();
        assert_eq!(found.len(), 1);
        let change = found.first().unwrap();
        assert_eq!(
            (change.paths.as_slice(), change.url.as_str()),
            (&["a.yaml".to_owned()][..], "change 7")
        );
    }

    #[test]
    fn what_fails_is_said() {
        for (answer, words) in [
            (Err("no route"), "gerrit query: no route"),
            (
                Ok(Some(r#"{"type":"error","message":"line 1:2"}"#)),
                "gerrit query: line 1:2",
            ),
            (Ok(Some("Welcome")), "the answer is not as documented"),
        ] {
            let error = found(answer).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
