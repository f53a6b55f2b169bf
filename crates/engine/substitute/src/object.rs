//! Substitutes variables in one object of a build: prints it, evaluates the text, and parses it again.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use super::budget::EvalError;
use super::eval::{Undefined, eval_within};
use super::reread::{is_unchanged, reread};
use super::variables::{NAME, Variables};
use bumpwright_budget::{Exceeded, Share};
use bumpwright_yaml::{FileId, Node, ReadOptions, WriteError, read_first, weight, write_sigs};

/// The label or annotation that exempts an object when it is `disabled` (K-093).
pub const DISABLED: &str = "kustomize.toolkit.fluxcd.io/substitute";

/// Options of a substitution.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// What becomes of a missing variable (`StrictPostBuildSubstitutions` refuses it).
    pub undefined: Undefined,
    /// Whether to substitute without any variables, too (`substituteStrategy: Always`).
    pub always: bool,
}

/// Why variables cannot be substituted. The texts are those of Flux, without values of Secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubstituteError {
    /// The object has no form in YAML.
    #[error("{}", .0.go())]
    Write(WriteError),
    /// A variable has an invalid name.
    #[error("envsubst error: '{0}' var name is invalid, must match '{NAME}'")]
    Name(String),
    /// An expression in it is invalid.
    #[error("envsubst error: variable substitution failed: {0}")]
    Eval(#[from] EvalError),
    /// The memory budget does not allow it.
    #[error(transparent)]
    Memory(#[from] Exceeded),
    /// The result is not YAML.
    #[error("envsubst error: YAMLToJSON: {0}")]
    Malformed(String),
    /// The result contains a text that kyaml cannot read back: lines of which the first begins with a tab.
    #[error("UnmarshalJSON: {0}")]
    Unreadable(String),
    /// The result is not an object but, say, an `array`.
    #[error("UnmarshalJSON: json: cannot unmarshal {0} into Go value of type map[string]interface {{}}")]
    NoObject(&'static str),
}

/// The object with variables substituted; `None` where it stays as it is: substitution is disabled on it, no variables
/// are given, or it contains no `$` and nothing else that the conversion through text would change.
///
/// The id of the object may have changed. Existing nodes keep their places.
///
/// # Errors
/// In Flux' words, for invalid names, expressions and results.
pub fn substitute(object: &Node, variables: &Variables, options: Options) -> Result<Option<Node>, SubstituteError> {
    Ok(substitute_within(object, variables, options, None)?.map(|done| done.node))
}

/// An object with its variables substituted.
#[derive(Debug, Clone)]
pub struct Substituted {
    pub node: Node,
    /// Whether one of the variables came from a Secret.
    pub has_secrets: bool,
    /// The names of variables that are not set and have no default, each once.
    pub undefined: Vec<String>,
    /// The names of variables that have their default because their value is not known here, each once.
    pub guessed: Vec<String>,
}

/// As [`substitute`], with memory reserved in `memory` for the text and its result, for the duration of the call.
///
/// # Errors
/// As [`substitute`], and [`SubstituteError::Memory`].
pub fn substitute_within(
    object: &Node,
    variables: &Variables,
    options: Options,
    memory: Option<&Share>,
) -> Result<Option<Substituted>, SubstituteError> {
    if is_disabled(object) || (variables.is_empty() && !options.always) {
        return Ok(None);
    }
    if let Some(name) = variables.wrong_name() {
        return Err(SubstituteError::Name(name.to_owned()));
    }
    if is_unchanged(object) {
        return Ok(None);
    }
    let mut reservation = memory
        .map(|memory| memory.reserve(weight::printed(object)))
        .transpose()?;
    let mut text = String::new();
    write_sigs(object, &mut text).map_err(SubstituteError::Write)?;
    let has_secrets = Cell::new(false);
    let lookup = |name: &str, has_default: bool| {
        has_secrets.set(has_secrets.get() || variables.is_secret(name));
        variables
            .get(name)
            .filter(|_| !(has_default && variables.is_unknown(name)))
    };
    let (undefined, guessed) = (RefCell::new(BTreeSet::new()), RefCell::new(BTreeSet::new()));
    let missing = |name: &str, has_default: bool| {
        let is_guessed = options.undefined == Undefined::Kept || variables.is_unknown(name);
        if !has_default {
            undefined.borrow_mut().insert(name.to_owned());
        } else if is_guessed {
            guessed.borrow_mut().insert(name.to_owned());
        }
    };
    let text = eval_within(
        text.as_bytes(),
        lookup,
        missing,
        options.undefined,
        reservation.as_mut(),
    )?;
    reservation
        .as_mut()
        .map_or(Ok(()), |reservation| reservation.grow(weight::of_text(&text)))?;
    let malformed = |sentence: &str| SubstituteError::Malformed(without_secrets(sentence, variables));
    let read = read_first(&text, &ReadOptions::sigs(FileId::NONE)).map_err(|error| malformed(error.go()))?;
    // A text without documents is null.
    let read = read.unwrap_or_else(Node::null);
    let node = reread(read, object);
    let done = node.map(|node| {
        Some(Substituted {
            node,
            has_secrets: has_secrets.get(),
            undefined: undefined.into_inner().into_iter().collect(),
            guessed: guessed.into_inner().into_iter().collect(),
        })
    });
    done.map_err(|error| match error {
        SubstituteError::Malformed(sentence) => malformed(&sentence),
        error => error,
    })
}

fn is_disabled(object: &Node) -> bool {
    ["labels", "annotations"].iter().any(|field| {
        let value = object.lookup(&["metadata", field, DISABLED]).and_then(Node::as_scalar);
        value.is_some_and(|value| value.is("disabled"))
    })
}

/// The placeholder for a part of a secret.
const HIDDEN: &str = "***";

/// An error about YAML without the words that it quotes, where those may come from a Secret.
fn without_secrets(sentence: &str, variables: &Variables) -> String {
    let mut shown = String::with_capacity(sentence.len());
    let mut rest = sentence;
    while let Some((before, quote, quoted, behind)) = next_quoted(rest) {
        shown.push_str(before);
        shown.push(quote);
        shown.push_str(if may_be_secret(quoted, variables) {
            HIDDEN
        } else {
            quoted
        });
        shown.push(quote);
        rest = behind;
    }
    // Numeric keys are at the end, without quotes.
    match rest.split_once("key: ") {
        Some((before, _)) if variables.secrets().next().is_some() => shown + before + "key: " + HIDDEN,
        _ => shown + rest,
    }
}

/// The text before the next quoted word, its quotation mark, the word, and the rest.
fn next_quoted(text: &str) -> Option<(&str, char, &str, &str)> {
    let at = text.find(['\'', '"', '`'])?;
    let (before, from) = text.split_at_checked(at)?;
    let quote = from.chars().next()?;
    let (quoted, behind) = from.get(1..)?.split_once(quote)?;
    Some((before, quote, quoted, behind))
}

/// Whether a word is part of a secret value, or contains one. Punctuation is what YAML's errors are about.
fn may_be_secret(word: &str, variables: &Variables) -> bool {
    let word = word.as_bytes();
    let says_something = word.iter().any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
    let holds = |text: &[u8], part: &[u8]| !part.is_empty() && memchr::memmem::find(text, part).is_some();
    let related = |secret: &[u8]| holds(secret, word) || holds(word, secret);
    says_something && variables.secrets().any(related)
}
