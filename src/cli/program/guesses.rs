//! Commands that other programs have: the error of one that is guessed names ours.

use clap::Error;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Guessed commands, and what does it here.
const GUESSES: [(&[&str], &str); 17] = [
    (&["list", "ls", "images", "describe", "show"], "get"),
    (&["bump", "set", "tag", "upgrade", "promote"], "update"),
    (&["plan", "preview", "impact"], "update --dry-run"),
    (&["commit", "push", "pr"], "update --commit"),
    (&["scan", "tags", "search", "latest"], "policy"),
    (&["render"], "fleet"),
    (&["template"], "helm template"),
    (&["lint", "verify", "validate", "test"], "fleet check"),
    (&["review"], "fleet review"),
    (&["sync", "refresh"], "reconcile"),
    (&["apply", "bootstrap", "deploy"], "install"),
    (&["pause", "stop"], "suspend"),
    (&["logs", "log", "history"], "events"),
    (&["watch", "top"], "status --watch"),
    (&["adopt", "import", "convert"], "migrate"),
    (&["dashboard", "web"], "ui"),
    (&["start", "serve", "run", "server"], "controller"),
];

/// Guessed commands for what is done without a command of ours, and how.
const ELSEWHERE: [(&[&str], &str); 3] = [
    (
        &["delete", "remove"],
        "`kubectl delete` an object; `bumpwright uninstall` removes what `install` has made",
    ),
    (
        &["revert", "rollback", "undo"],
        "`git revert` the commit: the annotation bumpwright.dev/respect-reverts, or `bumpwright update --respect-reverts`, leaves it so \
         (docs/guides/reverts.md)",
    ),
    (
        &["hold", "freeze", "pin", "lock"],
        "annotate the ImagePolicy with bumpwright.dev/hold: REASON (docs/guides/policies.md#holding-images-back)",
    ),
];

/// Guessed values of flags: what the flag shows of its value, what is typed, and what is meant.
const GUESSED_VALUES: [(&str, &str, &str); 1] = [(
    "<OUTPUT>",
    "gitlab",
    "GitLab shows findings by `--output junit`, with the file in artifacts:reports:junit",
)];

/// Guessed flags: of which command, and what does it here.
const GUESSED_FLAGS: [(&str, &str, &str); 4] = [
    ("fleet diff", "--check", "fleet review"),
    ("update", "--comment", "fleet review --comment"),
    ("init", "--dry-run", "init, which changes nothing without --write"),
    (
        "update",
        "--allow-downgrade",
        "update, and the annotation bumpwright.dev/allow-downgrade of a policy",
    ),
];

/// The error with a tip, if what was typed is a command of other programs, or a duration without its unit.
pub(crate) fn with_tip(error: Error) -> Error {
    match error.kind() {
        ErrorKind::InvalidSubcommand => with_command(error),
        ErrorKind::ValueValidation => with_unit(error),
        ErrorKind::InvalidValue => with_value(error),
        ErrorKind::UnknownArgument => with_flag(without_escape(error)),
        _ => error,
    }
}

/// The error without the advice to write what looks like a flag behind `--`: no argument of ours begins with a dash.
fn without_escape(mut error: Error) -> Error {
    let Some(ContextValue::StyledStrs(tips)) = error.get(ContextKind::Suggested) else {
        return error;
    };
    let is_of_use = |tip: &&StyledStr| !tip.to_string().contains("as a value, use");
    let tips: Vec<StyledStr> = tips.iter().filter(is_of_use).cloned().collect();
    error.remove(ContextKind::Suggested);
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

fn with_flag(mut error: Error) -> Error {
    let (Some(ContextValue::String(typed)), Some(ContextValue::StyledStr(usage))) =
        (error.get(ContextKind::InvalidArg), error.get(ContextKind::Usage))
    else {
        return error;
    };
    let usage = usage.to_string();
    // What a shell makes of `--fleet clusters/*` and of `--gerrit main`: the second word is TARGET already.
    if !typed.starts_with('-') && usage.contains("bumpwright update ") {
        let branch = if typed.contains("://") { "main" } else { typed.as_str() };
        let tips = [
            format!("a value that may be left out is joined to its flag, as in --gerrit={branch}"),
            "several clusters are --fleet A,B, or --fleet A --fleet B".to_owned(),
        ];
        let tips = tips.map(StyledStr::from).to_vec();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        return error;
    }
    let is_meant =
        |(command, flag, _): &&(&str, &str, &str)| typed == flag && usage.contains(&format!("bumpwright {command} "));
    if let Some((_, _, ours)) = GUESSED_FLAGS.iter().find(is_meant) {
        let (ours, more) = ours
            .split_once(", ")
            .map_or((*ours, String::new()), |(ours, more)| (ours, format!(", {more}")));
        let tip = StyledStr::from(format!("here it is `bumpwright {ours}`{more}"));
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

fn with_value(mut error: Error) -> Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let (typed, flag) = (text(ContextKind::InvalidValue), text(ContextKind::InvalidArg));
    let is_possible = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) => values.iter().any(|value| value == "junit"),
        _ => false,
    };
    let is_meant = |(of, guess, _): &&(&str, &str, &str)| flag.contains(of) && typed == *guess && is_possible;
    if let Some((.., tip)) = GUESSED_VALUES.iter().find(is_meant) {
        error.remove(ContextKind::SuggestedValue);
        error.insert(
            ContextKind::Suggested,
            ContextValue::StyledStrs(vec![StyledStr::from(*tip)]),
        );
    }
    error
}

fn with_unit(mut error: Error) -> Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let typed = text(ContextKind::InvalidValue);
    let is_number = !typed.is_empty() && typed.chars().all(|c| c.is_ascii_digit());
    if is_number && text(ContextKind::InvalidArg).contains("<DURATION>") {
        let tip = StyledStr::from(format!("with a unit it is {typed}s, {typed}m or {typed}h"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

fn with_command(mut error: Error) -> Error {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let meant = GUESSES.iter().find(|(guesses, _)| guesses.contains(&typed.as_str()));
    let elsewhere = ELSEWHERE.iter().find(|(guesses, _)| guesses.contains(&typed.as_str()));
    let tip = match (meant, elsewhere) {
        (Some((_, ours)), _) => Some(format!("here it is `bumpwright {ours}`")),
        (None, Some((_, how))) => Some((*how).to_owned()),
        (None, None) => None,
    };
    if let Some(tip) = tip.map(StyledStr::from) {
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::cli::program::groups::command;

    #[test]
    fn a_duration_without_a_unit_is_answered_with_units() {
        let error = command()
            .try_get_matches_from(["bumpwright", "fleet", "check", "--timeout", "3"])
            .unwrap_err();
        let text = with_tip(error).to_string();
        assert!(text.contains("tip: with a unit it is 3s, 3m or 3h"), "{text}");
    }

    #[test]
    fn an_unknown_flag_is_not_advised_to_be_a_value() {
        let of = |arguments: &[&str]| with_tip(command().try_get_matches_from(arguments).unwrap_err()).to_string();
        let text = of(&["bumpwright", "init", "--dry-run"]);
        assert!(text.contains("'--dry-run'") && !text.contains("as a value"), "{text}");
        assert!(of(&["bumpwright", "update", "--dry-rum"]).contains("--dry-run"));
    }

    #[test]
    fn several_clusters_of_a_shell_are_answered_with_commas() {
        let of = |arguments: &[&str]| with_tip(command().try_get_matches_from(arguments).unwrap_err()).to_string();
        let text = of(&[
            "bumpwright",
            "update",
            "--fleet",
            "clusters/a",
            "clusters/b",
            "clusters/c",
        ]);
        assert!(text.contains("tip: several clusters are --fleet A,B"), "{text}");
        assert!(!of(&["bumpwright", "update", "--nonesuch"]).contains("several clusters"));
    }

    #[test]
    fn a_guessed_flag_is_answered_with_the_command_that_does_it() {
        let of = |arguments: &[&str]| with_tip(command().try_get_matches_from(arguments).unwrap_err()).to_string();
        let text = of(&["bumpwright", "fleet", "diff", "--check", "--from", "main"]);
        assert!(text.contains("tip: here it is `bumpwright fleet review`"), "{text}");
        let text = of(&["bumpwright", "update", "--dry-run", "--comment"]);
        assert!(
            text.contains("tip: here it is `bumpwright fleet review --comment`") && !text.contains("--commit'"),
            "{text}"
        );
        let text = of(&["bumpwright", "init", "--dry-run"]);
        assert!(
            text.contains("tip: here it is `bumpwright init`, which changes nothing without --write"),
            "{text}"
        );
        let text = of(&["bumpwright", "fleet", "check", "--check"]);
        assert!(!text.contains("fleet review"), "{text}");
    }

    #[test]
    fn a_guessed_output_is_answered_with_the_one_that_is_read_there() {
        let of = |arguments: &[&str]| with_tip(command().try_get_matches_from(arguments).unwrap_err()).to_string();
        let tip = "tip: GitLab shows findings by `--output junit`";
        let text = of(&["bumpwright", "fleet", "check", "-o", "gitlab"]);
        assert!(text.contains(tip), "{text}");
        for other in [
            &["bumpwright", "fleet", "check", "-o", "gitlub"][..],
            &["bumpwright", "explain", "-o", "gitlab"],
        ] {
            let text = of(other);
            assert!(!text.contains(tip), "{text}");
        }
    }

    #[test]
    fn a_value_behind_a_flag_that_may_have_none_is_answered_with_its_form() {
        let of = |arguments: &[&str]| with_tip(command().try_get_matches_from(arguments).unwrap_err()).to_string();
        let url = "https://review.example.com/a/fleet";
        let text = of(&["bumpwright", "update", "--gerrit", "main", url]);
        assert!(text.contains(url) && text.contains("as in --gerrit=main"), "{text}");
        let text = of(&["bumpwright", "update", url, "--gerrit", "release-1.4"]);
        assert!(text.contains("as in --gerrit=release-1.4"), "{text}");
        assert!(!of(&["bumpwright", "update", "--gerit"]).contains("as in --gerrit=main"));
    }

    #[test]
    fn a_guessed_command_is_answered_with_one_that_exists() {
        for (guesses, ours) in GUESSES {
            let words: Vec<&str> = ours.split(' ').filter(|word| !word.starts_with('-')).collect();
            let known = words
                .iter()
                .try_fold(command(), |at, word| at.find_subcommand(word).cloned());
            assert!(known.is_some(), "{ours}");
            for guess in guesses {
                assert!(command().find_subcommand(guess).is_none(), "{guess}");
                let error = command().try_get_matches_from(["bumpwright", guess]).unwrap_err();
                let text = with_tip(error).to_string();
                assert!(text.contains(&format!("tip: here it is `bumpwright {ours}`")), "{text}");
            }
        }
        for (guesses, how) in ELSEWHERE {
            for guess in guesses {
                assert!(command().find_subcommand(guess).is_none(), "{guess}");
                let error = command().try_get_matches_from(["bumpwright", guess]).unwrap_err();
                let text = with_tip(error).to_string();
                assert!(text.contains(&format!("tip: {how}")), "{text}");
            }
        }
        let error = command().try_get_matches_from(["bumpwright", "updat"]).unwrap_err();
        assert!(with_tip(error).to_string().contains("'update'"));
    }
}
