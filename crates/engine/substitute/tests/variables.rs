//! The values of variables, exemptions, and confidentiality of values.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bumpwright_substitute::{
    Options, SourceError, SourceKind, SubstituteError, Undefined, Variables, substitute, substitute_within,
};
use bumpwright_yaml::{Files, Node, read_resources, write_sigs};
use std::collections::BTreeMap;

fn map<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect()
}

fn object(text: &str) -> Node {
    let mut files = Files::default();
    let file = files.add("a.yaml");
    read_resources(text.as_bytes(), file).unwrap().remove(0)
}

fn config_map(data: &str) -> Node {
    object(&format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata: {data}\n"
    ))
}

fn printed(node: &Node) -> String {
    let mut text = String::new();
    write_sigs(node, &mut text).unwrap();
    text
}

fn run(object: &Node, variables: &Variables, options: Options) -> Result<String, SubstituteError> {
    let changed = substitute(object, variables, options)?;
    Ok(printed(changed.as_ref().unwrap_or(object)))
}

/// K-088, K-089.
#[test]
fn later_sources_win_and_inline_wins_over_all() {
    let mut variables = Variables::default();
    variables.add_config_map(&map([("a", "1st"), ("b", "1st"), ("c", "1st")]));
    variables.add_secret(&map([("b", "2nd"), ("c", "2nd")]));
    variables.add_inline(&map([("c", "inline")]));
    let text = run(&config_map("{v: '${a} ${b} ${c}'}"), &variables, Options::default()).unwrap();
    assert!(text.contains("v: 1st 2nd inline\n"), "{text}");
}

#[test]
fn line_breaks_are_taken_out_of_values() {
    let mut variables = Variables::default();
    variables.add_config_map(&map([("a", "one\ntwo\n")]));
    variables.add_secret(&map([("b", "three\n\nfour\n")]));
    variables.add_inline(&map([("c", "\nfive\n")]));
    let text = run(&config_map("{v: '${a} ${b} ${c}'}"), &variables, Options::default()).unwrap();
    assert!(text.contains("v: onetwo threefour five\n"), "{text}");
}

/// K-094, N-060.
#[test]
fn nothing_is_substituted_without_variables_unless_always() {
    let object = config_map("{v: '${a:=b}'}");
    let never = substitute(&object, &Variables::default(), Options::default()).unwrap();
    assert!(never.is_none());
    let options = Options {
        always: true,
        undefined: Undefined::Refused,
    };
    let text = run(&object, &Variables::default(), options).unwrap();
    assert!(text.contains("v: b\n"), "{text}");
}

/// K-093.
#[test]
fn a_label_or_annotation_exempts_an_object() {
    let mut variables = Variables::default();
    variables.add_inline(&map([("bad-name", "a")]));
    for field in ["labels", "annotations"] {
        let exempt = object(&format!(
            "apiVersion: v1\nkind: X\nmetadata:\n  name: x\n  {field}: {{kustomize.toolkit.fluxcd.io/substitute: disabled}}\na: '${{'\n"
        ));
        assert!(substitute(&exempt, &variables, Options::default()).unwrap().is_none());
    }
}

/// K-086.
#[test]
fn a_name_that_is_none_is_told() {
    let mut variables = Variables::default();
    variables.add_inline(&map([("bad-name", "a")]));
    let error = substitute(&config_map("{}"), &variables, Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "envsubst error: 'bad-name' var name is invalid, must match '^[_[:alpha:]][_[:alpha:][:digit:]]*$'"
    );
}

/// K-084.
#[test]
fn a_source_that_is_missing_is_told() {
    let error = SourceError {
        kind: SourceKind::Secret,
        name: "nope2".into(),
        cause: "secrets \"nope2\" not found".into(),
    };
    let text = "substitute from 'Secret/nope2' error: secrets \"nope2\" not found";
    assert_eq!(error.to_string(), text);
}

#[test]
fn places_are_kept() {
    let mut variables = Variables::default();
    variables.add_inline(&map([("port", "80")]));
    let before = object("kind: X\nspec:\n  list:\n  - a\n  - '${port}'\n");
    let after = substitute(&before, &variables, Options::default()).unwrap().unwrap();
    let items = after.lookup(&["spec", "list"]).and_then(Node::as_items).unwrap();
    assert_eq!((items[1].place.line, items[1].place.column), (5, 5));
    assert_eq!(items[1].as_str(), Some("80"));
    assert_eq!(after.place, before.place);
}

/// The conversion to Go's maps changes numbers even without variables.
#[test]
fn large_numbers_lose_their_last_digits_as_in_flux() {
    let mut variables = Variables::default();
    variables.add_inline(&map([("a", "b")]));
    let text = run(
        &config_map("{big: 9007199254740993, m: 1}"),
        &variables,
        Options::default(),
    )
    .unwrap();
    assert!(text.contains("big: 9007199254740992\n"), "{text}");
}

#[test]
fn values_of_secrets_are_in_no_error() {
    let secret = "hunter2!";
    for (data, value) in [
        ("{v: '${s}'}", "*hunter2!"),
        ("{v: '${s}'}", "!!int hunter2!"),
        ("{v: '${s}'}", "!!float 'hunter2!'"),
        ("{v: '${s}'}", "!hunter2%z x"),
        ("{v: '${s}'}", "[hunter2!"),
        ("{v: '${s}'}", "\"\\q hunter2!"),
        ("{'${s}': x}", "{hunter2!: 1}"),
        ("{v: '${s'}", "hunter2!"),
        ("{v: '${s:${s}:${s}'}", "hunter2!"),
    ] {
        let mut variables = Variables::default();
        variables.add_secret(&map([("s", value)]));
        let error = substitute(&config_map(data), &variables, Options::default()).unwrap_err();
        let told = format!("{error} {error:?} {variables:?}");
        assert!(!told.contains(secret) && !told.contains("hunter2"), "{told}");
    }
    // A number has another form in such an error.
    let mut variables = Variables::default();
    variables.add_secret(&map([("s", "18446744073709551615")]));
    let error = substitute(&config_map("{'${s}': x}"), &variables, Options::default()).unwrap_err();
    let text = "envsubst error: YAMLToJSON: unsupported map key of type: uint64, key: ***";
    assert_eq!(error.to_string(), text);
}

/// A value that is not a secret is shown as in Flux.
#[test]
fn inline_values_are_in_errors() {
    let mut variables = Variables::default();
    variables.add_secret(&map([("s", "quiet")]));
    variables.add_inline(&map([("star", "*x")]));
    let error = substitute(&config_map("{v: '${star}'}"), &variables, Options::default()).unwrap_err();
    let text = "envsubst error: YAMLToJSON: yaml: unknown anchor 'x' referenced";
    assert_eq!(error.to_string(), text);
}

/// Invalid UTF-8 is an error of YAML, not of ours.
#[test]
fn binary_values_are_refused_where_they_are_used() {
    let mut variables = Variables::default();
    variables.add_secret(&BTreeMap::from([("s".to_owned(), b"\xff\x00\xfe".to_vec())]));
    assert!(
        substitute(&config_map("{v: a}"), &variables, Options::default())
            .unwrap()
            .is_none()
    );
    let error = substitute(&config_map("{v: '${s}'}"), &variables, Options::default()).unwrap_err();
    assert!(
        error.to_string().starts_with("envsubst error: YAMLToJSON: yaml: "),
        "{error}"
    );
}

#[test]
fn what_an_unknown_source_would_give_has_its_default_or_stays_as_it_is_written() {
    let mut variables = Variables::default();
    variables.add_inline(&map([("a", "one")]));
    let options = Options {
        undefined: Undefined::Kept,
        ..Options::default()
    };
    let text = run(&config_map("{v: '${a} ${b} ${c:=d} ${e^^}'}"), &variables, options).unwrap();
    assert!(text.contains("v: one ${b} d ${e}\n"), "{text}");
}

/// A value that only stands for another one gives way to a default, until a later source gives one.
#[test]
fn an_unknown_value_gives_way_to_a_default() {
    let mut variables = Variables::default();
    variables.add_secret(&map([("a", "${a}"), ("b", "${b}")]));
    variables.mark_unknown(&["a".to_owned(), "b".to_owned(), "none".to_owned()]);
    variables.add_inline(&map([("b", "two")]));
    let object = config_map("{v: '${a} ${a:=one} ${b:=one} ${none:=three}'}");
    let done = substitute_within(&object, &variables, Options::default(), None)
        .unwrap()
        .unwrap();
    assert!(
        printed(&done.node).contains("v: ${a} one two three\n"),
        "{}",
        printed(&done.node)
    );
    assert_eq!((done.undefined, done.guessed), (vec![], vec!["a".to_owned()]));
    let options = Options {
        undefined: Undefined::Kept,
        ..Options::default()
    };
    let done = substitute_within(&object, &variables, options, None).unwrap().unwrap();
    assert_eq!(done.guessed, ["a", "none"]);
}
