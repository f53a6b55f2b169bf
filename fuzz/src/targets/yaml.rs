//! go-yaml's readers and writers: what is written is read again as the same.

use bumpwright_yaml::{
    FileId, Node, ReadOptions, SequenceIndent, read, read_annotated, read_first, read_resources, reread, revalue,
    weight, write_annotated, write_json, write_kyaml, write_sigs,
};

fn json(node: &Node) -> Option<String> {
    let mut out = String::new();
    write_json(node, &mut out).ok().map(|()| out)
}

/// A tree through all writers.
fn written(node: &Node) {
    let _ = (weight::of_node(node), weight::of_json(node), weight::printed(node));
    let as_json = json(node);
    if let Some(text) = &as_json {
        serde_json::from_str::<serde_json::Value>(text).expect("JSON that is none");
    }
    let mut text = String::new();
    // go-yaml v2 writes the key and the text `<<` without quotes, and then reads a merge.
    if write_sigs(node, &mut text).is_ok() && !text.contains("<<") {
        let again = read_first(text.as_bytes(), &ReadOptions::sigs(FileId::NONE)).expect("what is written is read");
        let again = again.unwrap_or_else(Node::null);
        let mut twice = String::new();
        write_sigs(&again, &mut twice).expect("what was written is written again");
        assert_eq!(text, twice, "written twice");
    }
    for indent in [SequenceIndent::Compact, SequenceIndent::Wide] {
        write_kyaml(node, indent, &mut String::new());
    }
    let mut copy = node.clone();
    if revalue(&mut copy).is_ok() {
        json(&copy);
    }
    let mut copy = node.clone();
    let _ = reread(&mut copy);
}

/// Any bytes as YAML.
pub fn check(input: &[u8]) {
    let _ = weight::of_text(input);
    if let Ok(objects) = read_resources(input, FileId::NONE) {
        objects.iter().for_each(written);
    }
    if let Ok(documents) = read(input, &ReadOptions::kyaml(FileId::NONE)) {
        documents.iter().for_each(written);
    }
    let strict = read_first(input, &ReadOptions::sigs_strict(FileId::NONE));
    let lenient = read_first(input, &ReadOptions::sigs(FileId::NONE));
    if let Ok(strict) = strict {
        let lenient = lenient.expect("what the strict reader takes, the other takes too");
        assert_eq!(strict.as_ref().map(json), lenient.as_ref().map(json));
        strict.iter().for_each(written);
    }
    if let Ok(documents) = read_annotated(input) {
        let mut text = String::new();
        write_annotated(&documents, 2, &mut text);
        // go-yaml writes a block scalar that begins with a tab, and does not read it. Anchors and the tag `!` are not written, so that a
        // document of one alone is an empty text, or its comments.
        let is_comment = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
        if !text.contains('\t') && !text.lines().all(is_comment) {
            let again = read_annotated(text.as_bytes()).expect("what is written with comments is read");
            assert_eq!(documents.len(), again.len(), "documents are lost:\n{text}");
        }
    }
}
