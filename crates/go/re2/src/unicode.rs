//! The classes and cases of Unicode 15.0, the version of Go 1.26.
//!
//! The tables are those of `regex-syntax`, which are newer, restricted to what was assigned in 15.0.

use super::{class::Class, rune::MAX};
use regex_syntax::hir::{self, ClassUnicode, ClassUnicodeRange, HirKind};
use std::sync::LazyLock;

static ASSIGNED: LazyLock<Class> = LazyLock::new(|| {
    let aged = table("age=15.0").ranges().iter().copied().chain([SURROGATES]).collect();
    Class::new(aged).and(&noncharacters().negated())
});

const SURROGATES: (u32, u32) = (0xD800, 0xDFFF);
/// The one character that has changed its category since 15.0, from Mn to Mc.
const MOVED: (u32, u32) = (0x1171E, 0x1171E);

const CATEGORIES: &[&str] = &[
    "C", "Cc", "Cf", "Cn", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl", "No",
    "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs",
];

/// Go's other names of categories.
const ALIASES: &[(&str, &str)] = &[
    ("Casedletter", "LC"),
    ("Closepunctuation", "Pe"),
    ("Cntrl", "Cc"),
    ("Combiningmark", "M"),
    ("Connectorpunctuation", "Pc"),
    ("Control", "Cc"),
    ("Currencysymbol", "Sc"),
    ("Dashpunctuation", "Pd"),
    ("Decimalnumber", "Nd"),
    ("Digit", "Nd"),
    ("Enclosingmark", "Me"),
    ("Finalpunctuation", "Pf"),
    ("Format", "Cf"),
    ("Initialpunctuation", "Pi"),
    ("Lc", "LC"),
    ("Letter", "L"),
    ("Letternumber", "Nl"),
    ("Lineseparator", "Zl"),
    ("Lowercaseletter", "Ll"),
    ("Mark", "M"),
    ("Mathsymbol", "Sm"),
    ("Modifierletter", "Lm"),
    ("Modifiersymbol", "Sk"),
    ("Nonspacingmark", "Mn"),
    ("Number", "N"),
    ("Openpunctuation", "Ps"),
    ("Other", "C"),
    ("Otherletter", "Lo"),
    ("Othernumber", "No"),
    ("Otherpunctuation", "Po"),
    ("Othersymbol", "So"),
    ("Paragraphseparator", "Zp"),
    ("Privateuse", "Co"),
    ("Punct", "P"),
    ("Punctuation", "P"),
    ("Separator", "Z"),
    ("Spaceseparator", "Zs"),
    ("Spacingmark", "Mc"),
    ("Surrogate", "Cs"),
    ("Symbol", "S"),
    ("Titlecaseletter", "Lt"),
    ("Unassigned", "Cn"),
    ("Uppercaseletter", "Lu"),
];

/// The scripts that a pattern can name. Go 1.26 drops the underscores of the name in a pattern but not those of its
/// tables, so that it does not find scripts of two words (`Old_Italic`); neither do we.
const SCRIPTS: &str = "Adlam Ahom Arabic Armenian Avestan Balinese Bamum Batak Bengali Bhaiksuki Bopomofo Brahmi Braille \
    Buginese Buhid Carian Chakma Cham Cherokee Chorasmian Common Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari \
    Dogra Duployan Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gurmukhi Han Hangul \
    Hanunoo Hatran Hebrew Hiragana Inherited Javanese Kaithi Kannada Katakana Kawi Kharoshthi Khmer Khojki Khudawadi \
    Lao Latin Lepcha Limbu Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen Medefaidrin Miao \
    Modi Mongolian Mro Multani Myanmar Nabataean Nandinagari Newa Nko Nushu Ogham Oriya Osage Osmanya Palmyrene \
    Phoenician Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham Sinhala Sogdian Soyombo Sundanese Syriac \
    Tagalog Tagbanwa Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi \
    Wancho Yezidi Yi";

/// The class with that name in a pattern: `Greek`, `Lu`, `uppercase letter`. With `fold`, in any case.
pub(super) fn named(name: &[u8], fold: bool) -> Option<Class> {
    let name = canonical(name)?;
    let class = lookup(&name)?;
    // Go has no table of what folds to cased letters, which would be only U+0345.
    let is_cased = name == "Lc" || name == "Casedletter";
    Some(if fold && !is_cased { class.folded() } else { class })
}

fn lookup(name: &str) -> Option<Class> {
    match name {
        "Any" => return Some(Class::new(vec![(0, MAX)])),
        "Assigned" => return Some(ASSIGNED.clone()),
        "Ascii" => return Some(Class::new(vec![(0, 0x7F)])),
        _ => {}
    }
    if CATEGORIES.contains(&name) {
        return Some(category(name));
    }
    if SCRIPTS.split_ascii_whitespace().any(|script| script == name) {
        return Some(table(&format!("sc={name}")).and(&ASSIGNED));
    }
    let alias = ALIASES.iter().find(|alias| alias.0 == name)?;
    Some(category(alias.1))
}

/// Go's spelling of a name: one capital, no underscores, hyphens or spaces. `None` if it is not ASCII.
fn canonical(name: &[u8]) -> Option<String> {
    let mut out = String::new();
    for byte in name.iter().filter(|byte| !b"_- ".contains(byte)) {
        let letter = char::from(*byte);
        out.push(match out.is_empty() {
            _ if !letter.is_ascii() => return None,
            true => letter.to_ascii_uppercase(),
            false => letter.to_ascii_lowercase(),
        });
    }
    Some(out)
}

fn category(name: &str) -> Class {
    let assigned = |name: &str| table(&format!("gc={name}")).and(&ASSIGNED);
    match name {
        "Cs" => Class::new(vec![SURROGATES]),
        "Cn" => ASSIGNED.negated(),
        "C" => {
            let parts = ["Cc", "Cf", "Cn", "Co", "Cs"].map(category);
            Class::new(parts.iter().flat_map(|part| part.ranges().to_vec()).collect())
        }
        "Mc" => assigned(name).and(&Class::new(vec![MOVED]).negated()),
        "Mn" => {
            let mut ranges = assigned(name).ranges().to_vec();
            ranges.push(MOVED);
            Class::new(ranges)
        }
        _ => assigned(name),
    }
}

/// Code points that have an age but never a character.
fn noncharacters() -> Class {
    let ends = (0..=16).map(|plane| (plane << 16 | 0xFFFE, plane << 16 | 0xFFFF));
    Class::new(ends.chain([(0xFDD0, 0xFDEF)]).collect())
}

/// A class of `regex-syntax`, in its newer version of Unicode.
fn table(query: &str) -> Class {
    let parsed = regex_syntax::parse(&format!(r"\p{{{query}}}"));
    // All queries are constants of this file; the tests run each of them.
    match parsed.map(hir::Hir::into_kind) {
        Ok(HirKind::Class(hir::Class::Unicode(class))) => from_syntax(&class),
        Ok(HirKind::Literal(single)) => {
            let characters = single.0.utf8_chunks().flat_map(|chunk| chunk.valid().chars());
            Class::new(characters.map(|ch| (u32::from(ch), u32::from(ch))).collect())
        }
        _ => Class::default(),
    }
}

fn from_syntax(class: &ClassUnicode) -> Class {
    Class::new(
        class
            .iter()
            .map(|range| (u32::from(range.start()), u32::from(range.end())))
            .collect(),
    )
}

/// The class extended by runes that differ only in case, by Unicode's simple folding.
pub(super) fn folded(class: &Class) -> Class {
    let assigned = class.and(&ASSIGNED).and(&Class::new(vec![SURROGATES]).negated());
    let ranges = assigned
        .ranges()
        .iter()
        .filter_map(|&(low, high)| Some(ClassUnicodeRange::new(char::from_u32(low)?, char::from_u32(high)?)));
    let mut folded = ClassUnicode::new(ranges);
    // It fails only without tables of cases, which are compiled in.
    let _ = folded.try_case_fold_simple();
    let mut ranges = from_syntax(&folded).and(&ASSIGNED).ranges().to_vec();
    ranges.extend_from_slice(class.ranges());
    Class::new(ranges)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_name_has_a_class() {
        let names = CATEGORIES.iter().copied();
        let names = names.chain(SCRIPTS.split_ascii_whitespace());
        let names = names.chain(ALIASES.iter().map(|alias| alias.0));
        for name in names {
            assert_ne!(named(name.as_bytes(), false).unwrap(), Class::default(), "{name}");
        }
    }

    #[test]
    fn names_are_read_loosely_but_not_invented() {
        assert_eq!(named(b"UPPER-case _letter", false), named(b"Lu", false));
        assert_eq!(named(b"LC", false), named(b"cased_letter", false));
        for name in [
            &b""[..],
            b"X",
            b"Grek",
            b"Old_Italic",
            b"Garay",
            b"L\xff",
            "É".as_bytes(),
        ] {
            assert_eq!(named(name, false), None, "{name:?}");
        }
    }

    #[test]
    fn what_is_newer_than_15_is_unassigned() {
        // U+1C89 and its lower-case letter came with Unicode 16.
        assert!(named(b"Cn", false).unwrap().contains(0x1C89));
        assert!(!named(b"Lu", false).unwrap().contains(0x1C89));
        let lambda = Class::new(vec![(0x19B, 0x19B)]); // got a capital letter in 16
        assert_eq!(folded(&lambda), lambda);
        assert_eq!(
            folded(&Class::new(vec![(0x6B, 0x6B)])).ranges(),
            [(0x4B, 0x4B), (0x6B, 0x6B), (0x212A, 0x212A)]
        );
    }
}
