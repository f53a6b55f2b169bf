//! Go's regular expressions.

use bumpwright_re2::{Budget, Regexp};

fn budget() -> Budget {
    Budget::new(2_000_000, 16 << 20)
}

/// A pattern, a text and a template.
pub fn check(input: &[u8]) {
    let (pattern, rest) = super::halves(input);
    let (text, template) = super::halves(rest);
    let Ok(regexp) = Regexp::new(pattern) else { return };
    let Ok(found) = regexp.find(text, &mut budget()) else {
        return;
    };
    if let Ok(matches) = regexp.is_match(text, &mut budget()) {
        assert_eq!(matches, found.is_some());
    }
    if let Ok(all) = regexp.find_all(text, -1, &mut budget()) {
        assert_eq!(all.first(), found.as_ref());
        assert!(all.windows(2).all(|pair| pair[0].end <= pair[1].start));
    }
    if let Ok(groups) = regexp.find_all_submatches(text, -1, &mut budget()) {
        assert_eq!(groups.first().and_then(|first| first.get(0)), found);
        assert!(
            groups
                .iter()
                .all(|one| one.iter().count() == regexp.subexp_names().len())
        );
    }
    let _ = regexp.replace_all(text, template, &mut budget());
    let _ = regexp.replace_all_literal(text, template, &mut budget());
    let _ = regexp.split(text, 3, &mut budget());
    let extraction = regexp.extraction(template);
    let slow = regexp
        .extract(&extraction, text, &mut budget())
        .map(|found| found.map(|text| text.into_owned()));
    let quick = Regexp::new(pattern).unwrap().for_many_texts();
    let extraction = quick.extraction(template);
    let quick = quick
        .extract(&extraction, text, &mut budget())
        .map(|found| found.map(|text| text.into_owned()));
    if let (Ok(slow), Ok(quick)) = (slow, quick) {
        assert_eq!(slow, quick, "two engines");
    }
}
