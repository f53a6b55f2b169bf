//! Scans directives, anchors, aliases and tags.

use super::scan::{Scanned, Scanner};
use super::scan_scalar::hexadecimal;
use super::token::{Fault, Mark, TokenKind, is_blank_or_end, width};
use bumpwright_text::Parts;
use std::borrow::Cow;

/// Maximum number of digits in `%YAML`.
const MAX_VERSION_DIGITS: usize = 2;

impl<'a> Scanner<'a> {
    /// Letters, digits, `_` and `-` from here on.
    fn word(&mut self) -> &'a str {
        let from = self.at;
        while matches!(self.byte(0), b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'-') {
            self.skip();
        }
        self.slice(from, self.at)
    }

    /// `*name` or `&name`.
    pub(crate) fn anchor(&mut self) -> Scanned<()> {
        let start = self.mark;
        let alias = self.byte(0) == b'*';
        self.skip();
        let name = self.word();
        let ends = is_blank_or_end(self.rest())
            || matches!(self.byte(0), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if name.is_empty() || !ends {
            let context = if alias {
                "while scanning an alias"
            } else {
                "while scanning an anchor"
            };
            return Err(self.fault(context, start, "did not find expected alphabetic or numeric character"));
        }
        self.push(
            start,
            if alias {
                TokenKind::Alias(name)
            } else {
                TokenKind::Anchor(name)
            },
        );
        Ok(())
    }

    /// `!local`, `!!type`, `!handle!type` or `!<verbatim>`.
    pub(crate) fn tag(&mut self) -> Scanned<()> {
        const CONTEXT: &str = "while scanning a tag";
        let start = self.mark;
        let (handle, suffix) = if self.byte(1) == b'<' {
            self.skip();
            self.skip();
            let suffix = self.tag_uri(false, None, start)?;
            if self.byte(0) != b'>' {
                return Err(self.fault(CONTEXT, start, "did not find the expected '>'"));
            }
            self.skip();
            ("", suffix)
        } else {
            let handle = self.tag_handle(false, start)?;
            if handle.len() > 1 && handle.ends_with('!') {
                (handle, self.tag_uri(false, None, start)?)
            } else {
                let suffix = self.tag_uri(false, Some(handle), start)?;
                if suffix.is_empty() {
                    ("", Cow::Borrowed("!"))
                } else {
                    ("!", suffix)
                }
            }
        };
        if !is_blank_or_end(self.rest()) {
            return Err(self.fault(CONTEXT, start, "did not find expected whitespace or line break"));
        }
        self.push(start, TokenKind::Tag { handle, suffix });
        Ok(())
    }

    fn tag_fault(&self, directive: bool, start: Mark, problem: &'static str) -> Box<Fault> {
        let context = if directive {
            "while parsing a %TAG directive"
        } else {
            "while parsing a tag"
        };
        self.fault(context, start, problem)
    }

    fn tag_handle(&mut self, directive: bool, start: Mark) -> Scanned<&'a str> {
        if self.byte(0) != b'!' {
            return Err(self.tag_fault(directive, start, "did not find expected '!'"));
        }
        let from = self.at;
        self.skip();
        self.word();
        if self.byte(0) == b'!' {
            self.skip();
        } else if directive && self.at - from != 1 {
            return Err(self.tag_fault(directive, start, "did not find expected '!'"));
        }
        Ok(self.slice(from, self.at))
    }

    /// The characters of a tag; `head` is a supposed handle that turned out to be none.
    fn tag_uri(&mut self, directive: bool, head: Option<&'a str>, start: Mark) -> Scanned<Cow<'a, str>> {
        let mut bytes = head.map_or_else(Vec::new, |head| head.tail(1).as_bytes().to_vec());
        let mut any = head.is_some();
        loop {
            match self.byte(0) {
                b'%' => self.uri_escape(directive, start, &mut bytes)?,
                byte @ (b'0'..=b'9'
                | b'A'..=b'Z'
                | b'a'..=b'z'
                | b'_'
                | b'-'
                | b';'
                | b'/'
                | b'?'
                | b':'
                | b'@'
                | b'&'
                | b'='
                | b'+'
                | b'$'
                | b','
                | b'.'
                | b'!'
                | b'~'
                | b'*'
                | b'\''
                | b'('
                | b')'
                | b'['
                | b']') => {
                    bytes.push(byte);
                    self.skip();
                }
                _ => break,
            }
            any = true;
        }
        if any {
            Ok(Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()))
        } else {
            Err(self.tag_fault(directive, start, "did not find expected tag URI"))
        }
    }

    /// One character as `%XX` octets.
    fn uri_escape(&mut self, directive: bool, start: Mark, out: &mut Vec<u8>) -> Scanned<()> {
        let mut left = None;
        while left != Some(0) {
            let octet = match self.rest() {
                [b'%', high, low, ..] => hexadecimal(&[*high, *low]).and_then(|code| u8::try_from(code).ok()),
                _ => None,
            };
            let Some(octet) = octet else {
                return Err(self.tag_fault(directive, start, "did not find URI escaped octet"));
            };
            left = Some(match left {
                None if (0x80..0xC0).contains(&octet) || octet >= 0xF8 => {
                    return Err(self.tag_fault(directive, start, "found an incorrect leading UTF-8 octet"));
                }
                None => width(octet) - 1,
                Some(_) if octet & 0xC0 != 0x80 => {
                    return Err(self.tag_fault(directive, start, "found an incorrect trailing UTF-8 octet"));
                }
                Some(left) => left - 1,
            });
            out.push(octet);
            for _ in 0..3 {
                self.skip();
            }
        }
        Ok(())
    }

    /// `%YAML` or `%TAG`, with its line.
    pub(crate) fn directive(&mut self) -> Scanned<()> {
        const CONTEXT: &str = "while scanning a directive";
        let start = self.mark;
        self.skip();
        let name = self.word();
        if name.is_empty() {
            return Err(self.fault(CONTEXT, start, "could not find expected directive name"));
        }
        if !is_blank_or_end(self.rest()) {
            return Err(self.fault(CONTEXT, start, "found unexpected non-alphabetical character"));
        }
        let kind = match name {
            "YAML" => self.version(start)?,
            "TAG" => self.tag_directive(start)?,
            _ => return Err(self.fault(CONTEXT, start, "found unknown directive name")),
        };
        let end = self.mark;
        self.skip_blanks();
        if self.byte(0) == b'#' {
            self.skip_line();
        }
        if self.at < self.text.len() && !self.skip_break() {
            return Err(self.fault(CONTEXT, start, "did not find expected comment or line break"));
        }
        let here = self.mark;
        self.mark = end;
        self.push(start, kind);
        self.mark = here;
        Ok(())
    }

    fn version(&mut self, start: Mark) -> Scanned<TokenKind<'a>> {
        self.skip_blanks();
        let major = self.version_number(start)?;
        if self.byte(0) != b'.' {
            return Err(self.fault(
                "while scanning a %YAML directive",
                start,
                "did not find expected digit or '.' character",
            ));
        }
        self.skip();
        let minor = self.version_number(start)?;
        Ok(TokenKind::Version { major, minor })
    }

    fn version_number(&mut self, start: Mark) -> Scanned<u8> {
        const CONTEXT: &str = "while scanning a %YAML directive";
        let (mut number, mut length) = (0, 0);
        while let digit @ b'0'..=b'9' = self.byte(0) {
            length += 1;
            if length > MAX_VERSION_DIGITS {
                return Err(self.fault(CONTEXT, start, "found extremely long version number"));
            }
            number = number * 10 + (digit - b'0');
            self.skip();
        }
        match length {
            0 => Err(self.fault(CONTEXT, start, "did not find expected version number")),
            _ => Ok(number),
        }
    }

    fn tag_directive(&mut self, start: Mark) -> Scanned<TokenKind<'a>> {
        const CONTEXT: &str = "while scanning a %TAG directive";
        self.skip_blanks();
        let handle = self.tag_handle(true, start)?;
        if !self.is_blank() {
            return Err(self.fault(CONTEXT, start, "did not find expected whitespace"));
        }
        self.skip_blanks();
        let prefix = self.tag_uri(true, None, start)?;
        if !is_blank_or_end(self.rest()) {
            return Err(self.fault(CONTEXT, start, "did not find expected whitespace or line break"));
        }
        Ok(TokenKind::TagDirective { handle, prefix })
    }
}
