//! A real Gitea, and a real Forgejo with the same tests: pull requests kept by their API and by AGit, what people and
//! rules of the server do to them, webhooks.

mod access;
mod agit;
mod before_the_push;
mod controller;
mod life;
mod people;
mod put_back;
mod review_comment;
mod reviews;

use bumpwright_testkit::cli::{Bench, policy};
use bumpwright_testkit::gitea::{Forge, Gitea, Hosted, User};
use serde_json::{Value, json};

/// This file is a module of each of the two.
fn forge() -> Forge {
    if module_path!().ends_with("forgejo") {
        Forge::Forgejo
    } else {
        Forge::Gitea
    }
}

const MARKED: &str = "kind: App\nmetadata: {name: web}\nimage: ghcr.io/o/app:1.0.0 # {\"$imagepolicy\": \"fs:app\"}\n";
const BOT: &str = "Bot <bot@example.com>";

/// A repository with one marked file on `main`, its owner, and what a command has: policies and tokens.
struct Fleet {
    bench: Bench,
    hosted: Hosted,
    /// Owns the repository, and is whom the tokens belong to.
    owner: User,
}

impl Fleet {
    /// None where the server is missing. `name` is that of the owner; the policy wants 2.0.0.
    fn new(name: &str) -> Option<Self> {
        let gitea = Gitea::get(forge())?;
        let owner = gitea.user(name);
        let hosted = gitea.repository(&owner, "app", &[("a.yaml", MARKED)]);
        let bench = Bench::new();
        bench.write("token", &owner.token);
        bench.write("password", &owner.token);
        let fleet = Self { bench, hosted, owner };
        fleet.image("2.0.0");
        Some(fleet)
    }

    fn image(&self, tag: &str) {
        self.bench.write("p.yaml", policy("fs", "app", "ghcr.io/o/app", tag));
    }

    /// `update URL --push-branch auto --pull-request=gitea` and more; the exit code and the run.
    fn update(&self, more: &[&str]) -> (i32, Value) {
        let url = self.hosted.url();
        let (code, mut document) = self.bench.json(&[&flags(&url)[..], more].concat());
        (code, document["runs"][0].take())
    }

    /// As [`Fleet::update`], which must succeed; number and state of the request.
    fn kept(&self, more: &[&str]) -> (u64, String) {
        let (code, run) = self.update(more);
        assert_eq!((code, &run["error"]), (0, &Value::Null), "{run:#}");
        let request = &run["pullRequest"];
        let state = request["state"].as_str().unwrap_or("none").to_owned();
        (request["number"].as_u64().unwrap_or_default(), state)
    }

    /// Fails, and gives the error.
    fn refused(&self, more: &[&str]) -> String {
        let (code, run) = self.update(more);
        assert_eq!(code, 2, "{run:#}");
        run["error"].as_str().unwrap().to_owned()
    }

    /// Numbers of the requests in a state.
    fn numbers(&self, state: &str) -> Vec<u64> {
        let requests = self.hosted.requests(&self.owner, state);
        requests.iter().map(|one| one["number"].as_u64().unwrap()).collect()
    }

    fn request(&self, number: u64) -> Value {
        self.hosted.request(&self.owner, number)
    }

    /// A change of a request by a person.
    fn edit(&self, number: u64, change: &Value) {
        self.hosted
            .api(&self.owner, "PATCH", &format!("/pulls/{number}"), change);
    }

    /// The marked file on a branch.
    fn file(&self, branch: &str) -> String {
        String::from_utf8(self.hosted.repo.show(branch, "a.yaml")).unwrap()
    }

    fn rev(&self, reference: &str) -> Option<String> {
        self.hosted.repo.rev(reference)
    }

    /// A user who may write to the repository.
    fn collaborator(&self, name: &str) -> User {
        let person = self.hosted.gitea.user(name);
        let permission = json!({"permission": "write"});
        self.hosted
            .api(&self.owner, "PUT", &format!("/collaborators/{name}"), &permission);
        person
    }
}

fn flags(url: &str) -> Vec<&str> {
    let mut flags = vec!["update", "-f", "p.yaml", url, "--author", BOT, "--offline"];
    flags.extend(["--username", "bot", "--password-file", "password"]);
    flags.extend(["--push-branch", "auto", "--pull-request=gitea"]);
    flags.extend(["--pull-request-token-file", "token"]);
    flags
}
