//! The places of the fields that errors of runs are about, and the way out.

use super::args::Update;
use super::target::{Target, classify};
use crate::cli::access;
use crate::cli::places::Places;
use crate::cli::words;
use bumpwright_api::{ImageUpdateAutomation, Objects};
use bumpwright_git::check_reference;
use bumpwright_update::{Run, Setting, full_branch};

/// Puts the place of the field that has to be corrected before the errors of runs, and the way out behind them.
pub(super) fn place(runs: &mut [Run], args: &Update, objects: &Objects, places: &mut Places) {
    for run in runs {
        let named = |automation: &&ImageUpdateAutomation| {
            let name = automation.metadata.object_name().to_string();
            run.automation.as_ref() == Some(&name)
        };
        let automation = objects.automations().find(named);
        if let (Some(error), Some(setting), Some(automation)) = (&run.error, run.setting, automation)
            && let Some(place) = field(automation, setting, args, objects)
        {
            run.error = Some(format!("{place}: {error}"));
        }
        let way_out = other_branch(run).or_else(|| no_branch(run, args, places));
        if let (Some(error), Some(way_out)) = (&run.error, way_out) {
            run.error = Some(format!("{error}; {way_out}"));
        }
    }
}

/// How to push elsewhere than to the branch that the run started from, if the server refused that.
fn other_branch(run: &Run) -> Option<String> {
    let branch = run.refused.as_ref()?.strip_prefix("refs/heads/")?;
    if run.revision.as_ref()?.name != branch {
        return None;
    }
    let setting = match run.automation {
        Some(_) => "set spec.git.push.branch of the automation, or give --push-branch BRANCH",
        None => "give --push-branch BRANCH",
    };
    Some(format!(
        "if {branch} takes no pushes, {setting}, for a pull request from there (docs/guides/pull-requests.md)"
    ))
}

/// That a branch need not be named, if the remote does not have the one that is; and which it has.
fn no_branch(run: &Run, args: &Update, places: &mut Places) -> Option<String> {
    if args.branch.is_none() || run.setting != Some(Setting::Checkout) {
        return None;
    }
    if run.automation.is_some() {
        return Some("without --branch it is the one of its GitRepository".to_owned());
    }
    let known = match branches(args, places) {
        Some(names) if !names.is_empty() => format!("the repository has {}; ", words::some(&names)),
        _ => String::new(),
    };
    Some(format!("{known}without --branch it is the default branch"))
}

/// The branches of the repository at TARGET; none if it does not say.
fn branches(args: &Update, places: &mut Places) -> Option<Vec<String>> {
    let Target::Remote(url) = classify(args.target.as_deref()?).ok()? else {
        return None;
    };
    let remote = access::plain(&url, &args.access).ok()?;
    let place = places.place(&remote).ok()?;
    let references = place.mirror.remote_refs(&["refs/heads/".to_owned()]).ok()?;
    let names = references
        .iter()
        .filter_map(|one| one.reference.strip_prefix("refs/heads/"));
    Some(names.map(str::to_owned).collect())
}

/// The place of a setting in the manifests; none if a flag has set it.
fn field<'o>(
    automation: &'o ImageUpdateAutomation,
    setting: Setting,
    args: &Update,
    objects: &'o Objects,
) -> Option<&'o str> {
    let pushes = args.push_branch.is_some() || args.gerrit.is_some() || !args.refspecs.is_empty();
    let of = |pointer: &str| automation.places.of(pointer);
    match setting {
        Setting::Checkout if args.branch.is_none() => {
            automation.checkout_place(objects.git_repository(&automation.source_name()))
        }
        Setting::Push if !pushes => of(pushed(automation)),
        Setting::Refspec if !pushes => of(ImageUpdateAutomation::PUSH_REFSPEC),
        Setting::Selector => of(ImageUpdateAutomation::SELECTOR),
        Setting::Path if args.path.is_none() => of(ImageUpdateAutomation::PATH),
        Setting::Checkout | Setting::Push | Setting::Refspec | Setting::Path => None,
    }
}

/// The field with the reference that cannot be pushed: the branch, unless that is fine or only a refspec is given.
fn pushed(automation: &ImageUpdateAutomation) -> &'static str {
    let push = automation.spec.git.as_ref().and_then(|git| git.push.as_ref());
    let is_fine = |branch: &String| check_reference(&full_branch(branch)).is_ok();
    match push {
        Some(push) if push.refspec.is_some() && push.branch.as_ref().is_none_or(is_fine) => {
            ImageUpdateAutomation::PUSH_REFSPEC
        }
        _ => ImageUpdateAutomation::PUSH_BRANCH,
    }
}
