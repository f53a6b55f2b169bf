//! The rule file of the repository (`.bumpwright.yaml`): whether it can be read, whether its policies exist,
//! whether each rule is for a file.

use std::collections::BTreeSet;

use super::cluster::{Cluster, policies};
use crate::automation::automations::Automation;
use crate::automation::markers::{suggestion, unknown};
use crate::source::each_file::each_file;
use crate::source::repository::Repository;
use bumpwright_api::ObjectName;
use bumpwright_edit::{FileKind, LocalSkip, file_kind};
use bumpwright_findings::{Finding, Rule as Check, Severity};
use bumpwright_kustomize::tree::Tree;
use bumpwright_rules::{FILE, Rules};

/// Findings about rules. As with markers, a repository that is updated by others is not checked.
pub(super) fn check(
    clusters: &[Cluster<'_>],
    automations: &[Automation<'_>],
    repository: &dyn Repository,
    found: &mut Vec<Finding>,
) {
    let policies = policies(clusters);
    let tree = repository.tree();
    if policies.is_empty() && automations.is_empty() {
        return;
    }
    not_followed(&*tree, found);
    let Ok(bytes) = tree.read(&format!("/{FILE}")) else {
        return;
    };
    let rules = match Rules::read(FILE, &bytes) {
        Ok(rules) => rules,
        Err(error) => {
            let message = format!("none of the rules is followed: {}", error.message);
            let finding = Finding::new(Check::UnmatchedRule, message).severity(Severity::Error);
            found.push(finding.at(FILE.to_owned(), error.line, error.column));
            return;
        }
    };
    let named = named(&*tree, &rules);
    if let Err(overrun) = rules.check() {
        let finding = Finding::new(Check::UnmatchedRule, overrun.to_string()).severity(Severity::Error);
        found.push(finding.at(FILE.to_owned(), overrun.line, overrun.column));
        return;
    }
    let is_whole = clusters.iter().all(Cluster::is_whole);
    for (number, rule) in rules.rules().iter().enumerate() {
        let at = |check, message| Finding::new(check, message).at(FILE.to_owned(), rule.line, rule.column);
        let name = ObjectName::new(rule.policy.namespace.as_str(), rule.policy.name.as_str());
        if !policies.contains(&name) {
            let message = format!("ImagePolicy {} of the rule is not in the fleet", rule.policy);
            let near = suggestion(&policies, &name);
            found.push(unknown(at(Check::UnknownPolicy, message), near.as_deref(), is_whole));
        }
        if !named.contains(&number) {
            found.push(at(
                Check::UnmatchedRule,
                format!("the rule for {} is for no file", rule.policy),
            ));
        }
    }
}

/// Rule files that nobody follows: those of another name, or in another folder.
fn not_followed(tree: &dyn Tree, found: &mut Vec<Finding>) {
    each_file(tree, "/", &mut |path| {
        if file_kind(path) == FileKind::RuleFile && path != FILE {
            let skip = LocalSkip::of_rule_file();
            let finding = Finding::new(Check::UnmatchedRule, skip.message).severity(Severity::Warning);
            found.push(finding.at(path.to_owned(), skip.line, skip.column));
        }
        true
    });
}

/// The numbers of the rules that are for a file of the repository.
fn named(tree: &dyn Tree, rules: &Rules) -> BTreeSet<usize> {
    let mut named = BTreeSet::new();
    each_file(tree, "/", &mut |path| {
        named.extend(rules.numbers(path));
        named.len() < rules.rules().len()
    });
    named
}
