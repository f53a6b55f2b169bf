//! `fleet review --comment` and Gitea: the one comment of a job, with the rights that docs/guides/reviews.md names.

use super::Fleet;
use bumpwright_testkit::cli::{Ran, ran};
use bumpwright_testkit::repo::{git, run};
use serde_json::{Value, json};

const MARK: &str = "<!-- bumpwright:review -->\n";

fn map(data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m, namespace: n}}\ndata: {{{data}}}\n")
}

/// A pull request with a change that is wrong, and a checkout of it.
struct Job {
    fleet: Fleet,
    number: u64,
}

impl Job {
    fn start(name: &str) -> Option<Self> {
        let fleet = Fleet::new(name)?;
        let (owner, hosted) = (&fleet.owner, &fleet.hosted);
        hosted.commit(owner, "main", &[("clusters/a/map.yaml", &map("a: b"))]);
        let branch = json!({"new_branch_name": "change", "old_branch_name": "main"});
        hosted.api(owner, "POST", "/branches", &branch);
        hosted.commit(owner, "change", &[("clusters/a/map.yaml", &map("a: 1"))]);
        let request = json!({"title": "By hand", "head": "change", "base": "main"});
        let number = hosted.api(owner, "POST", "/pulls", &request)["number"]
            .as_u64()
            .unwrap();
        let checkout = |arguments: &[&str]| run(git(&fleet.bench.dir).args(arguments));
        checkout(&["init", "--quiet", "-b", "work"]);
        checkout(&["remote", "add", "origin", &hosted.url()]);
        let folder = hosted.repo.dir.to_str().unwrap();
        checkout(&["fetch", "--quiet", folder, "main:main", "change:change"]);
        checkout(&["checkout", "--quiet", "change"]);
        let event = json!({"pull_request": {"number": number}});
        fleet.bench.write("event.json", event.to_string());
        Some(Self { fleet, number })
    }

    /// A review as the server's own job.
    fn review(&self, token: &str) -> Ran {
        let bench = &self.fleet.bench;
        let gitea = self.fleet.hosted.gitea;
        let server = gitea.url("");
        let mut command = bench.command(&["fleet", "review", "--from", "main", "--comment", "clusters/a"]);
        command
            .env("GITHUB_ACTIONS", "true")
            .env("GITEA_ACTIONS", "true")
            .env("GITHUB_SERVER_URL", server.trim_end_matches('/'))
            .env("GITHUB_API_URL", gitea.url("api/v1"))
            .env("GITHUB_REPOSITORY", &self.fleet.hosted.path)
            .env("GITHUB_EVENT_PATH", bench.path("event.json"))
            .env("GITHUB_TOKEN", token);
        ran(command.output().unwrap())
    }

    fn comments(&self) -> Vec<Value> {
        let below = format!("/issues/{}/comments", self.number);
        let all = self.fleet.hosted.api(&self.fleet.owner, "GET", &below, &Value::Null);
        serde_json::from_value(all).unwrap()
    }
}

#[test]
fn a_job_keeps_one_comment_that_is_its_own() {
    let Some(job) = Job::start("commented") else { return };
    let hosted = &job.fleet.hosted;
    let eve = hosted.gitea.user("eve-of-commented");
    let below = format!("/issues/{}/comments", job.number);
    hosted.api(
        &eve,
        "POST",
        &below,
        &json!({"body": format!("{MARK}Nothing changes.")}),
    );
    let bot = job.fleet.collaborator("bot-of-commented");
    let writer = hosted.gitea.token(&bot.name, "writer", &["write:issue", "read:user"]);
    for _ in 0..2 {
        let ran = job.review(&writer);
        assert!(ran.code == 1 && !ran.err.contains("comment"), "{}{}", ran.out, ran.err);
        let comments = job.comments();
        assert_eq!(comments.len(), 2, "{comments:#?}");
        assert_eq!(comments[1]["user"]["login"], json!(bot.name));
        let body = comments[1]["body"].as_str().unwrap();
        assert!(
            body.starts_with(&format!("{MARK}## In the clusters: 1 changed")),
            "{body}"
        );
    }
    let before = job.comments();
    // Who may not write has the review in the log.
    let reader = hosted.gitea.token(&bot.name, "reader", &["read:issue", "read:user"]);
    job.fleet.bench.write("clusters/a/map.yaml", map("a: 1, b: 2"));
    let ran = job.review(&reader);
    assert!(
        ran.code == 1
            && ran.err.contains("warning: the comment was not written: ")
            && ran.out.contains("error[schema]"),
        "{}{}",
        ran.out,
        ran.err
    );
    assert_eq!(job.comments(), before);
    // Elsewhere than in a job of the server.
    job.fleet.bench.write("writer", &writer);
    let number = job.number.to_string();
    let ran = job.fleet.bench.run(&[
        "fleet",
        "review",
        "--from",
        "main",
        "--comment=gitea",
        "--request",
        &number,
        "--pull-request-token-file",
        "writer",
        "clusters/a",
    ]);
    assert!(ran.code == 1 && !ran.err.contains("comment"), "{}{}", ran.out, ran.err);
    let now = job.comments();
    assert_eq!((now.len(), &now[1]["id"], &now[0]), (2, &before[1]["id"], &before[0]));
    assert!(now[1]["body"].as_str().unwrap().contains("2 errors"));
}
