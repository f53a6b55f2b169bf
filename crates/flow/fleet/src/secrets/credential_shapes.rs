//! What a value looks like.

use bumpwright_text::Cuts;
use std::borrow::Cow;

/// The kinds of PEM blocks that are private, by a part of their names.
const PRIVATE: &str = "PRIVATE KEY";
/// The least length of the first line of a key, in bytes.
const SHORTEST_LINE: usize = 16;

/// Beginnings of tokens that services give out, each with the least length of the whole.
const TOKENS: [(&str, usize); 22] = [
    ("AGE-SECRET-KEY-1", 40),
    ("AIza", 30),
    ("AKIA", 20),
    ("ASIA", 20),
    ("SG.", 40),
    ("dckr_pat_", 20),
    ("dop_v1_", 30),
    ("dp.st.", 20),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghs_", 30),
    ("github_pat_", 40),
    ("glpat-", 20),
    ("glsa_", 30),
    ("hf_", 30),
    ("hvs.", 20),
    ("npm_", 30),
    ("pypi-", 40),
    ("sk_live_", 20),
    ("tskey-", 20),
    ("xoxb-", 20),
    ("xoxp-", 20),
];

/// Addresses that are credentials as they are.
const WEBHOOKS: [&str; 5] = [
    "hooks.slack.com/services/",
    "discord.com/api/webhooks/",
    "discordapp.com/api/webhooks/",
    "webhook.office.com/webhookb2/",
    "outlook.office.com/webhook/",
];

/// Beginnings of references to a value that is kept elsewhere.
const REFERENCES: [&str; 19] = [
    "ENC[",
    "akeyless:",
    "arn:",
    "avp:",
    "aws:secretsmanager:",
    "bao:",
    "bitwarden://",
    "doppler://",
    "env:",
    "file://",
    "gcp:secretmanager:",
    "keyvault:",
    "lastpass://",
    "op://",
    "ref+",
    "secret://",
    "secretref:",
    "sops:",
    "vault:",
];

/// Parts of values that stand for others.
const PLACEHOLDERS: [&str; 14] = [
    "<your",
    "dummy",
    "example",
    "insert-",
    "insert_",
    "not-a-secret",
    "not_a_secret",
    "placeholder",
    "redacted",
    "replace",
    "todo",
    "xxxx",
    "your-",
    "your_",
];

/// Kinds of public keys, as OpenSSH writes them.
const KEY_TYPES: [&str; 4] = ["ecdsa-sha2-", "sk-", "ssh-", "webauthn-sk-"];

/// Whether a value is a reference to one that is kept elsewhere, or that a template gives.
pub(crate) fn is_reference(value: &str) -> bool {
    let is_whole = |open: &str, close: &str| value.starts_with(open) && value.ends_with(close);
    is_whole("{{", "}}")
        || is_whole("<<", ">>")
        || is_whole("$(", ")")
        || is_whole("<path:", ">")
        || (is_whole("${", "}") && value.matches("${").count() == 1)
        || (REFERENCES.iter().any(|start| value.starts_with(start)) && !value.contains(char::is_whitespace))
        || (value.starts_with("projects/") && value.contains("/secrets/"))
}

/// The text without its variables.
pub(crate) fn without_variables(value: &str) -> Cow<'_, str> {
    let mut rest = Cow::Borrowed(value);
    for (open, close) in [("${", "}"), ("$(", ")"), ("{{", "}}"), ("<<", ">>")] {
        if rest.contains(open) {
            rest = Cow::Owned(without(&rest, open, close));
        }
    }
    rest
}

fn without(text: &str, open: &str, close: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(open)
        && let Some((_, after)) = behind.split_once(close)
    {
        kept.push_str(before);
        rest = after;
    }
    kept + rest
}

/// Whether a text is, or has, what only a credential looks like.
pub(crate) fn is_credential(text: &str) -> bool {
    let is_block = text.split("-----BEGIN ").skip(1).any(|block| {
        let name = block.before("-----");
        name.contains(PRIVATE)
    });
    is_block || has_token(text)
}

/// Whether a text has a token of a service, or an address with a password.
pub(crate) fn has_token(text: &str) -> bool {
    let mut words = text.split(|c: char| c.is_whitespace() || "\"'`,;=<>()".contains(c));
    WEBHOOKS.iter().any(|part| text.contains(part)) || words.any(|word| is_token(word) || has_password(word))
}

/// The first line of a private key in a text; none of one that is encrypted, or that is only mentioned.
pub(crate) fn private_key(text: &str) -> Option<&str> {
    text.split("-----BEGIN ").skip(1).find_map(|block| {
        let (name, body) = block.split_once("-----")?;
        // In strings of JSON the line feeds are escaped.
        let body = body.trim_start_matches("\\r").trim_start_matches("\\n").trim_start();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
        let line = body.split(|c: char| !is_part(c)).next()?;
        let is_private = name.contains(PRIVATE) && !name.contains("ENCRYPTED");
        (is_private && line.len() >= SHORTEST_LINE).then_some(line)
    })
}

fn is_token(word: &str) -> bool {
    let is_known = TOKENS
        .iter()
        .any(|(start, least)| word.starts_with(start) && word.len() >= *least);
    let parts = word.split('.').map(str::len).collect::<Vec<_>>();
    let is_jwt = word.starts_with("eyJ") && matches!(parts.as_slice(), [head, body, _] if *head > 8 && *body > 8);
    (is_known && !is_placeholder(word)) || is_jwt
}

/// Whether an address has a password: `scheme://user:password@host`.
fn has_password(word: &str) -> bool {
    let authority = word.split_once("://").map(|(_, rest)| rest.before(['/', '?', '#']));
    let user = authority
        .and_then(|authority| authority.rsplit_once('@'))
        .map(|(user, _)| user);
    let password = user.and_then(|user| user.split_once(':')).map(|(_, password)| password);
    password.is_some_and(|password| !password.is_empty() && !is_placeholder(password))
}

/// Whether a value is public as a whole: certificates, public keys, hosts and their keys.
pub(crate) fn is_public(value: &str) -> bool {
    if value.contains("-----BEGIN ") {
        // A private one was found before.
        let before = value.before("-----BEGIN ");
        return before
            .lines()
            .all(|line| line.trim().is_empty() || line.starts_with('#'));
    }
    let lines = value
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut lines = lines.peekable();
    lines.peek().is_some() && lines.all(is_public_line)
}

/// A line of `authorized_keys` or `known_hosts`, or a recipient of age.
fn is_public_line(line: &str) -> bool {
    let is_recipient =
        line.starts_with("age1") && line.len() > 50 && line.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_key = words.windows(2).any(|pair| match pair {
        [kind, key] => KEY_TYPES.iter().any(|start| kind.starts_with(start)) && key.starts_with("AAAA"),
        _ => false,
    });
    is_recipient || is_key
}

/// Whether a value stands for another one, so that nobody could use it.
pub(crate) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let is_one_character = |c: char| value.chars().all(|other| other == c);
    (value.starts_with('<') && value.ends_with('>'))
        || value
            .chars()
            .next()
            .is_some_and(|first| "x*.-_?".contains(first) && is_one_character(first))
        || PLACEHOLDERS.iter().any(|part| lower.contains(part))
}

/// Whether a value is one that people mean to change.
pub(crate) fn is_default(value: &str) -> bool {
    let letters: String = value
        .to_ascii_lowercase()
        .chars()
        .filter(char::is_ascii_alphabetic)
        .collect();
    letters.contains("changeme") || letters.contains("changeit")
}

/// Whether a value is the hash of a password.
pub(crate) fn is_hash(value: &str) -> bool {
    let starts = [
        "$1$", "$2a$", "$2b$", "$2y$", "$5$", "$6$", "$apr1$", "$argon2", "$pbkdf2", "{SHA}", "{SSHA}",
    ];
    let hash = value.split_once(':').map_or(value, |(_, hash)| hash);
    starts
        .iter()
        .any(|start| value.starts_with(start) || hash.starts_with(start))
}

/// Whether a value says where something is, or names it by an identifier: an address, a path, a mail address,
/// a UUID, a digest.
pub(crate) fn is_address(value: &str) -> bool {
    let has_blanks = value.contains(char::is_whitespace);
    let is_url = value.split_once("://").is_some_and(|(scheme, _)| {
        scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte))
    });
    let is_path = value.starts_with('/') && value.len() > 1 && value.matches('/').count() > 1;
    !has_blanks && (is_url || is_path || value.contains("@sha256:") || value.starts_with("sha256:") || is_mail(value))
}

fn is_mail(value: &str) -> bool {
    value
        .split_once('@')
        .is_some_and(|(user, host)| !user.is_empty() && is_host(host))
}

fn is_host(value: &str) -> bool {
    let is_label =
        |label: &str| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    value.contains('.') && value.split('.').all(is_label)
}

/// Whether a value is a name that somebody chose: words of letters, a host, an identifier.
pub(crate) fn is_name(value: &str) -> bool {
    let (host, port) = value.rsplit_once(':').unwrap_or((value, "0"));
    let is_host = is_host(host) && port.bytes().all(|byte| byte.is_ascii_digit()) && !is_random(host);
    let mut groups = value.split('-').map(str::len);
    let is_uuid = value.len() == 36 && [8, 4, 4, 4, 12].into_iter().all(|length| groups.next() == Some(length));
    // A part such as `v2`, `eu-west-1` or `12h` may have a number.
    let is_word = |word: &str| {
        word.chars().filter(char::is_ascii_digit).count() <= 2
            && (word.len() <= 3 || !word.chars().any(|c| c.is_ascii_digit()))
    };
    let are_words = value.len() <= 64
        && value
            .split(|c: char| " -_./:,@+".contains(c))
            .all(|word| word.chars().all(char::is_alphanumeric) && is_word(word));
    is_host || is_uuid || are_words
}

/// Whether a value looks as if a program had thrown dice for it.
pub(crate) fn is_random(value: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '_');
    let runs = value.split(|c: char| !is_part(c));
    runs.filter(|run| run.len() >= 20).any(|run| {
        let digits = run.bytes().filter(u8::is_ascii_digit).count();
        let letters = run.bytes().filter(u8::is_ascii_alphabetic).count();
        digits >= 3 && letters >= 3 && !run.contains("://")
    })
}

/// Whether the value of a line is what a program computes: `$(cat …)`, `os.environ[…]`, `.Values.password`.
pub(crate) fn is_code(value: &str) -> bool {
    let starts = ["$", "{{", "."];
    starts.iter().any(|start| value.starts_with(start) && !is_hash(value))
        || (value.contains(['(', '[', '{']) && !value.contains("ENC["))
}

#[cfg(test)]
mod tests {
    use super::without_variables;

    #[test]
    fn variables_are_left_out_of_a_text() {
        for (text, rest) in [
            ("plain", "plain"),
            ("a${B}c$(D)e", "ace"),
            ("{{ .a }}<<b>>", ""),
            ("${open", "${open"),
            ("a}${b}}", "a}}"),
        ] {
            assert_eq!(without_variables(text), rest, "{text}");
        }
    }
}
