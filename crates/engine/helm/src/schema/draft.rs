//! The drafts of JSON Schema: how they name things, and where they have schemas within schemas.

use serde_json::Value as Json;
use std::sync::LazyLock;

/// A version of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Draft {
    Four,
    Six,
    Seven,
    Y2019,
    Y2020,
}

/// The one of schemas without `$schema`.
pub(super) const LATEST: Draft = Draft::Y2020;

/// The schemas of all drafts by their path at json-schema.org, as published there.
static METASCHEMAS: LazyLock<Json> =
    LazyLock::new(|| serde_json::from_str(include_str!("metaschemas.json")).unwrap_or_default());

const SITES: [&str; 2] = ["http://json-schema.org/", "https://json-schema.org/"];

/// Where a keyword has schemas.
#[derive(Clone, Copy)]
pub(super) enum Within {
    /// The value is one.
    Itself,
    Items,
    Entries,
}

use Within::{Entries, Items, Itself};

/// The keywords with schemas, and the draft that each came with.
const SUBSCHEMAS: [(Draft, &str, Within); 23] = [
    (Draft::Four, "definitions", Entries),
    (Draft::Four, "not", Itself),
    (Draft::Four, "allOf", Items),
    (Draft::Four, "anyOf", Items),
    (Draft::Four, "oneOf", Items),
    (Draft::Four, "properties", Entries),
    (Draft::Four, "additionalProperties", Itself),
    (Draft::Four, "patternProperties", Entries),
    (Draft::Four, "items", Itself),
    (Draft::Four, "items", Items),
    (Draft::Four, "additionalItems", Itself),
    (Draft::Four, "dependencies", Entries),
    (Draft::Six, "propertyNames", Itself),
    (Draft::Six, "contains", Itself),
    (Draft::Seven, "if", Itself),
    (Draft::Seven, "then", Itself),
    (Draft::Seven, "else", Itself),
    (Draft::Y2019, "$defs", Entries),
    (Draft::Y2019, "dependentSchemas", Entries),
    (Draft::Y2019, "unevaluatedProperties", Itself),
    (Draft::Y2019, "unevaluatedItems", Itself),
    (Draft::Y2019, "contentSchema", Itself),
    (Draft::Y2020, "prefixItems", Items),
];

impl Draft {
    /// The draft with this schema.
    pub(super) fn of_url(url: &str) -> Option<Self> {
        let (url, fragment) = url.split_once('#').unwrap_or((url, ""));
        let bare = url
            .strip_prefix("http://")
            .or(url.strip_prefix("https://"))
            .unwrap_or(url);
        match bare {
            _ if !fragment.is_empty() => None,
            "json-schema.org/schema" => Some(LATEST),
            "json-schema.org/draft/2020-12/schema" => Some(Self::Y2020),
            "json-schema.org/draft/2019-09/schema" => Some(Self::Y2019),
            "json-schema.org/draft-07/schema" => Some(Self::Seven),
            "json-schema.org/draft-06/schema" => Some(Self::Six),
            "json-schema.org/draft-04/schema" => Some(Self::Four),
            _ => None,
        }
    }

    /// The URL of its schema.
    pub(super) fn url(self) -> &'static str {
        match self {
            Self::Four => "http://json-schema.org/draft-04/schema",
            Self::Six => "http://json-schema.org/draft-06/schema",
            Self::Seven => "http://json-schema.org/draft-07/schema",
            Self::Y2019 => "https://json-schema.org/draft/2019-09/schema",
            Self::Y2020 => "https://json-schema.org/draft/2020-12/schema",
        }
    }

    /// The keyword that names a schema.
    pub(super) fn id_keyword(self) -> &'static str {
        match self {
            Self::Four => "id",
            _ => "$id",
        }
    }

    /// The keywords of this draft that have schemas.
    pub(super) fn subschemas(self) -> impl Iterator<Item = (&'static str, Within)> {
        let keywords = SUBSCHEMAS.iter().filter(move |(since, ..)| *since <= self);
        keywords.map(|(_, keyword, within)| (*keyword, *within))
    }
}

/// Whether a URL is one of the site with the metaschemas.
pub(super) fn is_of_the_site(url: &str) -> bool {
    SITES.iter().any(|site| url.starts_with(site))
}

/// The metaschema at a URL.
pub(super) fn metaschema(url: &str) -> Option<&'static Json> {
    let path = SITES.iter().find_map(|site| url.strip_prefix(site))?;
    match path {
        "schema" => metaschema(LATEST.url()),
        path => METASCHEMAS.get(path),
    }
}
