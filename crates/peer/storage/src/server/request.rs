//! The head of a request: as much of HTTP/1 as fetching a file needs (RFC 9112).

use super::reply::Reply;

/// A request without a body.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    pub(super) method: String,
    /// The path, decoded; it may hold anything.
    pub(super) path: String,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    /// Whether the connection may serve another request.
    pub(super) keep: bool,
    /// Whether it is one of HTTP/1.0, where connections end unless the contrary is said.
    pub(super) is_old: bool,
}

/// Where the head at the beginning of some bytes ends, empty line and all. Lines may end without a carriage return.
pub(super) fn head_end(bytes: &[u8], searched: usize) -> Option<usize> {
    let from = searched.saturating_sub(3);
    let lines = bytes.iter().enumerate().skip(from).filter(|(_, byte)| **byte == b'\n');
    lines.map(|(at, _)| at + 1).find_map(|next| match bytes.get(next..)? {
        [b'\n', ..] => Some(next + 1),
        [b'\r', b'\n', ..] => Some(next + 2),
        _ => None,
    })
}

impl Request {
    /// Reads a head.
    ///
    /// # Errors
    /// What the client is told before the connection ends.
    pub(super) fn parse(head: &[u8]) -> Result<Self, Reply> {
        let bad = || Reply::refusal(400, "400 Bad Request");
        let head = std::str::from_utf8(head).map_err(|_| bad())?;
        let mut lines = head.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
        let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, target, version] = words[..] else {
            return Err(bad());
        };
        let is_new = match version {
            "HTTP/1.1" => true,
            "HTTP/1.0" => false,
            _ => return Err(unknown_version(version)),
        };
        if method.is_empty() || !method.bytes().all(is_token) {
            return Err(bad());
        }
        let mut request = Self {
            method: method.to_owned(),
            path: path(method, target).ok_or_else(bad)?,
            is_old: !is_new,
            ..Self::default()
        };
        for line in lines.take_while(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').ok_or_else(bad)?;
            let value = value.trim_matches([' ', '\t']);
            if name.is_empty() || !name.bytes().all(is_token) {
                return Err(Reply::refusal(400, "400 Bad Request: invalid header name"));
            }
            if value.chars().any(|letter| letter.is_control() && letter != '\t') {
                return Err(Reply::refusal(400, "400 Bad Request: invalid header value"));
            }
            request.headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        request.heed()?;
        Ok(request)
    }

    /// The first header of a name, in lower case; nothing is as good as none.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut named = self.headers.iter().filter(|(known, _)| known == name);
        named
            .next()
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    fn heed(&mut self) -> Result<(), Reply> {
        match self.headers.iter().filter(|(name, _)| name == "host").count() {
            0 if !self.is_old => return Err(Reply::refusal(400, "400 Bad Request: missing required Host header")),
            0 | 1 => {}
            _ => return Err(Reply::refusal(400, "400 Bad Request")),
        }
        let connection = self.header("connection").unwrap_or_default().to_ascii_lowercase();
        let has = |word: &str| connection.split(',').any(|part| part.trim() == word);
        self.keep = (!self.is_old || has("keep-alive")) && !has("close");
        // Bodies are not read, so nothing can follow them.
        let has_body = self.header("transfer-encoding").is_some()
            || self.header("content-length").is_some_and(|length| length != "0");
        self.keep &= !has_body;
        Ok(())
    }
}

fn unknown_version(version: &str) -> Reply {
    match version.strip_prefix("HTTP/").map(str::as_bytes) {
        Some([major, b'.', minor]) if major.is_ascii_digit() && minor.is_ascii_digit() => {
            Reply::refusal(505, "505 HTTP Version Not Supported: unsupported protocol version")
        }
        _ => Reply::refusal(400, "400 Bad Request"),
    }
}

/// The decoded path of a target in origin form or absolute form.
fn path(method: &str, target: &str) -> Option<String> {
    if target == "*" && method == "OPTIONS" {
        return Some(target.to_owned());
    }
    let lower = target.get(..8).unwrap_or(target).to_ascii_lowercase();
    let scheme = ["http://", "https://"]
        .into_iter()
        .find(|scheme| lower.starts_with(scheme));
    let target = match scheme {
        Some(scheme) => target
            .get(scheme.len()..)?
            .find('/')
            .and_then(|at| target.get(scheme.len() + at..)),
        None => Some(target),
    };
    let target = target.unwrap_or("/");
    let path = target.split_once('?').map_or(target, |(path, _)| path);
    if !path.starts_with('/') || path.chars().any(char::is_control) {
        return None;
    }
    // What is no UTF-8 names nothing here.
    Some(String::from_utf8_lossy(&decoded(path)?).into_owned())
}

/// Without its `%` escapes; none when one is cut off or has other digits.
fn decoded(path: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, after @ ..] = rest else {
            return None;
        };
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        bytes.push(u8::try_from(digit(high)? * 16 + digit(low)?).ok()?);
        rest = after;
    }
    Some(bytes)
}

/// Letters of methods and names of headers (RFC 9110, section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_end_of_a_head_however_it_arrives() {
        for (head, end) in [
            ("GET / HTTP/1.1\r\n\r\nrest", 18),
            ("GET / HTTP/1.1\n\nrest", 16),
            ("GET / HTTP/1.1\nA: b\r\n\r\n", 23),
        ] {
            for searched in 0..end {
                assert_eq!(
                    head_end(&head.as_bytes()[..end], searched),
                    Some(end),
                    "{head:?} {searched}"
                );
                assert_eq!(
                    head_end(&head.as_bytes()[..end - 1], searched.min(end - 1)),
                    None,
                    "{head:?}"
                );
            }
            assert_eq!(head_end(head.as_bytes(), 0), Some(end));
        }
    }

    #[test]
    fn a_body_ends_the_connection() {
        for (line, keep) in [
            ("X: y", true),
            ("Content-Length: 0", true),
            ("Content-Length: 5", false),
            ("Transfer-Encoding: chunked", false),
            ("Connection: Close", false),
        ] {
            let head = format!("GET / HTTP/1.1\r\nHost: h\r\n{line}\r\n\r\n");
            assert_eq!(Request::parse(head.as_bytes()).unwrap().keep, keep, "{line}");
        }
    }
}
