//! A strict reader of HTML: what it accepts, any browser reads the same way.

/// Elements without an end.
const VOID: [&str; 5] = ["input", "link", "meta", "br", "hr"];
/// Elements of SVG that end themselves.
const SELF_CLOSING: [&str; 2] = ["path", "rect"];

/// The faults of a document: tags that do not match, attributes without quotes, ids that are there twice,
/// script or style between the text, links to elsewhere, headings that leave a level out, tables without
/// scopes, fields without labels.
pub fn faults(html: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut ids: Vec<String> = Vec::new();
    let mut labelled: Vec<String> = Vec::new();
    let mut level = 0;
    let mut rest = html.strip_prefix("<!doctype html>\n").unwrap_or_else(|| {
        faults.push("no doctype".to_owned());
        html
    });
    while let Some(start) = rest.find('<') {
        if rest.get(..start).is_some_and(|text| text.contains('>')) {
            faults.push(format!("a > in text: {:.60}", &rest[..start]));
        }
        rest = &rest[start + 1..];
        let Some(end) = rest.find('>') else {
            faults.push("a tag does not end".to_owned());
            break;
        };
        let tag = &rest[..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            match open.pop() {
                Some(last) if last == name => {}
                last => faults.push(format!("</{name}> ends {last:?}")),
            }
            continue;
        }
        let (name, attributes) = attributes(tag, &mut faults);
        let get = |key: &str| {
            attributes
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value.as_str())
        };
        for (key, value) in &attributes {
            match key.as_str() {
                "style" => faults.push(format!("a style: {tag}")),
                key if key.starts_with("on") => faults.push(format!("a handler: {tag}")),
                "href" | "src" | "action" => {
                    let is_ours = (value.starts_with('/') && !value.starts_with("//")) || value.starts_with('#');
                    let is_icon = name == "link" && value.starts_with("data:image/svg+xml,");
                    if !(is_ours || is_icon || (name == "a" && value.starts_with("https://"))) {
                        faults.push(format!("leads elsewhere: {value}"));
                    }
                }
                "id" if ids.contains(value) => faults.push(format!("the id {value} is there twice")),
                "id" => ids.push(value.clone()),
                "for" => labelled.push(value.clone()),
                _ => {}
            }
        }
        match name.as_str() {
            "script" if get("src").is_none() => faults.push("a script in the page".to_owned()),
            "style" => faults.push("a style in the page".to_owned()),
            "th" if get("scope").is_none() => faults.push(format!("no scope: {tag}")),
            "input" if get("type") != Some("hidden") && get("name").is_some() => {
                let is_labelled = open.iter().any(|one| one == "label")
                    || get("id").is_some_and(|id| labelled.iter().any(|one| one == id));
                if !is_labelled {
                    faults.push(format!("no label: {tag}"));
                }
            }
            "h1" | "h2" | "h3" => {
                let next: usize = name[1..].parse().unwrap();
                if next > level + 1 {
                    faults.push(format!("h{next} after h{level}"));
                }
                level = next;
            }
            _ => {}
        }
        let ends_itself = tag.ends_with('/');
        if ends_itself != SELF_CLOSING.contains(&name.as_str()) {
            faults.push(format!("wrong end: <{tag}>"));
        }
        if !ends_itself && !VOID.contains(&name.as_str()) {
            open.push(name);
        }
    }
    if !open.is_empty() {
        faults.push(format!("not closed: {open:?}"));
    }
    for wanted in ["<h1", "<main ", "</main>", "<title>", "lang=\"en\""] {
        if !html.contains(wanted) {
            faults.push(format!("no {wanted}"));
        }
    }
    faults
}

/// The name of a tag, and its attributes.
fn attributes(tag: &str, faults: &mut Vec<String>) -> (String, Vec<(String, String)>) {
    let tag = tag.trim_end_matches('/').trim_end();
    let (name, mut rest) = tag.split_once(|c: char| c.is_whitespace()).unwrap_or((tag, ""));
    let mut found = Vec::new();
    while !rest.trim_start().is_empty() {
        rest = rest.trim_start();
        let end = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
        let key = &rest[..end];
        let is_plain = key.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
        if key.is_empty() || !(is_plain || key == "x1" || key == "viewBox") {
            faults.push(format!("not an attribute: {rest:.60}"));
            break;
        }
        rest = &rest[end..];
        let mut value = "";
        if let Some(after) = rest.strip_prefix("=\"") {
            let Some(end) = after.find('"') else {
                faults.push(format!("a value does not end: {after:.60}"));
                break;
            };
            (value, rest) = (&after[..end], &after[end + 1..]);
        } else if rest.starts_with('=') {
            faults.push(format!("no quotes: {rest:.60}"));
            break;
        }
        found.push((key.to_owned(), value.to_owned()));
    }
    (name.to_owned(), found)
}

#[test]
fn faults_are_found() {
    let page = |body: &str| {
        format!(
            "<!doctype html>\n<html lang=\"en\"><title>t</title><body><main id=\"main\"><h1>x</h1>{body}</main></body></html>"
        )
    };
    assert_eq!(faults(&page("<p>fine <a href=\"/x\">x</a></p>")), Vec::<String>::new());
    for (body, fault) in [
        ("<p>", "</main> ends"),
        ("<a href=\"javascript:x\">x</a>", "leads elsewhere"),
        ("<a href=\"//x\">x</a>", "leads elsewhere"),
        ("<a href=/x>x</a>", "no quotes"),
        ("<p onclick=\"x\">x</p>", "a handler"),
        ("<p style=\"x\">x</p>", "a style"),
        ("<script>x</script>", "a script"),
        ("<p id=\"main\">x</p>", "twice"),
        ("<h3>x</h3>", "h3 after h1"),
        ("<th>x</th>", "no scope"),
        ("<input name=\"x\">", "no label"),
        ("a > b", "a > in text"),
    ] {
        let found = faults(&page(body));
        assert!(found.iter().any(|one| one.contains(fault)), "{body}: {found:?}");
    }
}
