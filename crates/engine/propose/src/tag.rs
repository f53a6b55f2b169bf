//! A tag taken apart: what stays the same from release to release, and the numbers that say which is newer.

use bumpwright_text::Parts;

/// The longest tag that a registry may have (OCI distribution specification).
const LONGEST: usize = 128;
/// A number with more digits does not fit 64 bits.
const MOST_DIGITS: usize = 19;
/// A number with so many digits is a date or a time, whatever is before it.
const DATE_DIGITS: usize = 8;

/// Words before the number of a build of the same version.
const REVISIONS: [&str; 17] = [
    "r", "rev", "revision", "ls", "build", "b", "p", "patch", "bp", "k3s", "rke2r", "gke", "post", "hotfix", "fix",
    "run", "u",
];
/// Words of versions that come before a release.
const BEFORE_RELEASE: [&str; 14] = [
    "alpha",
    "beta",
    "rc",
    "pre",
    "preview",
    "dev",
    "snapshot",
    "m",
    "milestone",
    "cr",
    "canary",
    "nightly",
    "next",
    "ea",
];
/// Words before a number that says what an image is built on, and no order of builds.
const BASES: [&str; 28] = [
    "debian", "ubuntu", "ubi", "alpine", "el", "rhel", "fedora", "rocky", "centos", "windows", "ltsc", "jdk", "jre",
    "java", "php", "node", "python", "py", "ruby", "go", "golang", "dotnet", "cuda", "pg", "postgres", "arm", "amd",
    "x",
];
/// Words before the number of a request for review.
pub(crate) const REQUESTS: [&str; 4] = ["pr", "mr", "pull", "merge"];

/// A part of a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Literal(String),
    /// The id of a commit: any is meant.
    Commit,
    /// A number that counts for the order.
    Number(String),
    /// Date and time of fixed width, in the order of the alphabet.
    Time(String),
    /// What makes a version one before its release: the word, and all of it as written.
    Before(String, String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) pieces: Vec<Piece>,
    /// How many of the numbers, from the first, are one version: joined by dots, or a date.
    pub(crate) core: usize,
    /// Whether something is behind a version without a sign between them, as in `1.0.0rc1`.
    pub(crate) is_glued: bool,
}

/// Whether a registry could have this tag.
pub(crate) fn is_tag(text: &str) -> bool {
    let is_word = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
    text.len() <= LONGEST
        && text.bytes().next().is_some_and(is_word)
        && text.bytes().all(|c| is_word(c) || matches!(c, b'.' | b'-'))
}

impl Tag {
    /// Reads a tag. Words at these places are ids of commits, though they have digits only.
    pub(crate) fn read(text: &str, commits: &[usize]) -> Self {
        let words = words(text, commits);
        Reader::of(&words).read()
    }

    /// The numbers that count, in their order.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Number(digits) => Some(digits.as_str()),
            _ => None,
        })
    }

    pub(crate) fn time(&self) -> Option<&str> {
        self.pieces.iter().find_map(|piece| match piece {
            Piece::Time(text) => Some(text.as_str()),
            _ => None,
        })
    }

    pub(crate) fn before(&self) -> Option<(&str, &str)> {
        self.pieces.iter().find_map(|piece| match piece {
            Piece::Before(word, text) => Some((word.as_str(), text.as_str())),
            _ => None,
        })
    }

    pub(crate) fn has_commit(&self) -> bool {
        self.pieces.contains(&Piece::Commit)
    }

    /// Whether nothing in it says an order.
    pub(crate) fn is_fixed(&self) -> bool {
        self.numbers().next().is_none() && self.time().is_none()
    }

    /// Whether both are of one series: all that stays is the same. A release is of the series of what
    /// comes before it, too.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let fits = |pair: (&Piece, &Piece)| match pair {
            (Piece::Literal(one), Piece::Literal(other)) => one == other,
            (Piece::Number(one), Piece::Number(other)) => is_date(one) == is_date(other),
            (Piece::Time(one), Piece::Time(other)) => shape(one) == shape(other),
            (Piece::Commit, Piece::Commit) => true,
            _ => false,
        };
        let (ours, theirs) = (self.lasting(), other.lasting());
        let before = match (self.before(), other.before()) {
            (Some((ours, _)), Some((theirs, _))) => ours == theirs,
            (None, Some(_)) => false,
            _ => true,
        };
        before
            && (self.core, self.is_glued, ours.len()) == (other.core, other.is_glued, theirs.len())
            && ours.into_iter().zip(theirs).all(fits)
    }

    fn lasting(&self) -> Vec<&Piece> {
        let pieces = self.pieces.iter();
        pieces.filter(|piece| !matches!(piece, Piece::Before(..))).collect()
    }

    /// Where it is in the order of its series; greater is newer.
    pub(crate) fn rank(&self) -> (Vec<u64>, Option<&str>) {
        let numbers = self.numbers().map(|digits| digits.parse().unwrap_or(u64::MAX));
        (numbers.collect(), self.time())
    }

    /// The whole of it with `N` for numbers, for people.
    pub(crate) fn outline(&self) -> String {
        let part = |piece: &Piece| match piece {
            Piece::Literal(text) => text.clone(),
            Piece::Commit => "COMMIT".to_owned(),
            Piece::Number(digits) if is_date(digits) => "DATE".to_owned(),
            Piece::Number(_) => "N".to_owned(),
            Piece::Time(_) => "TIME".to_owned(),
            Piece::Before(word, _) => format!("-{word}"),
        };
        self.pieces.iter().map(part).collect()
    }
}

/// The digits of a text as zeros: two times of one form have the same.
pub(crate) fn shape(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect()
}

/// Whether a number is a date, or date and time, without signs between its parts.
pub(crate) fn is_date(digits: &str) -> bool {
    let part = |from: usize, to: usize| digits.get(from..to).and_then(|part| part.parse::<u32>().ok());
    let within = |value: Option<u32>, low: u32, high: u32| value.is_some_and(|value| (low..=high).contains(&value));
    matches!(digits.len(), 8 | 10 | 12 | 14)
        && within(part(0, 4), 1990, 2100)
        && within(part(4, 6), 1, 12)
        && within(part(6, 8), 1, 31)
        && (digits.len() < 10 || within(part(8, 10), 0, 23))
}

/// Whether a word could be the id of a commit, if it is known that the tag has one.
pub(crate) fn could_be_commit(word: &str) -> bool {
    (7..=40).contains(&word.len()) && word.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
}

/// The words of a tag with the sign before each.
pub(crate) fn split(text: &str) -> Vec<(&str, &str)> {
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let start = rest.find(|c: char| !is_sign(c)).unwrap_or(rest.len());
        let (sign, behind) = rest.split_at(start);
        let end = behind.find(is_sign).unwrap_or(behind.len());
        let (word, behind) = behind.split_at(end);
        words.push((sign, word));
        rest = behind;
    }
    words
}

fn is_sign(c: char) -> bool {
    matches!(c, '.' | '-' | '_')
}

/// What a word looks like by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Look<'t> {
    Number,
    /// `v1`
    Version(&'t str, &'t str),
    Commit,
    Time,
    /// Letters, and digits at the end.
    Numbered(&'t str, &'t str),
    Word,
    /// Begins with digits.
    Mixed,
}

struct Word<'t> {
    sign: &'t str,
    text: &'t str,
    look: Look<'t>,
}

fn words<'t>(text: &'t str, commits: &[usize]) -> Vec<Word<'t>> {
    let split = split(text).into_iter().enumerate();
    let read = |(n, (sign, text)): (usize, (&'t str, &'t str))| Word {
        sign,
        text,
        look: if commits.contains(&n) && could_be_commit(text) {
            Look::Commit
        } else {
            look(text)
        },
    };
    split.map(read).collect()
}

fn look(text: &str) -> Look<'_> {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    if is_digits(text) {
        return match text.len() > MOST_DIGITS {
            true if could_be_commit(text) => Look::Commit,
            true => Look::Mixed,
            false => Look::Number,
        };
    }
    let has_letter = |text: &str| text.bytes().any(|c| c.is_ascii_alphabetic());
    let has_digit = text.bytes().any(|c| c.is_ascii_digit());
    if has_digit && has_letter(text) && could_be_commit(text) || text.strip_prefix('g').is_some_and(could_be_commit) {
        return Look::Commit;
    }
    if let Some((date, time)) = text.split_once(['T', 't']) {
        let time = time.strip_suffix(['Z', 'z']).unwrap_or(time);
        if is_date(date) && is_digits(time) && matches!(time.len(), 4 | 6) {
            return Look::Time;
        }
    }
    let head = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let (head, digits) = text.split_at(head.len());
    match (head, digits) {
        ("v" | "V", digits) if !digits.is_empty() && digits.len() <= MOST_DIGITS => Look::Version(head, digits),
        _ if text.starts_with(|c: char| c.is_ascii_digit()) => Look::Mixed,
        (_, "") => Look::Word,
        (head, digits) if digits.len() <= MOST_DIGITS => Look::Numbered(head, digits),
        _ => Look::Word,
    }
}

struct Reader<'t, 'w> {
    words: &'w [Word<'t>],
    /// The words of the version, if there is one.
    version: std::ops::Range<usize>,
    /// The words of its build metadata, as registries have it in tags of charts: `_up2.10.0` behind three numbers.
    metadata: std::ops::Range<usize>,
    /// The word from which on there is an order: what is before is the name of a branch.
    from: usize,
    tag: Tag,
}

impl<'t, 'w> Reader<'t, 'w> {
    fn of(words: &'w [Word<'t>]) -> Self {
        let version = version(words).unwrap_or(0..0);
        let mut reader = Self {
            words,
            metadata: metadata(words, &version),
            version,
            from: 0,
            tag: Tag::default(),
        };
        // release-1.2-COMMIT-TIME: the version is a part of the branch.
        let commit = words.iter().position(|word| word.look == Look::Commit);
        if let Some(commit) = commit
            && reader.version.start > 0
            && reader.version.end <= commit
            && words
                .iter()
                .skip(commit)
                .any(|word| matches!(word.look, Look::Number | Look::Time))
        {
            (reader.version, reader.metadata, reader.from) = (0..0, 0..0, commit);
        }
        reader
    }

    fn read(mut self) -> Tag {
        let mut n = 0;
        while let Some(word) = self.words.get(n) {
            let sign = word.sign;
            let taken = self.long_time(n).unwrap_or_else(|| self.before_release(n));
            if taken > 0 {
                n += taken;
                continue;
            }
            self.literal(sign);
            self.word(n, word);
            n += 1;
        }
        self.tag
    }

    fn literal(&mut self, text: &str) {
        match self.tag.pieces.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Literal(literal)) => literal.push_str(text),
            _ => self.tag.pieces.push(Piece::Literal(text.to_owned())),
        }
    }

    fn number(&mut self, n: usize, digits: &str) {
        self.tag.pieces.push(Piece::Number(digits.to_owned()));
        if self.version.contains(&n) {
            self.tag.core += 1;
        }
    }

    fn word(&mut self, n: usize, word: &Word<'t>) {
        match &word.look {
            _ if n < self.from => self.literal(word.text),
            Look::Commit => {
                if word.text.starts_with('g') {
                    self.literal("g");
                }
                self.tag.pieces.push(Piece::Commit);
            }
            Look::Time => self.tag.pieces.push(Piece::Time(word.text.to_owned())),
            Look::Number if self.counts(n) => self.number(n, word.text),
            Look::Version(v, digits) if self.version.contains(&n) || self.version.is_empty() => {
                self.literal(v);
                self.number(n, digits);
            }
            Look::Numbered(head, digits) if self.is_revision(n, head) || digits.len() >= DATE_DIGITS => {
                self.literal(head);
                self.number(n, digits);
            }
            Look::Mixed if n > 0 && n == self.version.end && word.sign == "." => {
                self.tag.is_glued = true;
                self.literal(word.text);
            }
            _ => self.literal(word.text),
        }
    }

    /// Whether the words before a number name a build counter: behind a version, or in a tag without one.
    fn is_revision(&self, n: usize, head: &str) -> bool {
        if self.metadata.contains(&n) {
            return true;
        }
        let head = head.to_ascii_lowercase();
        let is_here = self.version.is_empty() || n >= self.version.end;
        let builds = ["release", "rel", "ver", "version", "deploy"];
        is_here && (REVISIONS.contains(&&*head) || self.version.is_empty() && builds.contains(&&*head))
    }

    /// Whether a number counts for the order.
    fn counts(&self, n: usize) -> bool {
        let Some(word) = self.words.get(n) else { return false };
        if self.version.contains(&n) || self.metadata.contains(&n) {
            return true;
        }
        if n < self.version.end {
            return false;
        }
        let Some(before) = n.checked_sub(1).and_then(|n| self.words.get(n)) else {
            return true;
        };
        let name = before.text.to_ascii_lowercase();
        let is_behind_version = !self.version.is_empty();
        match &before.look {
            // Behind a version that counts, a number behind another.
            Look::Number | Look::Version(..) => {
                let mut last = self.tag.pieces.iter().rev();
                let is_alone = matches!(last.next(), Some(Piece::Literal(sign)) if sign == word.sign);
                n == self.version.end || is_alone && matches!(last.next(), Some(Piece::Number(_)))
            }
            Look::Commit | Look::Time => true,
            Look::Numbered(head, _) => word.sign != "." && (!is_behind_version || self.is_revision(n, head)),
            _ if word.text.len() >= DATE_DIGITS => true,
            Look::Word | Look::Mixed if is_behind_version => {
                self.is_revision(n - 1, &name) || word.sign == "." && before.look == Look::Word
            }
            Look::Word | Look::Mixed => !BASES.contains(&&*name) && !REQUESTS.contains(&&*name),
        }
    }

    /// `2024-01-02T03-04-05Z`, with any signs: how many words that is.
    fn long_time(&mut self, n: usize) -> Option<usize> {
        let text = |at: usize| self.words.get(n + at).map(|word| word.text);
        let is = |text: Option<&str>, digits: usize| {
            text.is_some_and(|text| text.len() == digits && shape(text).trim_start_matches('0').is_empty())
        };
        let (day, hour) = text(2)?.split_once(['T', 't'])?;
        if !is(text(0), 4) || !is(text(1), 2) || !is(Some(day), 2) || hour.len() < 2 {
            return None;
        }
        let mut count = 3;
        let is_part = |part: &str| is(Some(part.trim_end_matches(['Z', 'z'])), 2);
        while !text(count - 1)?.ends_with(['Z', 'z']) && text(count).is_some_and(is_part) {
            count += 1;
        }
        let words = self.words.get(n..n + count)?;
        let sign = words.first()?.sign;
        let whole: String = words.iter().flat_map(|word| [word.sign, word.text]).collect();
        self.literal(sign);
        let time = whole.get(sign.len()..)?.to_owned();
        self.tag.pieces.push(Piece::Time(time));
        Some(count)
    }

    /// What makes a version one before its release, right behind it: how many words that is.
    fn before_release(&mut self, n: usize) -> usize {
        let Some(word) = self.words.get(n).filter(|_| n > 0 && n == self.version.end) else {
            return 0;
        };
        let name = match word.look {
            Look::Numbered(head, _) => head,
            Look::Word => word.text,
            _ => return 0,
        };
        let is_it = word.sign == "-" && BEFORE_RELEASE.contains(&&*name.to_ascii_lowercase());
        if !is_it {
            return 0;
        }
        let behind = self.words.iter().skip(n + 1);
        let count = 1 + behind
            .take_while(|word| word.look == Look::Number && word.sign == ".")
            .count();
        let words = self.words.part(n..n + count);
        let whole = words.iter().flat_map(|word| [word.sign, word.text]).collect();
        self.tag.pieces.push(Piece::Before(name.to_owned(), whole));
        count
    }
}

/// The words of build metadata right behind a version: a word with a version of its own, as the
/// chart `105.0.1+up2.10.2` is tagged.
fn metadata(words: &[Word<'_>], version: &std::ops::Range<usize>) -> std::ops::Range<usize> {
    let none = 0..0;
    let Some(first) = words
        .get(version.end)
        .filter(|word| word.sign == "_" && version.len() == 3)
    else {
        return none;
    };
    let Look::Numbered(head, _) = first.look else {
        return none;
    };
    if BASES.contains(&&*head.to_ascii_lowercase()) {
        return none;
    }
    let behind = words.iter().skip(version.end + 1);
    let count = behind
        .take_while(|word| word.look == Look::Number && word.sign == ".")
        .count();
    match count {
        0 => none,
        count => version.end..version.end + 1 + count,
    }
}

/// The words of the version: numbers that dots join, or the parts of a date.
fn version(words: &[Word<'_>]) -> Option<std::ops::Range<usize>> {
    let is_number = |n: usize| words.get(n).is_some_and(|word| word.look == Look::Number);
    let is_joined = |n: usize, sign: &str| is_number(n) && words.get(n).is_some_and(|word| word.sign == sign);
    let is_attached = |n: usize| {
        let before = n.checked_sub(1).and_then(|n| words.get(n));
        let is_dotted = words.get(n).is_some_and(|word| word.sign == ".");
        is_dotted && before.is_some_and(|word| matches!(word.look, Look::Numbered(..)))
    };
    let run = |n: usize, sign: &str| n + 1 + (n + 1..words.len()).take_while(|n| is_joined(*n, sign)).count();
    (0..words.len()).find_map(|n| {
        let word = words.get(n)?;
        let begins = matches!(word.look, Look::Version(..)) || is_number(n) && !is_attached(n);
        let dotted = run(n, ".");
        if begins && dotted > n + 1 {
            return Some(n..dotted);
        }
        let is_year = is_number(n) && word.text.len() == 4 && is_date(&format!("{}0101", word.text));
        let is_part = |n: usize| words.get(n).is_some_and(|word| word.text.len() <= 2);
        let sign = words
            .get(n + 1)
            .map(|word| word.sign)
            .filter(|sign| matches!(*sign, "-" | "_"))?;
        let is_day = run(n, sign) >= n + 3 && is_part(n + 1) && is_part(n + 2);
        (is_year && is_day).then_some(n..n + 3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_taken_apart() {
        for (tag, outline) in [
            ("1.25.3", "N.N.N"),
            ("v1.25.3", "vN.N.N"),
            ("1.25", "N.N"),
            ("16", "N"),
            ("1.25.3-alpine3.20", "N.N.N-alpine3.20"),
            ("1.2.3-debian-12-r4", "N.N.N-debian-12-rN"),
            ("4.0.11.2680-ls262", "N.N.N.N-lsN"),
            ("version-4.0.11", "version-N.N.N"),
            ("8.4.0-1", "N.N.N-N"),
            ("21.0.5_11-jre", "N.N.N_N-jre"),
            ("1.2.3-rc.1", "N.N.N-rc"),
            ("1.2.3-rc1-alpine", "N.N.N-rc-alpine"),
            ("v1.29.1-k3s2", "vN.N.N-k3sN"),
            ("1.2.3-main.17", "N.N.N-main.N"),
            ("v1.2.3-14-gabc1234", "vN.N.N-N-gCOMMIT"),
            ("RELEASE.2024-01-02T03-04-05Z", "RELEASE.TIME"),
            ("20240102T030405Z", "TIME"),
            ("main-20240102T030405-abc1234", "main-TIME-COMMIT"),
            ("2024-01-02", "N-N-N"),
            ("2024.01.02", "N.N.N"),
            ("20240102", "DATE"),
            ("jammy-20240111", "jammy-DATE"),
            ("main-abc1234-1700000000", "main-COMMIT-N"),
            ("main-123", "main-N"),
            ("release-1.2-abc1234-1700000000", "release-1.2-COMMIT-N"),
            ("feature-x2-abc1234-17", "feature-x2-COMMIT-N"),
            ("sha-abc1234", "sha-COMMIT"),
            ("debian-12", "debian-12"),
            ("alpine3.20", "alpine3.20"),
            ("pr-12", "pr-12"),
            ("build7", "buildN"),
            ("php8.2-1.4.0", "php8.2-N.N.N"),
            ("20240102-1", "DATE-N"),
            ("latest", "latest"),
            ("8u392-b08", "8u392-bN"),
        ] {
            assert_eq!(Tag::read(tag, &[]).outline(), outline, "{tag}");
        }
        assert!(Tag::read("1.2.0rc1", &[]).is_glued);
        assert_eq!(Tag::read("main-1234567-17", &[1]).outline(), "main-COMMIT-N");
    }

    #[test]
    fn series_keep_what_stays() {
        let like = |one: &str, other: &str| Tag::read(one, &[]).is_like(&Tag::read(other, &[]));
        assert!(like("1.2.3-alpine", "1.3.0-alpine"));
        assert!(!like("1.2.3-alpine", "1.3.0"));
        assert!(!like("1.2.3", "v1.3.0"));
        assert!(!like("1.2", "1.2.3"));
        assert!(
            like("1.2.3-rc.1", "1.2.3"),
            "a release is newer than what comes before it"
        );
        assert!(!like("1.2.3", "1.2.4-rc.1"));
        assert!(!like("1.2.3-rc.1", "1.2.4-beta.1"));
        assert!(!like("20240102", "17"));
    }

    #[test]
    fn what_a_registry_cannot_have_is_no_tag() {
        assert!(is_tag("1.2.3") && is_tag("_x"));
        for text in ["", "-x", "a b", "a\nb", "ü", &"x".repeat(129)] {
            assert!(!is_tag(text), "{text:?}");
        }
    }
}
