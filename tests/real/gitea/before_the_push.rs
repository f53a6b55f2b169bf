//! What would prevent a request is found before anything is pushed.

use super::Fleet;
use bumpwright_testkit::waiting::until;
use serde_json::json;

impl Fleet {
    /// A run with another token, or other flags, fails with these words and pushes nothing.
    fn stays_away(&self, more: &[&str], words: &str) {
        let error = self.refused(more);
        assert!(error.contains(words), "{error}");
        assert!(error.contains("nothing is pushed"), "{error}");
        assert_eq!(self.rev("auto"), None);
    }
}

#[test]
fn tokens_are_tried_before_the_push() {
    let Some(fleet) = Fleet::new("tokens") else { return };
    let gitea = fleet.hosted.gitea;
    let scoped = |name: &str, scope: &str| gitea.token("tokens", name, &[scope]);
    for (token, words) in [
        ("0".repeat(40), "the token is wrong or has expired"),
        (
            scoped("reads", "read:repository"),
            "the token needs the scope write:repository",
        ),
        (
            scoped("issues", "write:issue"),
            "the token needs the scope write:repository",
        ),
    ] {
        fleet.bench.write("token", token);
        fleet.stays_away(&[], words);
    }
    // What suffices, for Git as well.
    let writes = scoped("writes", "write:repository");
    fleet.bench.write("token", &writes);
    fleet.bench.write("password", &writes);
    let (number, state) = fleet.kept(&[]);
    assert_eq!(state, "opened");
    fleet.image("3.0.0");
    assert_eq!(fleet.kept(&[]), (number, "updated".to_owned()));
}

#[test]
fn settings_of_the_repository_are_found_before_the_push() {
    let Some(fleet) = Fleet::new("settings") else { return };
    fleet.stays_away(&["--pull-request-base", "release/9"], "release/9");
    fleet
        .hosted
        .api(&fleet.owner, "PATCH", "", &json!({"has_pull_requests": false}));
    fleet.stays_away(&[], "pull requests are switched off");
    fleet
        .hosted
        .api(&fleet.owner, "PATCH", "", &json!({"has_pull_requests": true}));
    until("requests are allowed again", || {
        fleet.hosted.try_api(&fleet.owner, "GET", "/pulls", &json!(null)).status == 200
    });
    fleet.hosted.api(&fleet.owner, "PATCH", "", &json!({"name": "renamed"}));
    let error = fleet.refused(&[]);
    assert!(
        error.contains("the repository has moved: give its new address"),
        "{error}"
    );
    let pushed = fleet.hosted.gitea.api(
        &fleet.owner,
        "GET",
        "repos/settings/renamed/branches/auto",
        &json!(null),
    );
    assert_eq!(pushed.status, 404, "{pushed:?}");
}
