//! The root of the data: the dot of a template.

use super::{
    data::{Data, Era},
    impact_value::{IMPACT, impact},
    names::NAMESPACED_NAME,
    receiver::beyond,
    results::{CHANGED, CHANGED_V2, UPDATED, changed, updated},
    shared::Shared,
};
use bumpwright_template::{Field, Map, Method, STRING, STRING_MAP, Slot, Struct, StructType, Value};

/// The name of the type in errors, in every era (docs/decisions.md C32).
const NAME: &str = "source.TemplateData";

static V1: StructType = StructType {
    name: NAME,
    fields: &[
        Field::new("AutomationObject", &NAMESPACED_NAME),
        Field::new("Changed", &CHANGED),
        Field::new("Values", &STRING_MAP),
    ],
    methods: &[
        Method::new("Impact", &[], &IMPACT, |_, args| beyond(args, 1)),
        Method::new("Updated", &[], &UPDATED, |_, args| beyond(args, 0)),
    ],
};

static V1BETA2: StructType = StructType {
    name: NAME,
    fields: &[
        Field::new("AutomationObject", &NAMESPACED_NAME),
        Field::new("Updated", &UPDATED),
        Field::new("Changed", &CHANGED_V2),
        Field::new("Values", &STRING_MAP),
    ],
    methods: &[Method::new("Impact", &[], &IMPACT, |_, args| beyond(args, 0))],
};

static V1BETA1: StructType = StructType {
    name: NAME,
    fields: &[
        Field::new("AutomationObject", &NAMESPACED_NAME),
        Field::new("Updated", &UPDATED),
    ],
    methods: &[
        Method::new("Changed", &[], &CHANGED_V2, |_, args| beyond(args, 0)),
        Method::new("Impact", &[], &IMPACT, |_, args| beyond(args, 2)),
        Method::new("Values", &[], &STRING_MAP, |_, args| beyond(args, 1)),
    ],
};

/// The data as the struct of its era. Fields of other eras can be read, too; since they are not printed with the
/// struct, they are made only for a template that mentions them.
pub(super) fn template_data(data: &Data, template: &str) -> Slot {
    let mut shared = Shared::default();
    let automation = shared.name(&data.automation);
    let values = values(data);
    let names = |name| template.contains(name);
    let updated = match data.era {
        Era::V1 if !names("Updated") && !names("ImageResult") => Value::Nil,
        _ => updated(data, &mut shared),
    };
    let changed = match data.era {
        Era::V1beta1 if !names("Changed") => Value::Nil,
        _ => changed(data, &mut shared, updated.clone()),
    };
    let impact = if names("Impact") {
        impact(&data.impact, &mut shared)
    } else {
        Value::Nil
    };
    let (of, fields) = match data.era {
        Era::V1 => (&V1, vec![automation, changed, values, updated, impact]),
        Era::V1beta2 => (&V1BETA2, vec![automation, updated, changed, values, impact]),
        Era::V1beta1 => (&V1BETA1, vec![automation, updated, changed, values, impact]),
    };
    Slot::of(Value::Struct(Struct::new(of, fields)))
}

fn values(data: &Data) -> Value {
    Value::Map(match &data.values {
        Some(values) => {
            let entries = values
                .iter()
                .map(|(key, value)| (key.as_str().into(), value.as_str().into()));
            Map::new(&STRING, &STRING, entries)
        }
        None => Map::nil(&STRING, &STRING),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{FieldChange, ImageChange, ObjectIdentifier, ObjectName, render};
    use bumpwright_policy::{Reference, Validation};
    use bumpwright_template::{Limits, World};

    struct NoWorld;

    impl World for NoWorld {
        fn now(&self) -> (i64, u32) {
            (0, 0)
        }

        fn random(&self, _: &mut [u8]) {}
    }

    /// Including fields that the struct of an era does not have.
    #[test]
    fn every_era_reads_everything() {
        let mut data = Data {
            changes: vec![FieldChange {
                file: "c.yaml".to_owned(),
                object: ObjectIdentifier::default(),
                old: "1".to_owned(),
                new: "2".to_owned(),
                setter: "a:b".to_owned(),
            }],
            images: vec![ImageChange {
                file: "i.yaml".to_owned(),
                object: ObjectIdentifier::default(),
                image: Reference::parse("o/a:2", Validation::Weak).unwrap(),
                policy: ObjectName::default(),
            }],
            ..Data::default()
        };
        for era in [Era::V1beta1, Era::V1beta2, Era::V1] {
            data.era = era;
            for (template, expected) in [
                ("{{.Updated.Images}}", "[o/a:2]"),
                (
                    "{{define \"i\"}}{{.Images}}{{end}}{{template \"i\" .Changed.ImageResult}}",
                    "[o/a:2]",
                ),
                ("{{with .Changed}}{{.Changes}}{{end}}", "[{1 2 a:b}]"),
                ("{{range $file, $_ := $.Changed.FileChanges}}{{$file}}{{end}}", "c.yaml"),
            ] {
                let out = render(template, &data, Limits::default(), &NoWorld).unwrap();
                assert_eq!(String::from_utf8(out).unwrap(), expected, "{template} in {era:?}");
            }
        }
    }
}
