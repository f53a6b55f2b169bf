#!/usr/bin/env python3
"""Records what the real kustomize does to fields of objects: fixtures/kustomize/fields.jsonl.

usage: kustomize-fields.py KUSTOMIZE OUT

A case is some objects and some layers. Layer 0 is a kustomization over the objects, each further one over the layer
before it. The first line of the file holds the texts of the objects under their names, and what kustomize prints of
each untouched. Each further line is a case: id, objects (names or texts), layers, files (put beside every layer), and
expected (the documents of stdout; `=name` for an untouched one) or error (the last line of stderr).
"""
import concurrent.futures, json, os, subprocess, sys, tempfile

DEPLOY = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {old: "1"}
spec:
  replicas: 1
  selector: {matchLabels: {old: "1"}}
  template:
    metadata: {labels: {old: "1"}}
    spec:
      containers:
      - name: web
        image: nginx:1.7.9
        args: [--port, "8080"]
        env:
        - name: HOST
          value: localhost:8080
      - name: side
        image: "redis@sha256:24a0"
      initContainers:
      - name: init
        image: host:5000/a/busybox
"""
BARE = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: bare}\n"
STATEFUL = """apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  volumeClaimTemplates:
  - metadata: {name: data}
  - metadata: {name: more, labels: {l: m}}
  template: {metadata: null, spec: {affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {a: b}}}, {labelSelector: {}}]}}}}
"""
CRON = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: cron}\nspec: {jobTemplate: {spec: {template: {spec: {containers: [{name: c, image: nginx}]}}}}}\n"
JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: job}\nspec: {selector: {}, template: {spec: {containers: [{name: c, image: nginx:x}]}}}\n"
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: svc}\nspec: {ports: [{port: 80, name: http}]}\n"
CONFIG = """apiVersion: v1
kind: ConfigMap
metadata: {name: cm, labels: {app: a, tier: back}, annotations: {note: x}}
data:
  HOST: db.example.com:5432
  PORT: "8080"
  json: '{"a": {"b": 1, "c": [1, 2]}, "s": "x<y"}'
  pretty: |-
    {
      "a": {
        "b": 1
      },
      "e": {},
      "l": []
    }
  yaml: |
    z: 1
    a:
      b: two
      l:
      - name: n
        v: 1
  plain: hello world
  empty: ""
"""
NUMBERS = """apiVersion: x.io/v1
kind: Thing
metadata: {name: thing}
spec:
  int: 5
  float: 1.5
  bool: true
  text: abc
  quoted: "12"
  none: null
  blank:
  empty: {}
  list: [a, b, c]
  items:
  - {name: one, v: 1}
  - {name: two, v: 2, deep: {k: x}}
  - {name: "3", v: 3}
"""
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ns}\n"
CRD = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.x.io}
spec:
  containers: [{image: nginx:1}]
  conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: s, namespace: old}}}}
"""
APISERVICE = "apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: v1.x.io}\nspec: {service: {name: s}}\n"
CLUSTERROLE = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: role}\n"
BINDING = """apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: bind, namespace: other}
subjects:
- {kind: ServiceAccount, name: default}
- {kind: ServiceAccount, name: sa, namespace: keep}
- {kind: ServiceAccount, name: sb}
- {kind: User, name: default, namespace: null}
- {kind: Group, name: g}
roleRef: {kind: ClusterRole, name: elsewhere}
"""
CLUSTERBINDING = BINDING.replace("RoleBinding", "ClusterRoleBinding").replace(", namespace: other", "")
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: pod}\nspec: {containers: [{name: a, image: 'nginx:$(TAG)', command: [\"$(HOST)\", '$$(HOST)', $(NOPE), x-$(HOST)-$(PORT)], env: [{name: P, value: $(PORT)}, {name: Q, value: \"$(BOOL)\"}]}]}\n"
PDB = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: pdb}\nspec: {selector: {matchLabels: {a: b}}}\n"
NETPOL = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: np}\nspec: {podSelector: {matchLabels: {a: b}}, ingress: [{from: [{podSelector: {matchLabels: {c: d}}}, {podSelector: {}}]}]}\n"
MANY = {"deploy": DEPLOY, "bare": BARE, "stateful": STATEFUL, "cron": CRON, "job": JOB, "service": SERVICE, "config": CONFIG,
        "numbers": NUMBERS, "namespace": NAMESPACE, "crd": CRD, "apiservice": APISERVICE, "clusterrole": CLUSTERROLE,
        "binding": BINDING, "clusterbinding": CLUSTERBINDING, "pdb": PDB, "netpol": NETPOL}

CASES = []


def case(name, objects, *layers, files=None):
    """One case. Objects in lists are joined; layers that are no text are written as JSON, which is YAML."""
    objects = [objects] if isinstance(objects, str) else objects
    layers = [layer if isinstance(layer, str) else json.dumps(layer) for layer in layers]
    CASES.append({"id": name, "objects": objects, "layers": layers, "files": files or {}})


def plugin(kind, **config):
    return {"transformers": [json.dumps({"apiVersion": "builtin", "kind": kind, "metadata": config.pop("metadata", {"name": "n"}), **config})]}


def obj(spec, kind="Thing", name="thing", api="x.io/v1"):
    return json.dumps({"apiVersion": api, "kind": kind, "metadata": {"name": name}, **spec}) + "\n"


# Each of these on each object.
for name, layer in {
    "labels": {"labels": [{"pairs": {"app": "x", "n": "1"}}]},
    "labels-selectors": {"labels": [{"pairs": {"app": "x"}, "includeSelectors": True}]},
    "labels-templates": {"labels": [{"pairs": {"app": "x"}, "includeTemplates": True}]},
    "annotations": {"commonAnnotations": {"a.b/c": "true", "d": ""}},
    "namespace": {"namespace": "here"},
    "affixes": {"namePrefix": "p-", "nameSuffix": "-s"},
}.items():
    for key, text in MANY.items():
        if key in ("deploy", "stateful", "cron", "service", "binding", "clusterbinding", "crd", "apiservice", "namespace", "clusterrole", "pdb", "netpol", "job", "bare") or name == "namespace":
            case(f"each-{name}/{key}", text, layer)

# Images.
for name, image in {
    "tag": {"name": "nginx", "newTag": "2"}, "name": {"name": "nginx", "newName": "other/web"},
    "digest": {"name": "nginx", "digest": "sha256:ff"}, "both": {"name": "nginx", "newTag": "2", "digest": "sha256:ff"},
    "suffix": {"name": "nginx", "tagSuffix": "-x"}, "suffix-name": {"name": "nginx", "tagSuffix": "-x", "newName": "n"},
    "suffix-tag": {"name": "nginx", "tagSuffix": "-x", "newTag": "3"}, "redis": {"name": "redis", "newTag": "6"},
    "redis-suffix": {"name": "redis", "tagSuffix": "-x"}, "redis-name": {"name": "redis", "newName": "r"},
    "port": {"name": "host:5000/a/busybox", "newTag": "1"}, "regex": {"name": "n.*x", "newTag": "9"}, "wrong": {"name": "[", "newTag": "9"},
    "alternative": {"name": "foo|nginx", "newTag": "9"}, "part": {"name": "ngin", "newTag": "9"}, "nothing": {"name": "nginx"},
    "number": {"name": "nginx", "newName": "12"}, "empty": {"newTag": "2"}, "brace": {"name": "nginx", "newTag": "{V}"},
}.items():
    case(f"images/{name}", DEPLOY, {"images": [image]})
case("images/many", [DEPLOY, CRON, JOB, CRD], {"images": [{"name": "nginx", "newTag": "2"}, {"name": "nginx", "newName": "x"}, {"name": "x", "newTag": "3"}]})
for name, spec in {
    "deep": {"a": {"b": [{"containers": [{"image": "nginx"}, {"noimage": 1}]}]}}, "null": {"containers": [None, {"image": None}]},
    "scalar": {"containers": ["nginx"]}, "map": {"containers": {"image": "nginx"}}, "notext": {"containers": [{"image": ["nginx"]}]},
    "volumes": {"spec": {"volumes": [{"image": {"reference": "nginx:1"}}]}}, "number": {"containers": [{"image": 12}]},
    "list": {"containers": [[{"image": "nginx"}]]}, "other": {"ephemeralContainers": [{"image": "nginx"}], "image": "nginx"},
}.items():
    case(f"images/shape-{name}", obj(spec), {"images": [{"name": "nginx", "newTag": "2"}, {"name": "12", "newTag": "2"}]})
case("images/config", obj({"spec": {"img": "nginx", "imgs": ["nginx:1", "redis"], "c": {"i": "nginx"}}}), {"configurations": ["c.yaml"], "images": [{"name": "nginx", "newTag": "2"}]},
     files={"c.yaml": "images:\n- {path: spec/img, kind: Thing}\n- {path: spec/c/i}\n- {path: spec/nope, create: true}\n"})
case("images/config-list", obj({"spec": {"imgs": ["nginx:1"]}}), {"configurations": ["c.yaml"], "images": [{"name": "nginx", "newTag": "2"}]},
     files={"c.yaml": "images: [{path: spec/imgs}]\n"})
case("images/unquoted", DEPLOY, "images:\n- name: nginx\n  newTag: 1.10\n- name: redis\n  newTag: 0x1F\n")
case("images/plugin", DEPLOY, plugin("ImageTagTransformer", imageTag={"name": "nginx", "newTag": "7"}))
case("images/plugin-specs", obj({"x": "nginx"}), plugin("ImageTagTransformer", imageTag={"name": "nginx", "newTag": "7"}, fieldSpecs=[{"path": "x"}]))

# Replicas.
case("replicas/one", [DEPLOY, STATEFUL, BARE], {"replicas": [{"name": "web", "count": 3}, {"name": "db", "count": 0}, {"name": "bare", "count": -1}]})
case("replicas/none", [DEPLOY], {"replicas": [{"name": "nope", "count": 3}]})
case("replicas/kind", [JOB], {"replicas": [{"name": "job", "count": 3}]})
case("replicas/old-name", [DEPLOY], {"namePrefix": "p-"}, {"namePrefix": "q-", "replicas": [{"name": "web", "count": 3}]}, {"replicas": [{"name": "p-web", "count": 4}]}, {"replicas": [{"name": "q-p-web", "count": 5}]})
case("replicas/null", obj({"spec": {"replicas": None}}, "Deployment", "d", "apps/v1"), {"replicas": [{"name": "d", "count": 3}]})
case("replicas/text", obj({"spec": {"replicas": "x"}}, "Deployment", "d", "apps/v1"), {"replicas": [{"name": "d", "count": 3}]})
case("replicas/map", obj({"spec": {"replicas": {"a": 1}}}, "Deployment", "d", "apps/v1"), {"replicas": [{"name": "d", "count": 3}]})
case("replicas/config", NUMBERS, {"configurations": ["c.yaml"], "replicas": [{"name": "thing", "count": 3}]}, files={"c.yaml": "replicas:\n- {path: spec/size/n, kind: Thing, create: true}\n"})
case("replicas/plugin", NUMBERS, plugin("ReplicaCountTransformer", replica={"name": "thing", "count": 23}, fieldSpecs=[{"path": "spec/int", "kind": "Thing"}, {"path": "spec/items/v", "kind": "Thing"}]))
case("replicas/plugin-no-create", BARE, plugin("ReplicaCountTransformer", replica={"name": "bare", "count": 23}, fieldSpecs=[{"path": "spec/replicas", "kind": "Deployment"}]))

# Names.
for name, text in {"number": "2", "quoted": '"2"', "null": "null", "tilde": "~", "missing": ""}.items():
    object_ = f"apiVersion: x.io/v1\nkind: Thing\nmetadata: {{{'name: ' + text if text else 'generateName: g-'}}}\n"
    case(f"names/{name}", object_, {"namePrefix": "1"})
case("names/twice", [SERVICE, CONFIG], {"namePrefix": "a-", "nameSuffix": "-1"}, {"namePrefix": "b-", "nameSuffix": "-2"})
case("names/config", NUMBERS, {"configurations": ["c.yaml"], "namePrefix": "p-"}, files={"c.yaml": "namePrefix:\n- {path: spec/text, kind: Thing}\n- {path: spec/items/name}\n- {path: spec/none, create: true}\n- {path: spec/new/x, create: true}\n"})
case("names/config-suffix", NUMBERS, {"configurations": ["c.yaml"], "nameSuffix": "-s"}, files={"c.yaml": "nameSuffix:\n- {path: spec/quoted}\n- {path: spec/int}\n- {path: spec/blank, create: true}\n"})
case("names/config-list", NUMBERS, {"configurations": ["c.yaml"], "namePrefix": "p-"}, files={"c.yaml": "namePrefix:\n- {path: spec/list}\n"})
case("names/config-kind", [NUMBERS, SERVICE], {"configurations": ["c.yaml"], "namePrefix": "p-"}, files={"c.yaml": "namePrefix:\n- {path: spec/text, kind: Service}\n"})
case("names/plugin", [NUMBERS, SERVICE], plugin("PrefixTransformer", prefix="x-", fieldSpecs=[{"kind": "Service", "path": "metadata/name"}]))
case("names/plugin-no-specs", [NUMBERS], plugin("PrefixTransformer", prefix="x-"))
case("names/plugin-suffix", [NUMBERS], plugin("SuffixTransformer", suffix="-x", fieldSpecs=[{"path": "spec/text"}, {"path": "metadata/name"}]))

# Namespaces.
ALL = [NAMESPACE, CLUSTERROLE, BINDING, SERVICE, APISERVICE, CRD]
case("namespace/all", ALL, {"namespace": "here"})
case("namespace/conflict", [SERVICE, SERVICE.replace("svc", "svc, namespace: x")], {"namespace": "here"})
case("namespace/two-layers", ALL, {"namespace": "a"}, {"namespace": "b"})
case("namespace/two-namespaces", [NAMESPACE, NAMESPACE.replace("ns}", "nt}")], {"namespace": "b"})
case("namespace/other-namespace", "apiVersion: x.io/v1\nkind: Namespace\nmetadata: {name: n}\n", {"namespace": "b"})
case("namespace/null", "apiVersion: v1\nkind: Service\nmetadata: {name: n, namespace: null}\n", {"namespace": "b"})
case("namespace/empty", "apiVersion: v1\nkind: Service\nmetadata: {name: n, namespace: \"\"}\n", {"namespace": "b"})
case("namespace/number", SERVICE, {"namespace": "12"})
case("namespace/config", NUMBERS, {"configurations": ["c.yaml"], "namespace": "b"}, files={"c.yaml": "namespace:\n- {path: spec/text}\n- {path: spec/items/ns, create: true}\n- {path: metadata/namespace, create: true, kind: Thing}\n"})
case("namespace/config-map", NUMBERS, {"configurations": ["c.yaml"], "namespace": "b"}, files={"c.yaml": "namespace:\n- {path: spec/items}\n"})
case("namespace/config-subjects", BINDING, {"configurations": ["c.yaml"], "namespace": "b"}, files={"c.yaml": "namespace:\n- {path: subjects/namespace, kind: RoleBinding, create: true}\n- {path: roleRef/namespace, create: true}\n"})
for mode in ("none", "defaultOnly", "allServiceAccounts", "nonsense"):
    case(f"namespace/subjects-{mode}", [BINDING, CLUSTERBINDING], plugin("NamespaceTransformer", metadata={"name": "n", "namespace": "b"}, setRoleBindingSubjects=mode, fieldSpecs=[{"path": "metadata/name", "kind": "Namespace"}]))
case("namespace/unset-only", [SERVICE, BINDING, NAMESPACE], plugin("NamespaceTransformer", metadata={"name": "n", "namespace": "b"}, unsetOnly=True, setRoleBindingSubjects="allServiceAccounts", fieldSpecs=[{"path": "metadata/name", "kind": "Namespace"}, {"path": "roleRef/name"}, {"path": "roleRef/x", "create": True}]))
case("namespace/unset-map", NUMBERS, plugin("NamespaceTransformer", metadata={"name": "n", "namespace": "b"}, unsetOnly=True, fieldSpecs=[{"path": "spec/empty"}]))
for name, subjects in {"null": "null", "map": "{a: b}", "scalars": "[x]", "empty": "[]"}.items():
    case(f"namespace/subjects-shape-{name}", f"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {{name: b}}\nsubjects: {subjects}\n", {"namespace": "b"})

# Labels and annotations.
case("labels/common", [DEPLOY, SERVICE, STATEFUL, JOB, PDB, NETPOL], {"commonLabels": {"app": "x", "b": "2"}})
case("labels/volumes", [STATEFUL], {"labels": [{"pairs": {"app": "x"}, "includeVolumeClaimTemplates": True, "includeTemplates": True}]})
case("labels/fields", [NUMBERS, DEPLOY], {"labels": [{"pairs": {"app": "x"}, "fields": [{"path": "spec/empty", "kind": "Thing"}, {"path": "spec/new/l", "create": True, "kind": "Thing"}, {"path": "spec/none", "kind": "Thing", "create": True}]}]})
case("labels/fields-null", [NUMBERS], {"labels": [{"pairs": {"app": "x"}, "fields": [{"path": "spec/none"}]}]})
case("labels/fields-scalar", [NUMBERS], {"labels": [{"pairs": {"app": "x"}, "fields": [{"path": "spec/text"}]}]})
case("labels/fields-list", [NUMBERS], {"labels": [{"pairs": {"app": "x"}, "fields": [{"path": "spec/items"}]}]})
case("labels/fields-items", [NUMBERS], {"labels": [{"pairs": {"app": "x"}, "fields": [{"path": "spec/items/l", "create": True}, {"path": "spec/items/deep"}]}]})
case("labels/fields-brackets", [NUMBERS], {"labels": [{"pairs": {"app": "x"}, "fields": [{"path": "spec/items[]/l", "create": True}, {"path": "spec/none[]/l", "create": True}, {"path": "spec/gone[]/l", "create": True}]}]})
case("labels/fields-conflict", [NUMBERS], {"labels": [{"pairs": {"app": "x"}, "fields": [{"path": "metadata/labels"}]}]})
case("labels/fields-escape", [NUMBERS], {"labels": [{"pairs": {"app": "x"}, "fields": [{"path": "spec/a\\/b/c", "create": True}]}]})
case("labels/fields-index", [NUMBERS], {"labels": [{"pairs": {"app": "x"}, "fields": [{"path": "spec/items/0", "create": True}]}]})
case("labels/fields-star", [NUMBERS], {"labels": [{"pairs": {"app": "x"}, "fields": [{"path": "spec/items/*/l", "create": True}]}]})
case("labels/fields-empty-part", [NUMBERS], {"labels": [{"pairs": {"app": "x"}, "fields": [{"path": "spec//l", "create": True}]}]})
case("labels/fields-slash", [NUMBERS], {"labels": [{"pairs": {"app": "x"}, "fields": [{"path": "/spec/l", "create": True}]}]})
case("labels/fields-through-scalar", [NUMBERS], {"labels": [{"pairs": {"app": "x"}, "fields": [{"path": "spec/text/l", "create": True}]}]})
case("labels/config", [NUMBERS, SERVICE], {"configurations": ["c.yaml"], "commonLabels": {"app": "x"}}, files={"c.yaml": "commonLabels:\n- {path: spec/l, kind: Thing, create: true, group: x.io, version: v1}\n- {path: spec/m, kind: Thing, create: true, group: y.io}\n"})
case("labels/config-labels", [NUMBERS], {"configurations": ["c.yaml"], "labels": [{"pairs": {"app": "x"}}]}, files={"c.yaml": "labels:\n- {path: spec/l, create: true}\n"})
case("labels/config-templates", [NUMBERS], {"configurations": ["c.yaml"], "labels": [{"pairs": {"app": "x"}, "includeTemplates": True}]}, files={"c.yaml": "templateLabels:\n- {path: spec/t, create: true}\ncommonLabels:\n- {path: spec/c, create: true}\n"})
case("labels/config-conflict", [NUMBERS], {"configurations": ["c.yaml"], "commonLabels": {"app": "x"}}, files={"c.yaml": "commonLabels:\n- {path: metadata/labels}\n"})
case("labels/config-unknown", [NUMBERS], {"configurations": ["c.yaml"], "commonLabels": {"app": "x"}}, files={"c.yaml": "commonLabel:\n- {path: metadata/labels}\n"})
case("labels/config-two", [NUMBERS], {"configurations": ["c.yaml", "d.yaml"], "commonAnnotations": {"app": "x"}}, files={"c.yaml": "commonAnnotations:\n- {path: spec/c, create: true}\n", "d.yaml": "commonAnnotations:\n- {path: spec/d, create: true}\n- {path: spec/c, create: true}\n"})
case("labels/wrong-shape", obj({"metadata": {"name": "x", "labels": ["a"]}}), {"commonLabels": {"app": "x"}})
case("labels/null-value", "apiVersion: v1\nkind: Service\nmetadata: {name: s, labels: {app: null, o: {a: b}}}\n", {"commonLabels": {"app": "x", "o": "p"}})
case("labels/values", SERVICE, "commonLabels:\n  a: \"true\"\n  b: \"1\"\n  c: \"\"\n  d: \"null\"\n  e: 'x: y'\n")
case("labels/plugin-types", NUMBERS, plugin("LabelTransformer", labels={"a": True, "b": 1, "c": 1.5, "d": None}, fieldSpecs=[{"path": "metadata/labels", "create": True}]))
case("labels/plugin-case", NUMBERS, plugin("LabelTransformer", Labels={"a": "b"}, FIELDSPECS=[{"Path": "metadata/labels", "CREATE": True}]))
case("annotations/plugin", NUMBERS, plugin("AnnotationsTransformer", annotations={"a": "b"}, fieldSpecs=[{"path": "metadata/annotations", "create": True}, {"path": "spec/empty"}]))
# Entries that are one node to kustomize.
for name, layer in {"labels": {"labels": [{"pairs": {"app": "z"}}]}, "replacement": {"replacements": [{"sourceValue": "z", "targets": [{"select": {"kind": "Deployment"}, "fieldPaths": ["metadata.labels.app"]}]}]},
                    "selector": {"replacements": [{"sourceValue": "z", "targets": [{"select": {"kind": "Deployment"}, "fieldPaths": ["spec.selector.matchLabels.app"]}]}]},
                    "old": {"replacements": [{"sourceValue": "z", "targets": [{"select": {"kind": "Deployment"}, "fieldPaths": ["metadata.labels.old"]}]}]}}.items():
    case(f"shared/{name}", DEPLOY, {"commonLabels": {"app": "x"}}, layer, {"namePrefix": "p-"})
    case(f"shared/{name}-existing", DEPLOY, {"commonLabels": {"app": "x", "old": "2"}}, layer)
case("shared/annotations", [DEPLOY, CRON], {"commonAnnotations": {"k": "1"}}, plugin("AnnotationsTransformer", annotations={"k": "2"}, fieldSpecs=[{"path": "metadata/annotations"}]))

case("annotations/null", "apiVersion: v1\nkind: Service\nmetadata: {name: s, annotations: null}\n", {"commonAnnotations": {"k": "1"}})
case("annotations/types", "apiVersion: v1\nkind: Service\nmetadata: {name: s, annotations: {a: 1, b: true, c: null}}\n", {"commonAnnotations": {"a": "1"}})

# Values.
for name, target in {
    "plain": {"fieldPath": "spec/text"}, "new": {"fieldPath": "spec/a/b"}, "namespace": {"fieldPath": "metadata/namespace"},
    "item": {"fieldPath": "spec/items/[name=two]/v"}, "new-item": {"fieldPath": "spec/items/[name=four]/v"}, "index": {"fieldPath": "spec/items/1/v"},
    "last": {"fieldPath": "spec/list/-"}, "far": {"fieldPath": "spec/list/9"}, "path": {"fieldPath": "spec/text", "filePathPosition": 1},
    "path-end": {"fieldPath": "spec/text", "filePathPosition": 9}, "map": {"fieldPath": "spec/empty"}, "null": {"fieldPath": "spec/none"},
    "primitive": {"fieldPath": "spec/list/[=b]"}, "no-path": {}, "negative": {"fieldPath": "spec/text", "filePathPosition": -1},
    "escape": {"fieldPath": "spec/a\\/b"}, "selector": {"fieldPath": "spec/v", "selector": {"kind": "Thi.*"}}, "nobody": {"fieldPath": "spec/v", "selector": {"kind": "Thi"}},
    "slash": {"fieldPath": "/spec/text"}, "int": {"fieldPath": "spec/int"}, "labels": {"fieldPath": "spec/v", "selector": {"labelSelector": "a=b"}},
}.items():
    case(f"value/{name}", NUMBERS, plugin("ValueAddTransformer", value="peach", targets=[target]))
case("value/number", NUMBERS, plugin("ValueAddTransformer", value="12", targets=[{"fieldPath": "spec/v"}, {"fieldPath": "spec/quoted"}]))
case("value/no-targets", NUMBERS, plugin("ValueAddTransformer", value="12"))
case("value/many", [NUMBERS, SERVICE, CLUSTERROLE], plugin("ValueAddTransformer", value="v", targets=[{"fieldPath": "metadata/namespace"}, {"fieldPath": "metadata/annotations/x", "selector": {"name": "svc"}}]))

# Replacements: sources.
def put(source, paths=("spec.text",), options=None, select=None, reject=None, value=None):
    target = {"select": select or {"kind": "Thing"}, "fieldPaths": list(paths)}
    if options:
        target["options"] = options
    if reject:
        target["reject"] = reject
    entry = {"targets": [target]}
    if source is not None:
        entry["source"] = source
    if value is not None:
        entry["sourceValue"] = value
    return {"replacements": [entry]}


CM = {"kind": "ConfigMap"}
BOTH = [CONFIG, NUMBERS]
for name, source in {
    "default": CM, "name": {**CM, "name": "cm"}, "wrong-name": {**CM, "name": "c.*"}, "namespace": {**CM, "namespace": "default"}, "wrong-namespace": {**CM, "namespace": "x"},
    "version": {"version": "v1", "kind": "ConfigMap"}, "group": {"group": "apps", "kind": "ConfigMap"}, "many": {}, "field": {**CM, "fieldPath": "data.HOST"}, "missing": {**CM, "fieldPath": "data.NOPE"},
    "part": {**CM, "fieldPath": "data.HOST", "options": {"delimiter": ":", "index": 1}}, "part-far": {**CM, "fieldPath": "data.HOST", "options": {"delimiter": ":", "index": 2}},
    "part-negative": {**CM, "fieldPath": "data.HOST", "options": {"delimiter": ":", "index": -1}}, "part-map": {**CM, "fieldPath": "data", "options": {"delimiter": ":"}},
    "map": {**CM, "fieldPath": "metadata.labels"}, "empty": {**CM, "fieldPath": "data.empty"}, "port": {**CM, "fieldPath": "data.PORT"},
    "int": {"kind": "Thing", "fieldPath": "spec.int"}, "bool": {"kind": "Thing", "fieldPath": "spec.bool"}, "null": {"kind": "Thing", "fieldPath": "spec.none"}, "emptymap": {"kind": "Thing", "fieldPath": "spec.empty"},
    "list": {"kind": "Thing", "fieldPath": "spec.list"}, "item": {"kind": "Thing", "fieldPath": "spec.list.1"}, "last": {"kind": "Thing", "fieldPath": "spec.list.-"},
    "match": {"kind": "Thing", "fieldPath": "spec.items.[name=two].v"}, "no-match": {"kind": "Thing", "fieldPath": "spec.items.[name=t].v"}, "bad-match": {"kind": "Thing", "fieldPath": "spec.items.[name].v"}, "star": {"kind": "Thing", "fieldPath": "spec.items.*.v"},
    "through": {"kind": "Thing", "fieldPath": "spec.text.x"}, "structured": {**CM, "fieldPath": "data.json.a"},
}.items():
    case(f"source/{name}", BOTH, put(source))
case("source/value", BOTH, put(None, value="new"))
case("source/value-number", BOTH, put(None, value="12", paths=["spec.text", "spec.int", "spec.empty", "spec.new"], options={"create": True}))
case("source/value-null", BOTH, put(None, value="null", paths=["spec.text", "spec.empty", "spec.new"], options={"create": True}))
case("source/value-null-join", BOTH, put(None, value="null", paths=["spec.text"], options={"delimiter": "-", "index": 1}))
case("source/both", BOTH, put(CM, value="x"))
case("source/neither", BOTH, put(None))
case("source/no-targets", BOTH, {"replacements": [{"source": CM}]})
case("source/empty-targets", BOTH, {"replacements": [{"source": CM, "targets": []}]})
case("source/no-select", BOTH, {"replacements": [{"source": CM, "targets": [{"fieldPaths": ["spec.text"]}]}]})
case("source/unknown", BOTH, {"replacements": [{"source": CM, "target": []}]})
case("source/old-name", BOTH, {"namePrefix": "p-"}, put({**CM, "name": "cm"}), put({**CM, "name": "p-cm", "fieldPath": "data.HOST"}))
case("source/old-namespace", BOTH, {"namespace": "a"}, put({**CM, "namespace": "default"}), put({**CM, "namespace": "a", "fieldPath": "data.HOST"}))
case("source/file", BOTH, {"replacements": [{"path": "r.yaml"}]}, files={"r.yaml": json.dumps(put(CM)["replacements"][0])})
case("source/file-list", BOTH, {"replacements": [{"path": "r.yaml"}]}, files={"r.yaml": json.dumps(put(CM)["replacements"] + put(None, value="5", paths=["spec.bool"])["replacements"])})
case("source/file-both", BOTH, {"replacements": [{"path": "r.yaml", "source": CM}]}, files={"r.yaml": json.dumps(put(CM)["replacements"])})
case("source/plugin", BOTH, plugin("ReplacementTransformer", **put(CM)))
case("source/chain", BOTH, {"replacements": put({**CM, "fieldPath": "data.HOST"}, ["metadata.name"])["replacements"] + put({"kind": "Thing"}, ["spec.text"])["replacements"]})

# Replacements: targets.
for name, (paths, options) in {
    "default": ([], None), "missing": (["spec.nope"], None), "create": (["spec.nope.a.b"], {"create": True}), "int": (["spec.int"], None), "bool": (["spec.bool"], None),
    "null": (["spec.none"], None), "blank": (["spec.blank"], None), "map": (["spec.empty"], None), "list": (["spec.list"], None), "index": (["spec.list.1"], None), "far": (["spec.list.7"], None),
    "append": (["spec.list.3"], {"create": True}), "append-far": (["spec.list.4"], {"create": True}), "match": (["spec.items.[name=two].v"], None), "regex": (["spec.items.[name=o].v"], None),
    "no-match": (["spec.items.[name=zzz].v"], None), "create-match": (["spec.items.[name=zzz].v"], {"create": True}), "quoted-match": (["spec.items.[name=3].v"], None), "anchored-quoted": (["spec.items.[name=^3$].v"], None),
    "anchored": (["spec.items.[name=^two$].deep.k"], None), "bad-regex": (["spec.items.[name=(].v"], None), "star": (["spec.items.*.v"], None), "star-create": (["spec.items.*.w"], {"create": True}), "star-map": (["spec.*"], None),
    "star-missing": (["spec.items.*.deep.k"], None), "primitive": (["spec.list.[=b]"], None), "create-primitive": (["spec.list.[=d]"], {"create": True}), "primitive-rest": (["spec.list.[=b].x"], None),
    "create-list": (["spec.fresh.0.a"], {"create": True}), "create-selection": (["spec.fresh.[name=x].a"], {"create": True}), "create-star": (["spec.fresh.*.a"], {"create": True}),
    "escaped": (["metadata.annotations.a\\.b/c"], {"create": True}), "brackets": (["metadata.annotations.[a.b/c]"], {"create": True}), "through": (["spec.text.x"], None), "through-create": (["spec.text.x"], {"create": True}),
    "null-create": (["spec.none.x"], {"create": True}), "null-below": (["spec.none.x"], None), "blank-create": (["spec.blank.x"], {"create": True}), "two": (["spec.text", "spec.quoted"], None), "empty-part": (["spec..x"], {"create": True}),
    "replace": (["spec.text"], {"delimiter": "b"}), "replace-1": (["spec.text"], {"delimiter": "b", "index": 1}), "before": (["spec.text"], {"delimiter": "-", "index": -1}), "behind": (["spec.text"], {"delimiter": "-", "index": 99}),
    "delimiter-map": (["spec.empty"], {"delimiter": "-"}), "delimiter-int": (["spec.int"], {"delimiter": "-", "index": 5}), "negative": (["spec.list.-1"], None), "minus": (["spec.list.-"], None),
    "null-list": (["spec.none.[name=x].v"], {"create": True}), "null-index": (["spec.none.0"], {"create": True}), "null-star": (["spec.none.*"], None), "list-key": (["spec.list.name"], None), "map-index": (["spec.0"], None),
}.items():
    layer = put({**CM, "fieldPath": "data.PORT"}, paths, options)
    if not paths:
        del layer["replacements"][0]["targets"][0]["fieldPaths"]
    case(f"target/{name}", BOTH, layer)
for name, path in {"scalar": "spec.text", "map": "spec.empty", "list": "spec.list", "new": "spec.new", "item": "spec.items.0", "int": "spec.int"}.items():
    case(f"target/map-into-{name}", BOTH, put({**CM, "fieldPath": "metadata.labels"}, [path], {"create": True}))
    case(f"target/list-into-{name}", BOTH, put({"kind": "Thing", "fieldPath": "spec.items"}, [path], {"create": True}))
for name, source in {"int": "spec.int", "float": "spec.float", "bool": "spec.bool", "quoted": "spec.quoted"}.items():
    case(f"target/type-{name}", BOTH, put({"kind": "Thing", "fieldPath": source}, ["spec.text", "spec.empty", "spec.new"], {"create": True}))
for name, (select, reject) in {
    "kind": ({"kind": "ConfigMap"}, None), "regex": ({"kind": "Config.*|Thing"}, None), "part": ({"kind": "Config"}, None), "name": ({"name": "cm"}, None), "name-regex": ({"name": "c.*"}, None), "group": ({"group": "x.io"}, None), "version": ({"version": "v1"}, None),
    "all": ({}, None), "namespace": ({"namespace": "default"}, None), "label": ({"labelSelector": "app=a"}, None), "label-in": ({"labelSelector": "app in (a, b), tier!=front"}, None), "no-label": ({"labelSelector": "!app"}, None), "annotation": ({"annotationSelector": "note=x"}, None),
    "bad-label": ({"labelSelector": "="}, None), "bad-regex": ({"name": "("}, None), "reject-name": ({}, [{"name": "cm"}]), "reject-kind": ({}, [{"kind": "Thing"}, {"kind": "Nope"}]), "reject-label": ({}, [{"labelSelector": "app=a"}]),
    "reject-both": ({}, [{"name": "nope", "labelSelector": "app=a"}]), "reject-empty": ({}, [{}]), "unknown": ({"kinds": "x"}, None), "nobody": ({"kind": "Nope"}, None),
}.items():
    case(f"select/{name}", BOTH, put(None, ["metadata.annotations.new"], {"create": True}, select, reject, value="v"))
case("select/old-name", BOTH, {"namePrefix": "p-", "namespace": "n"}, put(None, ["metadata.annotations.a"], {"create": True}, {"name": "cm"}, value="v"), put(None, ["metadata.annotations.b"], {"create": True}, {"name": "p-cm", "namespace": "n"}, value="v"), put(None, ["metadata.annotations.c"], {"create": True}, {"namespace": "default"}, value="v"))
case("select/reject-old-name", BOTH, {"namePrefix": "p-"}, put(None, ["metadata.annotations.a"], {"create": True}, {}, [{"name": "cm"}], value="v"))
# Documents in scalars.
for name, (path, options) in {
    "json": ("data.json.a.b", None), "json-new": ("data.json.a.x.y", {"create": True}), "json-index": ("data.json.a.c.1", None), "json-missing": ("data.json.a.x", None), "pretty": ("data.pretty.a.b", None), "yaml": ("data.yaml.a.b", None),
    "yaml-match": ("data.yaml.a.l.[name=n].v", None), "yaml-new": ("data.yaml.a.l.[name=m].v", {"create": True}), "plain": ("data.plain.x", None), "plain-create": ("data.plain.x", {"create": True}), "empty": ("data.empty.x", {"create": True}), "delimiter": ("data.yaml.a.b", {"delimiter": "w", "index": 1}),
    "star": ("data.json.a.c.*", None),
}.items():
    case(f"structured/{name}", BOTH, put({"kind": "Thing", "fieldPath": "spec.text"}, [path], options, CM))
    case(f"structured/{name}-number", BOTH, put({"kind": "Thing", "fieldPath": "spec.int"}, [path], options, CM))
case("structured/map", BOTH, put({"kind": "Thing", "fieldPath": "spec.items"}, ["data.json.a.b", "data.yaml.new", "data.pretty.e"], {"create": True}, CM))

# Variables.
def var(name, path=None, /, **ref):
    entry = {"name": name, "objref": ref}
    if path:
        entry["fieldref"] = {"fieldPath": path}
    return entry


CMREF = {"apiVersion": "v1", "kind": "ConfigMap", "name": "cm"}
TREF = {"apiVersion": "x.io/v1", "kind": "Thing", "name": "thing"}
case("vars/text", [POD, CONFIG, NUMBERS], {"vars": [var("HOST", "data.HOST", **CMREF), var("PORT", "spec.int", **TREF), var("BOOL", "spec.bool", **TREF), var("TAG", **CMREF)]})
case("vars/types", [POD, CONFIG, NUMBERS], {"vars": [var("HOST", "spec.float", **TREF), var("PORT", "spec.float", **TREF), var("BOOL", "data.PORT", **CMREF)]})
case("vars/index", [POD, CONFIG, NUMBERS], {"vars": [var("HOST", "spec.list[1]", **TREF), var("PORT", "spec.items[0].v", **TREF)]})
case("vars/map", [POD, NUMBERS], {"vars": [var("HOST", "spec.items", **TREF)]})
case("vars/null", [POD, NUMBERS], {"vars": [var("HOST", "spec.none", **TREF), var("PORT", "spec.none", **TREF)]})
case("vars/missing", [POD, NUMBERS], {"vars": [var("HOST", "spec.nope", **TREF)]})
case("vars/twice", [POD, NUMBERS], {"vars": [var("HOST", "spec.int", **TREF), var("HOST", "spec.int", **TREF)]})
case("vars/unused", [POD, NUMBERS], {"vars": [var("UNUSED", "spec.int", **TREF)]})
case("vars/renamed", [POD, NUMBERS], {"namePrefix": "p-", "vars": [var("HOST", **TREF)]}, {"namePrefix": "q-"})
case("vars/upper", [POD, NUMBERS], {"namePrefix": "p-"}, {"vars": [var("HOST", **TREF)]})
case("vars/config", [NUMBERS, obj({"spec": {"a": "x-$(V)", "m": {"k": "$(V)", "n": 5}, "l": ["$(V)", "y"], "q": 'it is "$(V)"'}}, "Other", "o")], {"configurations": ["c.yaml"], "vars": [var("V", "spec.int", **TREF)]}, files={"c.yaml": "varReference:\n- {path: spec/a, kind: Other}\n- {path: spec/m}\n- {path: spec/l, kind: Other}\n- {path: spec/q}\n"})
case("vars/config-list", [NUMBERS, obj({"spec": {"l": ["$(V)", 5]}}, "Other", "o")], {"configurations": ["c.yaml"], "vars": [var("V", "spec.int", **TREF)]}, files={"c.yaml": "varReference:\n- {path: spec/l, kind: Other}\n"})
case("vars/none", [POD, NUMBERS], {"namePrefix": "p-"})
case("vars/no-object", [POD, NUMBERS], {"vars": [var("HOST", "spec.int", **{**TREF, "name": "nope"})]})
case("vars/gvk", [POD, NUMBERS], {"vars": [var("HOST", "spec.int", group="x.io", version="v1", kind="Thing", name="thing")]})
case("vars/namespace", [POD, NUMBERS], {"namespace": "n", "vars": [var("HOST", "spec.int", **{**TREF, "namespace": "n"}), var("PORT", "spec.int", **{**TREF, "namespace": "default"})]})
case("vars/wrong-namespace", [POD, NUMBERS], {"vars": [var("HOST", "spec.int", **{**TREF, "namespace": "n"})]})

# All together.
case("all/one-layer", [DEPLOY, SERVICE, CONFIG], {"namespace": "n", "namePrefix": "p-", "nameSuffix": "-s", "labels": [{"pairs": {"a": "b"}, "includeSelectors": True}, {"pairs": {"c": "d"}}], "commonAnnotations": {"e": "f"}, "replicas": [{"name": "web", "count": 4}], "images": [{"name": "nginx", "newTag": "2"}], **put({**CM, "name": "cm"}, ["metadata.annotations.from"], {"create": True}, {"kind": "Service"})})
case("all/layers", [DEPLOY, SERVICE, CONFIG], {"namePrefix": "p-", "commonLabels": {"a": "1"}}, {"namespace": "n", "labels": [{"pairs": {"a": "2"}}]}, {"nameSuffix": "-s", "commonLabels": {"a": "3"}, "images": [{"name": "redis", "digest": "sha256:00"}]})


def run(kustomize, entry):
    with tempfile.TemporaryDirectory() as root:
        for at, layer in enumerate(entry["layers"]):
            home = os.path.join(root, f"l{at}")
            os.mkdir(home)
            below = "objects.yaml" if at == 0 else f"../l{at - 1}"
            if layer.startswith("{"):
                layer = json.dumps({"resources": [below], **json.loads(layer)})
            else:
                layer = f"resources:\n- {below}\n{layer}"
            files = {"kustomization.yaml": layer, **entry["files"]}
            if at == 0:
                files["objects.yaml"] = "---\n".join(entry["objects"])
            for name, text in files.items():
                with open(os.path.join(home, name), "w") as file:
                    file.write(text)
        done = subprocess.run([kustomize, "build", home], capture_output=True, encoding="utf-8")
        result = {"expected": done.stdout} if done.returncode == 0 else {"error": done.stderr.splitlines()[-1].replace(root, "")[:200]}
        return {**entry, **result}


def main():
    kustomize, out = sys.argv[1:]
    names = [entry["id"] for entry in CASES]
    assert len(set(names)) == len(names), "two cases of one name"
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda entry: run(kustomize, entry), CASES))
    names = {text: name for name, text in {**MANY, "pod": POD}.items()}
    plain = {name: run(kustomize, {"objects": [text], "layers": ["{}"], "files": {}})["expected"] for text, name in names.items()}
    by_output = {text: "=" + name for name, text in plain.items()}
    with open(out, "w") as file:
        file.write(json.dumps({"texts": {name: text for text, name in names.items()}, "plain": plain}, sort_keys=True) + "\n")
        for result in results:
            result["objects"] = [names.get(text, text) for text in result["objects"]]
            if "expected" in result:
                documents = result["expected"].split("---\n")
                result["expected"] = [by_output.get(text, text) for text in documents]
            file.write(json.dumps({key: value for key, value in result.items() if value or key != "files"}, sort_keys=True) + "\n")
    print(len(results), "cases,", sum("error" in result for result in results), "errors")


main()
