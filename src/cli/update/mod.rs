//! `bumpwright update`: plans, runs, prints, and sets the exit code.

pub mod args;
pub(super) mod author;
mod commit;
mod dry_runs;
mod fleet;
mod git_signer;
mod neighbours;
mod output;
mod placed;
mod plan;
mod pull_request;
mod pushing;
mod releases;
mod remote_step;
mod request_args;
mod signing;
mod target;
mod typed;

pub(super) use output::html::impact as impact_block;
pub(super) use output::impact::lines as impact_lines;

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{IsTerminal as _, Write, stderr};
use std::process::ExitCode;

use crate::cli::console::{FAILED, cannot_print, complain, print, print_styled, say};
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::places::Places;
use crate::cli::process::progress::{self, Line};
use crate::cli::words;
use args::{Output, Strict, Update};
use bumpwright_edit::{Reason, Skip, unified};
use bumpwright_nearest::nearest;
use bumpwright_policy::PolicyName;
use bumpwright_semver::Version;
use bumpwright_text::between;
use bumpwright_update::{self as automation, Ahead, Bump, OFFLINE, Place, RemoteJob, Run, bumps};
use plan::{Planned, Step, plan};
use pushing::Pushes;

/// Nothing to change, or done.
const DONE: u8 = 0;
/// With `--exit-code`: something changed.
const CHANGED: u8 = 1;
/// With `--strict`: some marker was skipped.
const SKIPPED: u8 = 3;

/// What a shell adds to the number of the signal that ended a command.
const SIGNALLED: u8 = 128;

/// For the first run in a repository.
const NO_MARKERS: &str = r#"there are no markers: `bumpwright init` proposes policies and markers; a comment on its line marks a field: # {"$imagepolicy": "NAMESPACE:POLICY"}"#;

#[must_use]
pub fn run(args: &Update) -> ExitCode {
    ExitCode::from(code(args, &mut Places::default()))
}

/// Runs the command and gives its exit code (docs/cli.md, *Exit codes*).
pub(super) fn code(args: &Update, places: &mut Places) -> u8 {
    places.bound(args.bounds.budget());
    let Planned {
        steps,
        set,
        images,
        notes,
        objects,
    } = match plan(args, places) {
        Ok(planned) => planned,
        Err(error) => return refuse(args, &error),
    };
    let has_remotes = steps.iter().any(|step| matches!(step, Step::Remote(..)));
    let mut runs = run_steps(args, steps);
    placed::place(&mut runs, args, &objects, places);
    let unused = unused(args, &runs);
    let has_several = runs.len() > 1;
    let is_error = |policy: &PolicyName| set.contains(policy) && has_several;
    let has_unknown = unused.iter().any(|(policy, _)| is_error(policy));
    for run in &mut runs {
        run.notes.extend(passed_over(args, &run.passed_over));
        run.notes.extend(going_back(run, &|policy| set.contains(policy)));
    }
    let code = if has_unknown { FAILED } else { exit_code(args, &runs) };
    let unmarked = !runs.is_empty() && runs.iter().all(unmarked);
    let is_short = !args.verbose && args.output != Output::Json;
    let runs = if is_short {
        neighbours::apart(runs, &objects)
    } else {
        runs
    };
    let runs = as_told(args, args.output == Output::Json, runs);
    if let Err(error) = show(args, &runs) {
        complain(&error);
        return FAILED;
    }
    notes.iter().for_each(|note| say("note", note));
    if let Some(images) = images {
        images.notes().iter().for_each(|note| say("note", note));
    }
    for (policy, text) in &unused {
        let what = if is_error(policy) { "error" } else { "warning" };
        say(what, text);
    }
    if let Some(hint) = fleet::hint(args, &runs, places) {
        say("note", &hint);
    }
    if let Some(note) = nothing(args, &runs, unmarked) {
        say("note", note);
    }
    say_explain(args, &runs);
    match automation::interrupted().filter(|_| has_remotes) {
        Some(signal) => u8::try_from(signal).map_or(FAILED, |signal| signal.saturating_add(SIGNALLED)),
        None => code,
    }
}

/// Without notes for programs and verbose mode.
fn as_told(args: &Update, for_programs: bool, mut runs: Vec<Run>) -> Vec<Run> {
    if !args.verbose && !for_programs {
        let skips = runs.iter_mut().map(|run| &mut run.skips);
        skips.for_each(|skips| skips.retain(|skip| !skip.reason.is_dormant()));
        if args.strict == Some(Strict::Markers) {
            runs.iter_mut().for_each(count_offline);
        }
    }
    runs
}

/// Where markers alone are checked, those whose image nobody may ask for are right: they are counted.
fn count_offline(run: &mut Run) {
    let before = run.skips.len();
    let is_offline = |skip: &Skip| skip.reason == Reason::PolicyNotReady && skip.message.contains(OFFLINE);
    run.skips.retain(|skip| !is_offline(skip));
    let count = before - run.skips.len();
    if count > 0 {
        let fields = words::count(count, "field");
        let note = format!(
            "{fields} with a valid marker and no known image: offline, no registry is asked; --verbose lists them"
        );
        run.notes.push(note);
    }
}

/// Policies that were set and that no marker names, with what there is to say.
fn unused(args: &Update, runs: &[Run]) -> Vec<(PolicyName, String)> {
    if runs.iter().any(|run| run.error.is_some()) {
        return Vec::new();
    }
    let policies = args
        .set
        .iter()
        .filter_map(|text| text.split_once('='))
        .map(|(policy, _)| policy);
    let named: BTreeSet<String> = runs.iter().flat_map(|run| &run.named).map(PolicyName::marker).collect();
    let unknown = policies.filter(|policy| !named.contains(*policy));
    let notes = unknown.filter_map(|policy| {
        let near = nearest(policy, named.iter().map(String::as_str));
        let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        let text = format!("--set {policy}: no marker names this policy{near}");
        Some((PolicyName::of_marker(policy)?, text))
    });
    notes.collect()
}

/// A plain run goes by flags alone, whatever the repository's own automations say.
fn passed_over(args: &Update, automations: &[String]) -> Option<String> {
    (!automations.is_empty() && args.fleet.is_empty()).then(|| {
        format!(
            "the repository has ImageUpdateAutomations of its own ({}), and what they say of path, branch, message and push counts for \
             nothing here: --fleet PATH, the folder of a cluster, goes by them, and so does -f FILE with a copy of one",
            words::some(automations)
        )
    })
}

/// That images go back to an older version, which a policy does where it allows none that is newer. What somebody has
/// set is meant.
fn going_back(run: &Run, is_set: &dyn Fn(&PolicyName) -> bool) -> Option<String> {
    let version = |text: &str| Version::parse(text.split('@').next().unwrap_or(text)).ok();
    let is_back = |bump: &Bump<'_>| {
        let versions = version(bump.old).zip(version(bump.new));
        versions.is_some_and(|(old, new)| new < old) && !is_set(bump.policy)
    };
    let bumps = bumps(&run.changes, &run.images);
    let back = bumps.iter().filter(|bump| is_back(bump));
    let back: BTreeSet<String> = back
        .map(|bump| format!("{} goes from {} to {}", bump.policy, bump.old, bump.new))
        .collect();
    let back: Vec<String> = back.into_iter().collect();
    (!back.is_empty()).then(|| {
        format!(
            "{}: older than what is in the files, since the policy allows nothing newer; to keep a newer version, annotate the policy with \
             bumpwright.dev/allow-downgrade: \"false\" (docs/guides/policies.md#holding-images-back)",
            words::some(&back)
        )
    })
}

/// Whether nothing in the files asks for a change.
fn unmarked(run: &Run) -> bool {
    run.error.is_none() && run.notes.is_empty() && run.named.is_empty() && run.skips.is_empty()
}

/// Where the reasons of skips are explained, for people only.
fn say_explain(args: &Update, runs: &[Run]) {
    let skip = runs.iter().flat_map(|run| &run.skips).next();
    if let Some(skip) = skip.filter(|_| args.output == Output::Text && stderr().is_terminal()) {
        say("explain a reason", &format!("bumpwright explain {:?}", skip.reason));
    }
}

/// How a run that is not done in time says so.
pub(super) fn late(args: &Update) -> Box<dyn FnOnce(&str)> {
    let is_read = args.output == Output::Json;
    let target = target(args);
    Box::new(move |error| {
        if is_read {
            let run = Run {
                target,
                error: Some(error.to_owned()),
                ..Run::default()
            };
            let document = output::json::render(&[run]);
            let printed = document.and_then(|text| print(text.as_bytes()).map_err(cannot_print));
            if let Err(error) = printed {
                complain(&error);
            }
        }
        complain(error);
    })
}

fn target(args: &Update) -> String {
    words::public(args.target.as_deref().unwrap_or("."))
}

/// Nothing was run. Programs that read the output still get their one document (docs/cli.md, *Output*).
fn refuse(args: &Update, error: &CliError) -> u8 {
    let run = Run {
        target: target(args),
        error: Some(error.to_string()),
        ..Run::default()
    };
    if let Err(error) = show(args, &[run]) {
        complain(&error);
    }
    FAILED
}

/// Runs folders one after the other (they may share files) and remotes concurrently.
fn run_steps(args: &Update, steps: Vec<Step>) -> Vec<Run> {
    let pushes = Pushes::new(args);
    let mut runs: Vec<Option<Run>> = Vec::new();
    let mut jobs = Vec::new();
    let mut waiting = Vec::new();
    let mut ahead = Ahead::default();
    for step in steps {
        runs.push(match step {
            Step::Done(run) => Some(*run),
            Step::Folder(job, notes) => Some(with_notes(automation::run_folder(&job, &mut ahead), notes)),
            Step::Remote(mut job, place, notes) => {
                pushes.attend(&mut job);
                waiting.push((runs.len(), notes));
                jobs.push((*job, place));
                None
            }
        });
    }
    let progress = Line::spinner(fetching(&jobs));
    let done = if jobs.is_empty() {
        Vec::new()
    } else {
        automation::attended(|| automation::run_all(&jobs), || pushes.has_begun(), say_interrupted)
    };
    for ((n, notes), run) in waiting.into_iter().zip(done) {
        if let Some(slot) = runs.get_mut(n) {
            *slot = Some(with_notes(run, notes));
        }
    }
    drop(progress);
    runs.into_iter().flatten().collect()
}

/// What repositories are waited for.
fn fetching(jobs: &[(RemoteJob, Place)]) -> Option<String> {
    let places: BTreeSet<&str> = jobs.iter().map(|(job, _)| job.url.as_str()).collect();
    let places: Vec<String> = places.into_iter().map(|url| words::inline(url).into_owned()).collect();
    (!places.is_empty()).then(|| format!("fetching {} …", words::some(&places)))
}

fn say_interrupted() {
    let text =
        "a push has begun, its outcome is waited for, and no other begins; interrupt again to leave without knowing it";
    progress::aside(|| say("interrupted", text));
}

fn with_notes(mut run: Run, mut notes: Vec<String>) -> Run {
    notes.append(&mut run.notes);
    run.notes = notes;
    run
}

/// That fields depend on registries which did not answer: the skips say which, and why.
fn unasked(run: &Run) -> Option<String> {
    let fields = run
        .skips
        .iter()
        .filter(|skip| skip.reason == Reason::ScanFailed)
        .count();
    let of_them = match fields {
        0 => return None,
        1 => "1 field was left as it is, since its image".to_owned(),
        more => format!("{more} fields were left as they are, since their images"),
    };
    Some(format!("{of_them} could not be asked for (ScanFailed)"))
}

/// 2 any error, also of a registry that a field depends on > 3 with `--strict` and a skip > 1 with `--exit-code`
/// and changes > 0.
fn exit_code(args: &Update, runs: &[Run]) -> u8 {
    if runs.iter().any(|run| run.error.is_some() || unasked(run).is_some()) {
        FAILED
    } else if runs
        .iter()
        .flat_map(|run| &run.skips)
        .any(|skip| is_refused(args, skip))
    {
        SKIPPED
    } else if args.exit_code && runs.iter().any(|run| !run.changes.is_empty()) {
        CHANGED
    } else {
        DONE
    }
}

/// Whether `--strict` does not accept this skip.
fn is_refused(args: &Update, skip: &Skip) -> bool {
    match args.strict {
        None => false,
        Some(Strict::All) => !skip.reason.is_dormant(),
        Some(Strict::Problems) => !skip.reason.is_on_purpose(),
        Some(Strict::Markers) => skip.reason.is_faulty_marker(),
    }
}

/// Appends the summary to the file of `--summary`.
fn append_summary(args: &Update, runs: &[Run]) -> Result<(), CliError> {
    let Some(file) = &args.summary else { return Ok(()) };
    let text = output::markdown::render(&as_told(args, false, runs.to_vec()));
    let opened = OpenOptions::new().append(true).create(true).open(file);
    opened
        .and_then(|mut out| out.write_all(text.as_bytes()))
        .at(format_args!("--summary {}", file.display()))
}

/// Why there is nothing to see; none where there is something, or the output says it.
fn nothing(args: &Update, runs: &[Run], unmarked: bool) -> Option<&'static str> {
    let is_silent = |run: &Run| output::text::is_in_place(run) && run.notes.is_empty() && run.skips.is_empty();
    match args.output {
        Output::Json => None,
        _ if unmarked => Some(NO_MARKERS),
        Output::Diff if runs.iter().all(is_silent) => Some("nothing to change"),
        _ => None,
    }
}

/// Prints the result to standard output; errors, and notes that a diff cannot have, to standard error.
fn show(args: &Update, runs: &[Run]) -> Result<(), CliError> {
    match args.output {
        Output::Text => print_styled(&output::text::render(runs)).map_err(cannot_print)?,
        Output::Json => {
            print(output::json::render(runs)?.as_bytes()).map_err(cannot_print)?;
            say_notes(runs);
        }
        Output::Markdown => print_styled(&output::markdown::render(runs)).map_err(cannot_print)?,
        Output::Html => print(output::html::render(runs)?.as_bytes()).map_err(cannot_print)?,
        Output::Diff => {
            let mut diff = Vec::new();
            // Each diff of a branch applies on top of those before it.
            for file in runs.iter().filter(|run| holds(run)).flat_map(|run| &run.files) {
                unified::append(&mut diff, &file.path, &file.old, &file.new);
            }
            print(&diff).map_err(cannot_print)?;
            say_notes(runs);
            let skips = runs
                .iter()
                .flat_map(|run| run.skips.iter().map(move |skip| (run, skip)));
            skips.for_each(|(run, skip)| say("skipped", &words::skip_of(run, skip)));
        }
    }
    for run in runs {
        for error in run.error.clone().into_iter().chain(unasked(run)) {
            match &run.automation {
                Some(name) => complain(format!("{name}: {error}")),
                None => complain(&error),
            }
        }
    }
    append_summary(args, runs)
}

/// Whether the files of a run would be those of a branch, or are.
fn holds(run: &Run) -> bool {
    let has_failed = run.dry_run && run.error.is_some();
    !run.superseded && !has_failed
}

/// Notes that an output format cannot have.
fn say_notes(runs: &[Run]) {
    for run in runs {
        let whose = between("", run.automation.as_ref(), ": ");
        run.notes.iter().for_each(|note| say("note", &format!("{whose}{note}")));
    }
}
