//! Errors of pull requests.

use std::time::Duration;

use ureq::http::StatusCode;
use url::Url;

use super::dialect::Dialect;
use super::login::Login;
use bumpwright_gostd::Time;
use bumpwright_http::{Answer, NetError, scrubbed, shown};
use bumpwright_text::between;

/// Why a pull request could not be kept up to date. No variant holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForgeError {
    #[error("cannot {attempt}: {source}")]
    Net { attempt: String, source: NetError },
    #[error("cannot {attempt}: {url}: {status}{said}{hint}")]
    Refused {
        attempt: String,
        url: String,
        status: StatusCode,
        /// The server's text, after a colon; may be empty.
        said: String,
        /// A hint for the user, after a semicolon; may be empty.
        hint: &'static str,
    },
    #[error("cannot {attempt}: {url}: the rate limit is used up{until}{said}")]
    Limited {
        attempt: String,
        url: String,
        /// Until when, after a comma.
        until: String,
        /// The same for programs.
        again: Option<Again>,
        /// The server's text, after a colon.
        said: String,
    },
    /// The answer does not follow the forge's documentation.
    #[error("cannot {attempt}: {url}: {detail}; is this the address of a {kind} API?")]
    Unreadable {
        attempt: String,
        url: String,
        /// The defect of the answer.
        detail: String,
        /// The kind of the forge.
        kind: &'static str,
    },
    /// The forge has not done all of it.
    #[error("cannot {attempt}: {url}: {detail}")]
    NotGiven {
        attempt: String,
        url: String,
        /// What is not done, and the way out.
        detail: String,
    },
    /// Too many pull requests.
    #[error("cannot {attempt}: {url}: more than {limit} open ones")]
    TooMany { attempt: String, url: String, limit: usize },
}

/// When a forge that limits requests is to be asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    After(Duration),
    /// At a time, in seconds since 1970.
    At(i64),
}

impl ForgeError {
    /// Whether the forge refuses the login, or wants another one.
    #[must_use]
    pub fn is_about_login(&self) -> bool {
        matches!(self, Self::Refused { status, .. } if matches!(status.as_u16(), 401 | 403))
    }

    /// Whether there is nothing at the address: no such API, or nothing that the login may see.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status, .. } if status.as_u16() == 404)
    }

    /// Whether a retry may succeed: the forge did not answer, limits requests, or failed itself.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Net { source, .. } => matches!(source, NetError::Broken { .. } | NetError::Timeout { .. }),
            Self::Limited { .. } => true,
            Self::Refused { status, .. } => status.is_server_error(),
            Self::Unreadable { .. } | Self::NotGiven { .. } | Self::TooMany { .. } => false,
        }
    }

    /// How long the forge is not to be asked again, at a time in seconds since 1970; none where it has not said so.
    #[must_use]
    pub fn pause(&self, now: i64) -> Option<Duration> {
        match self {
            Self::Limited { again: Some(again), .. } => Some(match again {
                Again::After(pause) => *pause,
                Again::At(time) => Duration::from_secs(u64::try_from(time.saturating_sub(now)).unwrap_or(0)),
            }),
            _ => None,
        }
    }
}

/// The error of an answer that is not a success.
pub(super) fn refusal(attempt: &str, answer: &Answer, login: &Login, dialect: &Dialect) -> ForgeError {
    let said = match said(answer, login) {
        empty if empty.is_empty() => empty,
        said => format!(": {said}"),
    };
    let (attempt, url) = (attempt.to_owned(), shown(&answer.url));
    if let Some((until, again)) = limited(answer) {
        return ForgeError::Limited {
            attempt,
            url,
            until,
            again,
            said,
        };
    }
    ForgeError::Refused {
        attempt,
        url,
        status: answer.status,
        said,
        hint: hint(answer.status, login, dialect),
    }
}

/// The end of a rate limit, if the answer is about one (GitHub, *Rate limits for the REST API*; RFC 9110,
/// *Retry-After*).
fn limited(answer: &Answer) -> Option<(String, Option<Again>)> {
    let after = answer.header("retry-after");
    let used_up = answer.header("x-ratelimit-remaining").map(str::trim) == Some("0");
    match answer.status.as_u16() {
        429 => {}
        403 if used_up || after.is_some() => {}
        _ => return None,
    }
    if let Some(after) = after {
        let seconds = after.trim().parse::<u64>();
        return Some(match seconds {
            Ok(seconds) => (
                format!(", try again in {seconds} s"),
                Some(Again::After(Duration::from_secs(seconds))),
            ),
            Err(_) => {
                let time = bumpwright_http::server_text(after.as_bytes(), 40);
                (format!(", try again after {time}"), None)
            }
        });
    }
    let reset = answer.header("x-ratelimit-reset").and_then(|at| at.trim().parse().ok());
    let time = reset.map(|at| Time::unix(at, 0).written(b"2006-01-02 15:04:05 UTC"));
    Some((between(" until ", time, "").to_string(), reset.map(Again::At)))
}

fn hint(status: StatusCode, login: &Login, dialect: &Dialect) -> &'static str {
    match (status.as_u16(), login) {
        (401 | 403 | 404, Login::Nobody) => "; no token was sent",
        (401, _) => "; the token is wrong or has expired",
        (403, _) => dialect.forbidden,
        (404, _) => {
            "; there is no such repository or branch, its pull requests are switched off, the token may not see it, or the API is \
             elsewhere"
        }
        (301 | 302 | 307 | 308, ..) => "; the repository has moved: give its new address",
        _ => "",
    }
}

/// The server's text: `message` and the messages of `errors` in a documented answer, on one line and without
/// secrets of the request.
fn said(answer: &Answer, login: &Login) -> String {
    #[derive(serde::Deserialize)]
    struct Body {
        message: String,
        #[serde(default)]
        errors: Option<Vec<serde_json::Value>>,
    }
    let text = match serde_json::from_slice::<Body>(&answer.body) {
        Err(_) => answer.words(),
        Ok(body) => {
            let more = body.errors.iter().flatten().filter_map(detail);
            let all: Vec<String> = std::iter::once(body.message).chain(more).collect();
            all.join(": ")
        }
    };
    let text = scrubbed(&text, &login.secrets());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One of the `errors`: a text, an object with a message, or one with the field and a
/// code (GitHub, *Validation failed*).
fn detail(error: &serde_json::Value) -> Option<String> {
    let text = |key: &str| error.get(key)?.as_str();
    let message = error.as_str().or_else(|| text("message")).map(str::to_owned);
    message.or_else(|| match (text("field"), text("code")) {
        (Some(field), Some("missing" | "missing_field")) => Some(format!("field {field:?} is missing")),
        (Some(field), Some(code)) => Some(format!("field {field:?} is {}", code.replace('_', " "))),
        (field, code) => field.or(code).map(str::to_owned),
    })
}

/// The address in a form for errors.
pub(super) fn place(url: &Url) -> String {
    shown(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_fault_of_a_refusal_is_told_in_words() {
        for (fault, told) in [
            (
                json!("no commits between main and auto"),
                Some("no commits between main and auto"),
            ),
            (json!({"code": "custom", "message": "it exists"}), Some("it exists")),
            (
                json!({"resource": "PullRequest", "field": "base", "code": "invalid"}),
                Some("field \"base\" is invalid"),
            ),
            (
                json!({"field": "head", "code": "missing_field"}),
                Some("field \"head\" is missing"),
            ),
            (json!({"code": "unprocessable"}), Some("unprocessable")),
            (json!({}), None),
        ] {
            assert_eq!(detail(&fault).as_deref(), told, "{fault}");
        }
    }
}
