//! The impact of a commit in templates: `.Impact`.

use super::{
    impact::{ChangedObject, ChangedWorkload, ContainerImage, DeadMarker, Impact, KustomizationName},
    names::OBJECT_IDENTIFIER,
    receiver::{beyond, field},
    shared::Shared,
};
use bumpwright_template::{
    Args, BOOL, Failure, Field, INT, Method, STRING, STRINGS, Slice, Struct, StructType, Type, Value,
};

/// `.Impact`; no version of Flux has it.
pub(super) static IMPACT: Type = Type::Struct(&IMPACT_STRUCT);
static IMPACT_STRUCT: StructType = StructType {
    name: "fleet.Impact",
    fields: &[
        Field::new("Kustomizations", &KUSTOMIZATIONS),
        Field::new("Workloads", &WORKLOADS),
        Field::new("Objects", &OBJECTS),
        Field::new("DeadMarkers", &DEAD_MARKERS),
        Field::new("Notes", &STRINGS),
    ],
    methods: &[Method::new("Restarts", &[], &WORKLOADS, |_, args| beyond(args, 0))],
};

static KUSTOMIZATIONS: Type = Type::Slice(&KUSTOMIZATION);
static KUSTOMIZATION: Type = Type::Struct(&KUSTOMIZATION_STRUCT);
static KUSTOMIZATION_STRUCT: StructType = StructType {
    name: "fleet.Kustomization",
    fields: &[
        Field::new("Cluster", &STRING),
        Field::new("Namespace", &STRING),
        Field::new("Name", &STRING),
    ],
    methods: &[Method::new("String", &[], &STRING, |_, args| beyond(args, 0))],
};

static WORKLOADS: Type = Type::Slice(&WORKLOAD);
static WORKLOAD: Type = Type::Struct(&WORKLOAD_STRUCT);
static WORKLOAD_STRUCT: StructType = StructType {
    name: "fleet.Workload",
    fields: &[
        Field::embedded("ObjectIdentifier", &OBJECT_IDENTIFIER),
        Field::new("Kustomization", &KUSTOMIZATION),
        Field::new("Action", &STRING),
        Field::new("Fields", &INT),
        Field::new("Images", &IMAGES),
        Field::new("Restarts", &BOOL),
        Field::new("Release", &STRING),
    ],
    methods: &[],
};

static IMAGES: Type = Type::Slice(&IMAGE);
static IMAGE: Type = Type::Struct(&IMAGE_STRUCT);
static IMAGE_STRUCT: StructType = StructType {
    name: "fleet.ContainerImage",
    fields: &[
        Field::new("Container", &STRING),
        Field::new("Old", &STRING),
        Field::new("New", &STRING),
    ],
    methods: &[],
};

static OBJECTS: Type = Type::Slice(&OBJECT);
static OBJECT: Type = Type::Struct(&OBJECT_STRUCT);
static OBJECT_STRUCT: StructType = StructType {
    name: "fleet.Object",
    fields: &[
        Field::embedded("ObjectIdentifier", &OBJECT_IDENTIFIER),
        Field::new("Kustomization", &KUSTOMIZATION),
        Field::new("Action", &STRING),
        Field::new("Fields", &INT),
        Field::new("Release", &STRING),
    ],
    methods: &[],
};

static DEAD_MARKERS: Type = Type::Slice(&DEAD_MARKER);
static DEAD_MARKER: Type = Type::Struct(&DEAD_MARKER_STRUCT);
static DEAD_MARKER_STRUCT: StructType = StructType {
    name: "fleet.DeadMarker",
    fields: &[
        Field::new("File", &STRING),
        Field::new("Line", &INT),
        Field::new("Column", &INT),
        Field::new("Setter", &STRING),
    ],
    methods: &[Method::new("String", &[], &STRING, place)],
};

/// The value of `.Impact`.
pub(super) fn impact<'d>(of: &'d Impact, shared: &mut Shared<'d>) -> Value {
    let kustomizations = of.kustomizations.iter().map(kustomization).collect();
    let workloads: Vec<Value> = of.workloads.iter().map(|changed| workload(changed, shared)).collect();
    let of_restarting = of.workloads.iter().zip(&workloads);
    let restarts = of_restarting.filter(|(workload, _)| workload.restarts);
    let restarts = restarts.map(|(_, value)| value.clone()).collect();
    let objects = of.objects.iter().map(|changed| object(changed, shared)).collect();
    let dead = of.dead_markers.iter().map(dead_marker).collect();
    let notes = of.notes.iter().map(|note| note.as_str().into()).collect();
    Value::Struct(Struct::new(
        &IMPACT_STRUCT,
        [
            list(&KUSTOMIZATION, kustomizations),
            list(&WORKLOAD, workloads),
            list(&OBJECT, objects),
            list(&DEAD_MARKER, dead),
            list(&STRING, notes),
            list(&WORKLOAD, restarts),
        ],
    ))
}

fn list(item: &'static Type, items: Vec<Value>) -> Value {
    Value::Slice(Slice::new(item, items))
}

fn kustomization(of: &KustomizationName) -> Value {
    let fields = [
        of.cluster.as_str().into(),
        of.namespace.as_str().into(),
        of.name.as_str().into(),
        of.to_string().into(),
    ];
    Value::Struct(Struct::new(&KUSTOMIZATION_STRUCT, fields))
}

fn workload<'d>(of: &'d ChangedWorkload, shared: &mut Shared<'d>) -> Value {
    let fields = [
        shared.identifier(&of.object),
        kustomization(&of.kustomization),
        of.action.word().into(),
        count(of.fields),
        list(&IMAGE, of.images.iter().map(image).collect()),
        of.restarts.into(),
        of.release.as_str().into(),
    ];
    Value::Struct(Struct::new(&WORKLOAD_STRUCT, fields))
}

fn image(of: &ContainerImage) -> Value {
    let fields = [&of.container, &of.old, &of.new].map(|text| text.as_str().into());
    Value::Struct(Struct::new(&IMAGE_STRUCT, fields))
}

fn object<'d>(of: &'d ChangedObject, shared: &mut Shared<'d>) -> Value {
    let fields = [
        shared.identifier(&of.object),
        kustomization(&of.kustomization),
        of.action.word().into(),
        count(of.fields),
        of.release.as_str().into(),
    ];
    Value::Struct(Struct::new(&OBJECT_STRUCT, fields))
}

fn dead_marker(of: &DeadMarker) -> Value {
    let fields = [
        of.path.as_str().into(),
        count(of.line),
        count(of.column),
        of.setter.as_str().into(),
    ];
    Value::Struct(Struct::new(&DEAD_MARKER_STRUCT, fields))
}

/// `path:line:column`
fn place(_: &mut bumpwright_template::Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let parts = ["File", "Line", "Column"].map(|name| field(args, name));
    let mut text = Vec::new();
    for part in parts {
        if !text.is_empty() {
            text.push(b':');
        }
        match part? {
            Value::String(file) => text.extend_from_slice(&file),
            Value::Int(_, number) => text.extend_from_slice(number.to_string().as_bytes()),
            _ => {}
        }
    }
    Ok(Value::text(text))
}

fn count(number: usize) -> Value {
    Value::int(i64::try_from(number).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::{
        ChangedObject, ChangedWorkload, ContainerImage, Data, DeadMarker, Era, Impact, KustomizationName, ObjectAction,
        ObjectIdentifier, render,
    };
    use bumpwright_template::{Limits, World};

    struct NoWorld;

    impl World for NoWorld {
        fn now(&self) -> (i64, u32) {
            (0, 0)
        }

        fn random(&self, _: &mut [u8]) {}
    }

    fn object(kind: &str, name: &str) -> ObjectIdentifier {
        ObjectIdentifier {
            kind: kind.to_owned(),
            name: name.to_owned(),
            namespace: "shop".to_owned(),
            ..ObjectIdentifier::default()
        }
    }

    fn impact() -> Impact {
        let apps = KustomizationName {
            cluster: "clusters/production".to_owned(),
            namespace: "flux-system".to_owned(),
            name: "apps".to_owned(),
        };
        let image = ContainerImage {
            container: "web".to_owned(),
            old: "o/web:1".to_owned(),
            new: "o/web:2".to_owned(),
        };
        let workload = |kind, name, restarts| ChangedWorkload {
            object: object(kind, name),
            kustomization: apps.clone(),
            action: ObjectAction::Configured,
            fields: 1,
            images: vec![image.clone()],
            restarts,
            release: "shop/web".to_owned(),
        };
        Impact {
            kustomizations: vec![apps.clone()],
            workloads: vec![workload("Deployment", "web", true), workload("CronJob", "job", false)],
            objects: vec![ChangedObject {
                object: object("ConfigMap", "env-5f"),
                kustomization: apps.clone(),
                action: ObjectAction::Created,
                ..ChangedObject::default()
            }],
            dead_markers: vec![DeadMarker {
                path: "old/a.yaml".to_owned(),
                line: 3,
                column: 8,
                setter: "fs:web".to_owned(),
            }],
            notes: vec!["a note".to_owned()],
            unknown: 0,
            releases: Vec::new(),
        }
    }

    fn rendered(template: &str, impact: &Impact, era: Era) -> String {
        let data = Data {
            era,
            impact: impact.clone(),
            ..Data::default()
        };
        String::from_utf8(render(template, &data, Limits::default(), &NoWorld).unwrap()).unwrap()
    }

    #[test]
    fn every_part_can_be_read_in_every_era() {
        for era in [Era::V1beta1, Era::V1beta2, Era::V1] {
            for (template, expected) in [
                (
                    "{{ range .Impact.Kustomizations }}{{ . }}, {{ .Name }}{{ end }}",
                    "clusters/production: flux-system/apps, apps",
                ),
                (
                    "{{ range .Impact.Workloads }}{{ .Kind }} {{ .Namespace }}/{{ .Name }}{{ range .Images }} {{ .Container }} {{ .Old }} {{ .New }}{{ end }} {{ .Restarts }} {{ .Kustomization.Cluster }}; {{ end }}",
                    "Deployment shop/web web o/web:1 o/web:2 true clusters/production; CronJob shop/job web o/web:1 o/web:2 false clusters/production; ",
                ),
                (
                    "{{ range .Impact.Restarts }}{{ .Name }} {{ .Release }}{{ end }}",
                    "web shop/web",
                ),
                (
                    "{{ range .Impact.Objects }}{{ .Kind }} {{ .Name }} {{ .Action }} {{ .Fields }}{{ with .Release }}!{{ end }}{{ end }}",
                    "ConfigMap env-5f created 0",
                ),
                (
                    "{{ range .Impact.DeadMarkers }}{{ . }} {{ .File }} {{ .Line }} {{ .Setter }}{{ end }}",
                    "old/a.yaml:3:8 old/a.yaml 3 fs:web",
                ),
                ("{{ join \", \" .Impact.Notes }}", "a note"),
                ("{{ with . }}{{ len .Impact.Workloads }}{{ end }}", "2"),
            ] {
                assert_eq!(rendered(template, &impact(), era), expected, "{template} in {era:?}");
            }
        }
    }

    /// Without a fleet, and in what prints the data as a whole, which hashes are made of.
    #[test]
    fn without_a_fleet_it_is_empty_and_it_is_never_printed_with_the_rest() {
        let template = "{{ if .Impact.Workloads }}some{{ else }}none{{ end }}{{ range .Impact.Restarts }}x{{ end }}";
        for era in [Era::V1beta1, Era::V1beta2, Era::V1] {
            assert_eq!(rendered(template, &Impact::default(), era), "none");
            for whole in [
                "{{ . }}",
                "{{ printf \"%+v %#v\" . . }}",
                "{{ . | toJson }}",
                "{{ toString . | sha256sum }}",
            ] {
                let (with, without) = (
                    rendered(whole, &impact(), era),
                    rendered(whole, &Impact::default(), era),
                );
                assert_eq!(with, without, "{whole} in {era:?}");
                assert!(!with.contains("mpact"), "{with}");
            }
        }
    }
}
