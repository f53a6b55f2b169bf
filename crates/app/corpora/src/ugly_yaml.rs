//! Documents that are mostly valid YAML, in unusual styles.

const MARKERS: [&str; 10] = [
    "# {\"$imagepolicy\": \"fs:app\"}",
    "# {\"$imagepolicy\": \"fs:app:tag\"}",
    "#{\"$imagepolicy\":\"fs:app:name\"}",
    "# {\"$imagepolicy\": \"fs:app\"}",
    "# {\"$imagepolicy\": \"fs:app:tag\"}  ",
    "##  { \"$imagepolicy\" : \"fs:app\" }",
    "# note",
    "# {\"$imagepolicy\": \"fs:app:digest\"}",
    "# {\"$imagepolicy\": \"fs:app\"} words",
    "# größer – 漢字 🚀",
];

/// Texts that damage inserts anywhere.
pub const DAMAGE: [&str; 24] = [
    " ", "\n", "\t", ":", "-", "- ", ": ", "#", " #", ",", "[", "]", "{", "}", "\"", "'", "|", ">", "&a ", "*anc", "!",
    "? ", "\r", "\u{feff}",
];

/// Consumes choices; shrinking them shrinks the document.
struct Choices<'a> {
    bytes: std::slice::Iter<'a, u8>,
    count: usize,
}

/// The document of the choices.
pub fn document(choices: &[u8]) -> String {
    let mut choices = Choices {
        bytes: choices.iter(),
        count: 0,
    };
    let mut out = String::new();
    if choices.one_in(12) {
        out.push('\u{feff}');
    }
    if choices.one_in(5) {
        out.push_str(choices.pick(&["---\n", "--- # x\n", "# head\n---\n", "%YAML 1.2\n---\n", "\n\n"]));
    }
    for index in 0..=choices.below(2) {
        if index > 0 {
            out.push_str(choices.pick(&["---\n", "--- # x\n", "...\n---\n", "\n---\n"]));
        }
        out.push_str("anchor: &anc 1\n");
        choices.mapping(&mut out, 0, 0);
        choices.own_line(&mut out, 0);
    }
    if choices.one_in(8) {
        out.truncate(out.trim_end_matches('\n').len());
    }
    if choices.one_in(6) {
        out = out.replace('\n', "\r\n");
    }
    out
}

impl Choices<'_> {
    fn below(&mut self, limit: usize) -> usize {
        usize::from(self.bytes.next().copied().unwrap_or_default()) % limit
    }

    fn one_in(&mut self, limit: usize) -> bool {
        self.below(limit) == limit - 1
    }

    fn pick<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }

    fn unique(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    fn pad(out: &mut String, width: usize) {
        out.extend(std::iter::repeat_n(' ', width));
    }

    fn line_comment(&mut self, out: &mut String) {
        if self.below(2) == 0 {
            out.push_str(self.pick(&[" ", "  ", "      ", "\t"]));
            out.push_str(self.pick(&MARKERS));
        }
    }

    fn own_line(&mut self, out: &mut String, indent: usize) {
        if self.one_in(4) {
            for _ in 0..=self.below(2) {
                out.push_str(self.pick(&["", "", "\n"]));
                let indent = indent + self.below(3);
                Self::pad(out, indent);
                out.push_str(self.pick(&MARKERS));
                out.push('\n');
            }
        }
        if self.one_in(6) {
            out.push_str(self.pick(&["\n", "\n\n", "   \n"]));
        }
    }

    fn word(&mut self) -> String {
        let word = self.pick(&[
            "v", "foo", "1.2.3", "img:1", "a b", "é", "~", "-x", "12", "a#b", "🚀", "true", "x'y", "0x1",
        ]);
        format!("{word}{}", self.unique())
    }

    fn scalar(&mut self, out: &mut String, indent: usize) {
        if self.one_in(6) {
            let unique = self.unique();
            let with_anchor = [
                format!("&x{unique} "),
                format!("!!int &y{unique} "),
                format!("&z{unique} !!str "),
            ];
            let plain = [
                "!!str ".to_owned(),
                "! ".to_owned(),
                "!c ".to_owned(),
                "!!float  ".to_owned(),
            ];
            let all: Vec<&str> = with_anchor.iter().chain(&plain).map(String::as_str).collect();
            out.push_str(self.pick(&all));
        }
        let (first, second) = (self.word(), self.word());
        let quoted = |word: &str| word.replace('\'', "''");
        match self.below(10) {
            0 => out.push_str(&format!("\"{first}\"")),
            1 => out.push_str(&format!("'{}'", quoted(&first))),
            2 => out.push_str(&format!("\"{first}\\u00e9\\n\\\n{:1$}{second}\"", "", indent + 1)),
            3 => {
                let (first, second, pad) = (quoted(&first), quoted(&second), " ".repeat(indent + 1));
                out.push_str(&format!("'{first}\n\n{pad}{second}'"));
            }
            4 => out.push_str(&format!("{first}\n{:1$}w{second}", "", indent + 1)),
            5 => out.push_str("\"\""),
            _ => out.push_str(&first),
        }
    }

    fn flow_gap(&mut self, out: &mut String, indent: usize, breaks: bool) {
        if !breaks {
            return out.push_str(self.pick(&["", " "]));
        }
        let before = out.len();
        self.line_comment(out);
        if out.len() > before || self.below(2) == 0 {
            out.push('\n');
            if self.one_in(4) {
                self.own_line(out, indent + 1);
            }
            Self::pad(out, indent + 1);
        } else {
            out.push(' ');
        }
    }

    fn flow(&mut self, out: &mut String, indent: usize, depth: usize) {
        let (is_map, breaks, count) = (self.below(2) == 0, self.below(2) == 0, self.below(4));
        out.push_str(if is_map { "{" } else { "[" });
        self.flow_gap(out, indent, breaks);
        for index in 0..count {
            if is_map {
                let unique = self.unique();
                out.push_str(&format!("k{unique}: "));
            }
            match self.below(6) {
                0 if depth < 2 => self.flow(out, indent + 1, depth + 1),
                1 if !is_map => {
                    let (key, value) = (self.unique(), self.word());
                    out.push_str(&format!("p{key}: {value}"));
                }
                _ => self.scalar(out, indent + 1),
            }
            self.flow_gap(out, indent, breaks);
            if index + 1 < count || self.one_in(3) {
                out.push(',');
                self.flow_gap(out, indent, breaks);
            }
        }
        out.push_str(if is_map { "}" } else { "]" });
    }

    fn block_scalar(&mut self, out: &mut String, indent: usize) {
        out.push_str(self.pick(&[" ", " &b ", " !!str ", "  "]));
        out.push_str(self.pick(&["|", ">", "|-", ">+", "|+", ">-", "|2", "|2-"]));
        self.line_comment(out);
        out.push('\n');
        for _ in 0..self.below(4) {
            if self.one_in(5) {
                out.push('\n');
                continue;
            }
            let word = self.word();
            Self::pad(out, indent + 2);
            out.push_str(&word);
            if self.one_in(3) {
                out.push_str(" # {\"$imagepolicy\": \"fs:app\"}");
            }
            out.push('\n');
        }
    }

    /// Writes the node after `key:` or `-`, to the end of its last line.
    fn node(&mut self, out: &mut String, indent: usize, depth: usize, in_mapping: bool) {
        let choice = self.below(if depth > 3 { 10 } else { 16 });
        match choice {
            0..=5 => {
                if self.one_in(5) {
                    self.line_comment(out);
                    out.push('\n');
                    self.own_line(out, indent + 2);
                    Self::pad(out, indent + 2);
                } else {
                    out.push_str(self.pick(&[" ", " ", "   "]));
                }
                self.scalar(out, indent);
                self.line_comment(out);
                out.push('\n');
            }
            6 => {
                self.line_comment(out);
                out.push('\n');
            }
            7 => {
                out.push(' ');
                self.flow(out, indent, 0);
                self.line_comment(out);
                out.push('\n');
            }
            8 => self.block_scalar(out, indent),
            9 => {
                out.push_str(" *anc");
                self.line_comment(out);
                out.push('\n');
            }
            _ => {
                let unique = self.unique();
                if self.one_in(5) {
                    out.push_str(&format!(" &a{unique}"));
                }
                if self.one_in(3) {
                    self.line_comment(out);
                }
                out.push('\n');
                let wide = [2, 2, 2, 4, 1][self.below(5)];
                if choice < 13 {
                    self.mapping(out, indent + wide, depth + 1);
                } else {
                    let wide = if in_mapping && self.one_in(3) { 0 } else { wide };
                    self.sequence(out, indent + wide, depth + 1);
                }
            }
        }
    }

    fn mapping(&mut self, out: &mut String, indent: usize, depth: usize) {
        for _ in 0..=self.below(3) {
            self.own_line(out, indent);
            Self::pad(out, indent);
            let unique = self.unique();
            match self.below(16) {
                0 => {
                    out.push_str(&format!("? k{unique}"));
                    self.line_comment(out);
                    out.push('\n');
                    Self::pad(out, indent);
                    out.push(':');
                }
                1 => out.push_str(&format!("? [a{unique}, b]\n{:1$}:", "", indent)),
                2..=4 => out.push_str(&format!("\"q{unique}\":")),
                5 => out.push_str(&format!("&k{unique} 'k {unique}':")),
                _ => out.push_str(&format!("key{unique}:")),
            }
            self.node(out, indent, depth, true);
        }
    }

    fn sequence(&mut self, out: &mut String, indent: usize, depth: usize) {
        for _ in 0..=self.below(3) {
            self.own_line(out, indent);
            Self::pad(out, indent);
            out.push('-');
            match self.below(6) {
                0 if depth < 4 => {
                    out.push_str(" first: 1\n");
                    self.mapping(out, indent + 2, depth + 1);
                }
                1 if depth < 4 => {
                    out.push_str(" - 1\n");
                    self.sequence(out, indent + 2, depth + 1);
                }
                _ => self.node(out, indent, depth, false),
            }
        }
    }
}
