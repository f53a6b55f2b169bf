//! docs/start/ci.md: the blocks that a reader copies are run.

use std::collections::BTreeMap;

use serde_json::Value;

use super::github::Runner;
use super::gitlab::Project;
use super::hooks::Hooked;
use super::{MARKED, Machine, TOKEN, equipped, files, policies, releases, text, yaml};

/// The block of this language below this heading.
fn block(heading: &str, language: &str) -> String {
    let page = text("docs/start/ci.md");
    let (_, section) = page.split_once(&format!("\n## {heading}\n")).unwrap();
    let (_, block) = section.split_once(&format!("```{language}\n")).unwrap();
    block.split_once("\n```").unwrap().0.to_owned() + "\n"
}

#[test]
fn the_first_command_changes_nothing() {
    let page = text("docs/start/ci.md");
    let command = page.split("```sh\n").nth(1).unwrap().split_once("\n```").unwrap().0;
    let machine = Machine::new();
    machine.bench.write("a.yaml", MARKED);
    machine.bench.write("p.yaml", policies());
    let ran = machine.shell(&["sh", "-e"], command, &BTreeMap::new());
    assert!(
        ran.code == 0 && ran.out.contains("\n+image: ghcr.io/o/app:2.0.0"),
        "{}{}",
        ran.out,
        ran.err
    );
    assert_eq!(machine.bench.read("a.yaml"), MARKED);
}

#[test]
fn the_workflow_for_github() {
    let block = block("GitHub", "yaml");
    files::linted("images.yml", &block.replace("bumpwright/bumpwright@v0.1.0", "./"));
    if !equipped() {
        return;
    }
    let workflow = yaml(&block);
    let runner = Runner::new();
    for (job, requests) in [("check", 0), ("bump", 1)] {
        let steps = workflow["jobs"][job]["steps"].as_array().unwrap();
        let ours = |step: &&Value| step["uses"].as_str().unwrap().starts_with("bumpwright/bumpwright@v");
        let with = steps.iter().find(ours).unwrap()["with"].as_object().unwrap();
        let with: Vec<(String, String)> = with
            .iter()
            .map(|(name, value)| {
                (
                    name.clone(),
                    value.as_str().map_or_else(|| value.to_string(), str::to_owned),
                )
            })
            .collect();
        let with: Vec<(&str, &str)> = with
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let ran = runner.run(&with);
        assert_eq!(ran.code, 0, "{job}: {}{}", ran.out, ran.err);
        assert_eq!(
            (runner.output("changed").as_str(), runner.forge.pulls().len()),
            ("true", requests),
            "{job}"
        );
        assert_eq!(runner.comments().len(), 1, "{job}");
    }
    assert!(runner.repo.rev("bump/images").is_some());
}

#[test]
fn the_include_for_gitlab() {
    let include = yaml(&block("GitLab", "yaml"));
    let include = &include["include"][0];
    let address = include["remote"].as_str().unwrap();
    assert!(
        address.ends_with("/v0.1.0/ci/gitlab/templates/bumpwright.yml"),
        "{address}"
    );
    if !equipped() {
        return;
    }
    let inputs = include["inputs"].as_object().unwrap();
    let inputs: Vec<(&str, Value)> = inputs
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    let project = Project::new("oauth2");
    for job in ["bumpwright-check", "bumpwright-bump"] {
        let ran = project.run(job, &inputs, &[("BUMPWRIGHT_GITLAB_TOKEN", TOKEN)]);
        assert_eq!(ran.code, 0, "{job}: {}{}", ran.out, ran.err);
    }
    assert!(project.repo.rev("bump/images").is_some() && project.notes.lock().len() == 1);
}

#[test]
fn the_configuration_of_pre_commit() {
    let Some(hooked) = Hooked::new(&block("pre-commit", "yaml")) else {
        return;
    };
    hooked.bench.write("a.yaml", MARKED);
    hooked.bench.write("p.yaml", policies());
    for (hook, code) in [("bumpwright-markers", 0), ("bumpwright-migrate", 0)] {
        let ran = hooked.run(hook);
        assert_eq!(ran.code, code, "{}{}", ran.out, ran.err);
    }
}

#[test]
fn the_commands_for_a_shell() {
    if !equipped() {
        return;
    }
    let served = releases(None);
    let project = Project::new("bot");
    let script = block("Any other, with a shell", "sh");
    let raw = "https://raw.githubusercontent.com/bumpwright/bumpwright/";
    assert!(script.contains(raw), "{script}");
    let environment: BTreeMap<String, String> = [
        ("TOKEN", TOKEN.to_owned()),
        ("REPOSITORY_URL", project.url()),
        ("BUMPWRIGHT_RELEASES", served.url("bumpwright/bumpwright/releases")),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let ran = project
        .machine
        .shell(&["sh", "-e"], &script.replace(raw, &served.url("raw/")), &environment);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(project.machine.bench.read("report.md").contains("2.0.0"));
    assert!(project.repo.rev("bump/images").is_some());
    assert!(!project.machine.arguments().contains(TOKEN));
}
