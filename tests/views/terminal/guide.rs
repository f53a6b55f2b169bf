//! The guide shows what the commands print of the seeded namespace. `BLESS=1` writes it again.

use super::run;
use crate::seed::{HOUR, event, installed, release, seeded, workloads};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::world::{AUTOMATION, GIT_REPOSITORY, KUSTOMIZATION};

const GUIDE: &str = "docs/guides/status.md";
const COMMAND: &str = "$ bumpwright ";

/// The page with the outputs of the commands in its `console` blocks.
fn shown(page: &str, print: impl Fn(&str) -> String) -> String {
    let (mut out, mut is_block) = (String::new(), false);
    for line in page.lines() {
        let (begins, ends) = (line == "```console", is_block && line == "```");
        is_block = begins || (is_block && !ends);
        let command = line.strip_prefix(COMMAND).filter(|_| is_block);
        if !is_block || begins || command.is_some() {
            out.push_str(&format!("{line}\n"));
        }
        if let Some(command) = command {
            out.push_str(&print(command));
        }
    }
    out
}

#[test]
fn the_guide_shows_what_the_commands_print() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(()) = cluster.define_helm() else { return };
    let world = seeded(cluster, "flux-system");
    workloads(&world);
    release(&world);
    installed(&world, "shop", &serde_json::json!({}));
    let pushed = "pushed commit '3333333' to branch 'main'\nBump";
    event(&world, AUTOMATION, "all", ("Normal", "Succeeded"), pushed, 12 * HOUR);
    event(
        &world,
        GIT_REPOSITORY,
        "fleet",
        ("Normal", "NewArtifact"),
        "stored artifact for commit 'Bump'",
        10 * HOUR,
    );
    let why = "health check failed after 30s: timeout waiting for: [Deployment/flux-system/web status: 'InProgress']";
    event(
        &world,
        KUSTOMIZATION,
        "apps",
        ("Warning", "HealthCheckFailed"),
        why,
        9 * HOUR,
    );
    let file = bumpwright_testkit::root().join(GUIDE);
    let page = std::fs::read_to_string(&file).unwrap();
    let printed = shown(&page, |command| {
        let words: Vec<&str> = command.split_whitespace().collect();
        let ran = run(cluster, &words);
        assert_eq!(ran.err, "", "{command}");
        ran.out
    });
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(file, printed).unwrap();
        return;
    }
    assert_eq!(page, printed, "BLESS=1 cargo test --test views guide");
}
