//! Trailers of a commit message: the lines of its last paragraph that name keys and values (git-interpret-trailers).

use bumpwright_text::Cuts;

/// Adds `Change-Id: ID` to the trailers; a message that names a change already, rightly placed or not, is returned
/// unchanged, and the server reports errors in it.
pub(crate) fn with_change_id(message: &[u8], id: &str) -> Vec<u8> {
    if has_change_id(message) {
        message.to_vec()
    } else {
        with_trailer(message, "Change-Id", id)
    }
}

/// Whether a line of a message names a change.
pub(crate) fn has_change_id(message: &[u8]) -> bool {
    message.split(|byte| *byte == b'\n').any(names_change)
}

/// The change that a message names by its key.
pub(crate) fn change_id_in(message: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(message);
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let (_, id) = lines.find(|(key, _)| key.eq_ignore_ascii_case("Change-Id"))?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

/// Adds a trailer. Its value becomes one line.
pub(crate) fn with_trailer(message: &[u8], key: &str, value: &str) -> Vec<u8> {
    let mut out = message.trim_ascii_end().to_vec();
    let blank = if has_trailers(&out) { "\n" } else { "\n\n" };
    let words: Vec<&str> = value
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    out.extend_from_slice(format!("{blank}{key}: {}\n", words.join(" ")).as_bytes());
    out
}

/// `Change-Id: I…`, in any case, or the link that Gerrit accepts in its place.
fn names_change(line: &[u8]) -> bool {
    let key = |key: &str| {
        let (start, rest) = line.split_at_checked(key.len())?;
        start.eq_ignore_ascii_case(key.as_bytes()).then_some(rest.trim_ascii())
    };
    key("Change-Id:").is_some()
        || key("Link:").is_some_and(|link| link.rsplit(|byte| *byte == b'/').next().is_some_and(is_change_id))
}

/// Whether Gerrit takes it for a Change-Id: `I` and 40 hexadecimal digits.
pub(crate) fn is_change_id(text: &[u8]) -> bool {
    text.split_first()
        .is_some_and(|(first, hex)| *first == b'I' && hex.len() == 40 && hex.iter().all(u8::is_ascii_hexdigit))
}

/// Returns whether the last paragraph consists of trailers: all its lines are, or a quarter and one that git writes
/// itself. The first paragraph is the subject, whatever it looks like.
fn has_trailers(message: &[u8]) -> bool {
    let lines: Vec<&[u8]> = message.split(|byte| *byte == b'\n').collect();
    let is_blank = |line: &&[u8]| line.trim_ascii().is_empty();
    let paragraph: Vec<&[u8]> = lines.iter().rev().take_while(|line| !is_blank(line)).copied().collect();
    if lines.iter().take(lines.len() - paragraph.len()).all(is_blank) {
        return false;
    }
    let picked = |line: &[u8]| line.starts_with(b"(cherry picked from commit ");
    let count = |fits: &dyn Fn(&[u8]) -> bool| paragraph.iter().filter(|line| fits(line)).count();
    let trailers = count(&|line| is_trailer(line) || picked(line));
    let others = count(&|line| !is_trailer(line) && !picked(line) && !is_continued(line));
    let by_git = count(&|line| picked(line) || line.starts_with(b"Signed-off-by: "));
    trailers > 0 && (others == 0 || (by_git > 0 && trailers * 3 >= others))
}

/// `Key: value`, the key of letters, digits and hyphens.
fn is_trailer(line: &[u8]) -> bool {
    let key = line.before(b':');
    let key = key.trim_ascii_end();
    key.len() < line.len() && !key.is_empty() && key.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

/// A continuation line of the previous trailer.
fn is_continued(line: &[u8]) -> bool {
    line.first().is_some_and(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "I0123456789012345678901234567890123456789";

    #[test]
    fn a_change_id_becomes_a_trailer() {
        for (message, wanted) in [
            ("Bump", "Bump\n\nChange-Id: ID\n"),
            ("Bump\n\n\n", "Bump\n\nChange-Id: ID\n"),
            ("apps: bump", "apps: bump\n\nChange-Id: ID\n"),
            ("Bump\n\nBody.\n", "Bump\n\nBody.\n\nChange-Id: ID\n"),
            ("Bump\n\nSee: you\nsoon", "Bump\n\nSee: you\nsoon\n\nChange-Id: ID\n"),
            ("Bump\n\nFleet-Run: 7\n", "Bump\n\nFleet-Run: 7\nChange-Id: ID\n"),
            (
                "Bump\r\n\r\nFleet-Run: 7\r\n",
                "Bump\r\n\r\nFleet-Run: 7\nChange-Id: ID\n",
            ),
            ("Bump\n\nA: b\n  c\n", "Bump\n\nA: b\n  c\nChange-Id: ID\n"),
            (
                "Bump\n\nprose\nSigned-off-by: A <a@b>\n",
                "Bump\n\nprose\nSigned-off-by: A <a@b>\nChange-Id: ID\n",
            ),
            (
                "Bump\n\nhttps://e.example\n",
                "Bump\n\nhttps://e.example\nChange-Id: ID\n",
            ),
            (
                "Images:\n- o/app:1\n\nDone",
                "Images:\n- o/app:1\n\nDone\n\nChange-Id: ID\n",
            ),
        ] {
            let got = String::from_utf8_lossy(&with_change_id(message.as_bytes(), ID)).into_owned();
            assert_eq!(got, wanted.replace("ID\n", &format!("{ID}\n")), "{message:?}");
        }
    }

    #[test]
    fn a_message_that_names_its_change_stays_as_it_is() {
        for message in [
            format!("Bump\n\nChange-Id: {ID}\n"),
            format!("Bump\n\nchange-id: {ID}"),
            format!("Bump\n\nChange-Id: {ID}\n\nWords after it.\n"),
            format!("Bump\n\nLink: https://review.example/id/{ID}\n"),
        ] {
            assert_eq!(with_change_id(message.as_bytes(), ID), message.as_bytes());
        }
        let link = "Bump\n\nLink: https://example.com/page\n";
        assert!(with_change_id(link.as_bytes(), ID).len() > link.len());
    }
}
