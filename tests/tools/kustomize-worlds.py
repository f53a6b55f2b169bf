#!/usr/bin/env python3
"""Makes kustomizations by chance and sees what the real kustomize builds of them.

usage: kustomize-worlds.py record KUSTOMIZE OUT [SEED [NUMBER]]
       kustomize-worlds.py compare KUSTOMIZE BUMPWRIGHT [SEED [NUMBER]]

`record` writes fixtures/kustomize/worlds.jsonl: a line for each world with its `files` and what the build of `top`
prints (`out`), or the last line of its `error`. `compare` prints the seeds of worlds that two programs build in
different ways. A world depends on its seed alone. Names come from a small pool, so that objects refer to each other;
fields are picked so that about half of the worlds can be built.
"""
import concurrent.futures, json, os, random, subprocess, sys, tempfile
import yaml

NAMES = ["a", "b", "app", "cfg", "web-1"]
SPACES = ["ns1", "prod", "team"]
IMAGES = ["nginx", "nginx:1.19", "reg.io:5000/team/app:v1", "reg.io/x@sha256:" + "a" * 64, "busybox:1.2@sha256:" + "b" * 64,
          "redis:$(V)", "docker.io/library/nginx:1"]
TEXTS = ["v", "1", "a: b\nc: d\n", "$(V)", "trailing \nx", "'q'", "é", "# no", "http://a.b/c?d=e", "host:80/path", "line\n\n\n",
         "  lead", "tab\there", "yes", "null", "0x10", "1e3", "2020-01-01", "", "- a", "{a}", "*x", "!x", "a #b", "a: b", "x" * 100,
         "w " * 60]
# Ways through an object for replacements, most of which fit only some.
WAYS = ["metadata.name", "metadata.namespace", "metadata.annotations.note", "metadata.labels.app", "data.k", "spec.text",
        "spec.replicas", "spec.template.spec.containers.[name=main].image", "spec.template.spec.containers.*.image",
        "spec.list.[name=x].v", "spec.template.spec.containers.[name=main].env.[name=A].value", "data.file\\.txt"]
FRESH = ["metadata.annotations.new", "metadata.labels.app", "spec.new.deep", "data.newkey",
         "spec.template.spec.containers.[name=fresh].image", "metadata.annotations.a\\.b/c"]
CRDS = {"x.Bee": {"Schema": {"properties": {"spec": {"$ref": "x.BeeSpec"}, "apiVersion": {"type": "string"},
                                            "kind": {"type": "string"}, "metadata": {}},
                             "x-kubernetes-group-version-kind": [{"group": "my.io", "version": "v1", "kind": "Bee"}]}},
        "x.BeeSpec": {"Schema": {"properties": {"ref": {"x-kubernetes-object-ref-api-version": "v1",
                                                        "x-kubernetes-object-ref-kind": "ConfigMap", "$ref": "x.Ref"}}}},
        "x.Ref": {"Schema": {"properties": {"name": {"type": "string"}}}}}
LISTED = {"properties": {"list": {"type": "array", "x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge",
                                  "items": {"type": "object", "properties": {"name": {"type": "string"}}}}}}
OPENAPI = {"definitions": {"io.my.v1.Bee": {"properties": {"spec": LISTED},
           "x-kubernetes-group-version-kind": [{"group": "my.io", "kind": "Bee", "version": "v1"}]}}}
CONFIGURATIONS = [
    {"images": [{"path": "spec/image", "kind": "Bee"}]},
    {"nameReference": [{"kind": "Bee", "fieldSpecs": [{"path": "spec/beeRef/name", "kind": "Honey"}]},
                       {"kind": "ConfigMap", "version": "v1", "fieldSpecs": [{"path": "spec/ref/name", "kind": "Bee"}]}]},
    {"varReference": [{"path": "spec/text", "kind": "Bee"}, {"path": "data", "kind": "ConfigMap"}]},
    {"commonLabels": [{"path": "spec/lbl", "create": True, "kind": "Bee"}]},
    {"namePrefix": [{"path": "metadata/name", "kind": "Bee"}]},
    {"replicas": [{"path": "spec/replicas", "kind": "Bee", "create": True}]},
    {"commonAnnotations": [{"path": "spec/ann", "create": True, "kind": "Honey"}]},
    {"namespace": [{"path": "spec/ns", "kind": "Bee", "create": True}]},
]


def paths(node, way=""):
    """All ways into an object, as replacements spell them."""
    if isinstance(node, dict):
        for key, value in node.items():
            below = (way + "." if way else "") + key.replace(".", "\\.")
            yield below
            yield from paths(value, below)
    elif isinstance(node, list):
        for at, item in enumerate(node):
            steps = [str(at), "*"]
            if isinstance(item, dict) and isinstance(item.get("name"), str):
                steps.append(f"[name={item['name']}]")
            for step in steps:
                yield f"{way}.{step}"
                yield from paths(item, f"{way}.{step}")


def leaves(node):
    all_paths = list(paths(node))
    return [p for p in all_paths if not any(q.startswith(p + ".") for q in all_paths)] or ["metadata.name"]


class Objects(random.Random):
    """Objects made by chance."""

    def some(self, chance):
        return self.random() < chance

    def labels(self):
        keys = self.sample(["app", "tier", "app.kubernetes.io/name", "env"], self.randint(1, 3))
        return {key: self.choice(["x", "z", "1", "v-2", "true"]) for key in keys}

    def meta(self, name=None, spaced=True):
        meta = {"name": name or self.choice(NAMES)}
        if spaced and self.some(0.5):
            meta["namespace"] = self.choice(["default"] + SPACES)
        if self.some(0.4):
            meta["labels"] = self.labels()
        if self.some(0.3):
            key = self.choice(["note", "a/b", "config.kubernetes.io/local-config", "owner"])
            meta["annotations"] = {key: self.choice(["x", "y: z", "true", "multi\nline", '{"a": 1}', "$(V)", "false"])}
        return meta

    def reference(self, *fields):
        return {self.choice(fields): {"name": self.choice(NAMES)}}

    def container(self, name):
        made = {"name": name, "image": self.choice(IMAGES)}
        if self.some(0.4):
            made["env"] = [self.choice([
                {"name": "A", "value": self.choice(["1", "$(V)", "$(W)-x", "$$(V)", ""])},
                {"name": "B", "valueFrom": {"configMapKeyRef": {"name": self.choice(NAMES), "key": "k"}}},
                {"name": "C", "valueFrom": {"secretKeyRef": {"name": self.choice(NAMES), "key": "k"}}},
            ]) for _ in range(self.randint(1, 3))]
        if self.some(0.3):
            made["envFrom"] = [self.reference("configMapRef", "secretRef")]
        if self.some(0.3):
            made["ports"] = [{"containerPort": 80 + at, **({"name": f"p{at}"} if self.some(0.5) else {}),
                              **({"protocol": self.choice(["TCP", "UDP"])} if self.some(0.5) else {})}
                             for at in range(self.randint(1, 2))]
        if self.some(0.3):
            made["args"] = self.choice([["--x", "$(V)"], ["a"], ["-c", 'echo "hi"; sleep 1'], ["$(V)$(W)"]])
        if self.some(0.2):
            made["volumeMounts"] = [{"name": "v0", "mountPath": f"/m{at}"} for at in range(2)]
        if self.some(0.2):
            made["resources"] = {"limits": {"cpu": self.choice([1, "1", "100m", 0.5]), "memory": "1Gi"}}
        return made

    def pod_spec(self):
        spec = {"containers": [self.container(name) for name in ["main", "side"][:self.randint(1, 2)]]}
        if self.some(0.2):
            spec["initContainers"] = [self.container("first")]
        if self.some(0.3):
            spec["serviceAccountName"] = self.choice(NAMES)
        if self.some(0.3):
            name = self.choice(NAMES)
            kinds = [{"configMap": {"name": name}}, {"secret": {"secretName": name}}, {"emptyDir": {}},
                     {"persistentVolumeClaim": {"claimName": name}}, {"projected": {"sources": [{"configMap": {"name": name}}]}}]
            spec["volumes"] = [{"name": f"v{at}", **self.choice(kinds)} for at in range(self.randint(1, 2))]
        if self.some(0.1):
            spec["imagePullSecrets"] = [{"name": self.choice(NAMES)}]
        if self.some(0.1):
            spec["topologySpreadConstraints"] = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                                                  "labelSelector": {"matchLabels": self.labels()}}]
        if self.some(0.1):
            term = {"topologyKey": "h", "labelSelector": {"matchLabels": self.labels()}}
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        return spec

    def template(self):
        made = {"spec": self.pod_spec()}
        if self.some(0.7):
            made["metadata"] = {"labels": self.labels()} if self.some(0.8) else {"annotations": {"x": "y"}}
        return made

    def workload(self):
        kind = self.choice(["Deployment", "StatefulSet", "DaemonSet"])
        spec = {"template": self.template()}
        if self.some(0.5):
            spec["replicas"] = self.choice([1, 3, 0])
        if self.some(0.7):
            labels = spec["template"].get("metadata", {}).get("labels")
            spec["selector"] = {"matchLabels": labels if labels and self.some(0.4) else self.labels()}
        if kind == "StatefulSet" and self.some(0.5):
            spec["serviceName"] = self.choice(NAMES)
        if kind == "StatefulSet" and self.some(0.4):
            claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": self.choice(NAMES)}
            spec["volumeClaimTemplates"] = [{"metadata": {"name": "d"}, "spec": claim}]
        version = self.choice(["apps/v1", "apps/v1", "apps/v1", "extensions/v1beta1"])
        return {"apiVersion": version, "kind": kind, "metadata": self.meta(), "spec": spec}

    def config_map(self):
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": self.meta()}
        if self.some(0.8):
            keys = self.sample(["k", "k2", "file.txt", "A_B", "no", "10", "9"], self.randint(1, 4))
            made["data"] = {key: self.choice(TEXTS) for key in keys}
        if self.some(0.1):
            made["immutable"] = True
        return made

    def secret(self):
        data = {"stringData": {"k": "v"}} if self.some(0.6) else {"data": {"k": "dg=="}}
        kind = {"type": self.choice(["Opaque", "kubernetes.io/tls"])} if self.some(0.5) else {}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": self.meta(), **kind, **data}

    def service(self):
        port = {"port": 80, **({"name": "http"} if self.some(0.4) else {})}
        spec = {"ports": [port], **({"selector": self.labels()} if self.some(0.6) else {})}
        return {"apiVersion": "v1", "kind": "Service", "metadata": self.meta(), "spec": spec}

    def role(self):
        kind = self.choice(["Role", "ClusterRole"])
        names = {"resourceNames": [self.choice(NAMES)]} if self.some(0.5) else {}
        rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], **names}
        return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": self.meta(spaced=kind == "Role"),
                "rules": [rule]}

    def binding(self):
        kind = self.choice(["RoleBinding", "ClusterRoleBinding"])
        subject = {"kind": self.choice(["ServiceAccount", "ServiceAccount", "User"]), "name": self.choice(NAMES + ["default"])}
        if subject["kind"] == "ServiceAccount" and self.some(0.7):
            subject["namespace"] = self.choice(["default", "other"] + SPACES)
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": self.choice(["Role", "ClusterRole"]), "name": self.choice(NAMES)}
        return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": self.meta(spaced=kind == "RoleBinding"),
                "roleRef": role, "subjects": [subject]}

    def ingress(self):
        name, new = self.choice(NAMES), self.some(0.7)
        backend = {"service": {"name": name, "port": {"number": 80}}} if new else {"serviceName": name, "servicePort": 80}
        path = {"path": "/", "pathType": "Prefix", "backend": backend}
        spec = {"rules": [{"host": self.choice(["a.b", "$(V).x"]), "http": {"paths": [path]}}]}
        if self.some(0.3):
            spec["tls"] = [{"hosts": ["a.b"], "secretName": self.choice(NAMES)}]
        version = "networking.k8s.io/v1" if new else "networking.k8s.io/v1beta1"
        return {"apiVersion": version, "kind": "Ingress", "metadata": self.meta(), "spec": spec}

    def cron_job(self):
        job = {"spec": {"template": self.template()}, **({"metadata": {"labels": self.labels()}} if self.some(0.3) else {})}
        spec = {"schedule": "*/5 * * * *", "jobTemplate": job}
        return {"apiVersion": self.choice(["batch/v1", "batch/v1beta1"]), "kind": "CronJob", "metadata": self.meta(), "spec": spec}

    def custom(self):
        spec = {"list": [{"name": "x", "v": self.choice([1, 1.5, True, None, "s"])}, {"name": "y", "v": 2}],
                "ref": {"name": self.choice(NAMES)}, "beeRef": {"name": self.choice(NAMES)}, "image": self.choice(IMAGES),
                "replicas": 2, "text": self.choice(["$(V)", "plain", "a/b/c"])}
        return {"apiVersion": "my.io/v1", "kind": self.choice(["Bee", "Honey"]), "metadata": self.meta(), "spec": spec}

    def small(self):
        """Kinds with little in them but names of others."""
        name, space = self.choice(NAMES), self.choice(SPACES)
        service = {"service": {"name": name, "namespace": space}}
        kind = self.choice(["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"])
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
        claim = {"accessModes": ["ReadWriteOnce"], "volumeName": name, "storageClassName": self.choice(NAMES)}
        conversion = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": service}}
        crd = {"group": "my.io", "names": {"kind": "Bee", "plural": "bees"}, "scope": "Namespaced", "conversion": conversion,
               "versions": []}
        return self.choice([
            lambda: {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": self.meta()},
            lambda: {"apiVersion": "v1", "kind": "Namespace", "metadata": self.meta(space, spaced=False)},
            lambda: {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": self.meta(spaced=False), "provisioner": "x"},
            lambda: {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": self.meta(spaced=False),
                     "spec": {"storageClassName": name, "claimRef": {"name": self.choice(NAMES), "namespace": "default"}}},
            lambda: {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": self.meta(), "spec": claim},
            lambda: {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": self.meta(),
                     "spec": {"maxReplicas": 3, "scaleTargetRef": target}},
            lambda: {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": self.meta(),
                     "spec": {"podSelector": {"matchLabels": self.labels()},
                              "ingress": [{"from": [{"podSelector": {"matchLabels": self.labels()}}, {"namespaceSelector": {}}]}]}},
            lambda: {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": self.meta(),
                     "spec": {"minAvailable": 1, "selector": {"matchLabels": self.labels()}}},
            lambda: {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": self.meta(spaced=False),
                     "webhooks": [{"name": "w.x.io", "clientConfig": service}]},
            lambda: {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                     "metadata": {"name": "bees.my.io"}, "spec": crd},
            lambda: {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.x.io"},
                     "spec": {"group": "x.io", "version": "v1", **service}},
        ])()

    def object(self):
        job = lambda: {"apiVersion": "batch/v1", "kind": "Job", "metadata": self.meta(), "spec": {"template": self.template()}}
        pod = lambda: {"apiVersion": "v1", "kind": "Pod", "metadata": self.meta(), "spec": self.pod_spec()}
        kinds = [(self.workload, 6), (self.service, 3), (self.config_map, 4), (self.secret, 2), (self.role, 2), (self.binding, 2),
                 (self.ingress, 1), (self.cron_job, 2), (self.custom, 3), (self.small, 9), (job, 1), (pod, 1)]
        return self.choices([make for make, _ in kinds], [weight for _, weight in kinds])[0]()


class World(Objects):
    """Some kustomizations, one of them `top`."""

    def __init__(self, seed):
        super().__init__(seed)
        self.files, self.objects, self.generated = {}, [], set()
        self.make()

    def make(self):
        shape = self.choice(["one", "one", "two", "two", "two", "wide", "deep", "part", "diamond"])
        if shape == "one":
            return self.layer("top")
        self.layer("base")
        below = ["../base"]
        if shape == "wide":
            self.layer("other")
            below.append("../other")
        elif shape == "deep":
            self.layer("mid", below)
            below = ["../mid"]
        elif shape == "diamond":
            self.layer("left", below)
            self.layer("right", below)
            below = ["../left", "../right"]
        parts = ["../part"] if shape == "part" else []
        for _ in parts:
            self.layer("part", is_part=True)
        self.layer("top", below, parts)

    def layer(self, folder, below=(), parts=(), is_part=False):
        self.folder = folder
        number = self.choice([0, 0, 1]) if is_part else self.choice([0, 0, 1, 2]) if below else self.randint(1, 4)
        resources = list(below)
        for at in range(number):
            made = self.object()
            identity = (made["kind"], made["metadata"]["name"])
            if any((known["kind"], known["metadata"]["name"]) == identity for known in self.objects) and not self.some(0.02):
                continue
            self.objects.append(made)
            resources.append(self.put(f"r{at}.yaml", self.text(made)))
        fields = self.fields(is_part)
        if resources:
            fields["resources"] = self.sample(resources, len(resources)) if self.some(0.1) else resources
        if parts:
            fields["components"] = list(parts)
        items = list(fields.items())
        if self.some(0.5):
            self.shuffle(items)
        self.put("kustomization.yaml", yaml.safe_dump(dict(items), sort_keys=False, allow_unicode=True))

    def put(self, name, text):
        self.files[f"{self.folder}/{name}"] = text
        return name

    def text(self, made):
        """An object in one of the ways in which people write YAML."""
        if self.some(0.05):
            return json.dumps(made, indent=self.choice([None, 2]))
        style = {"default_style": self.choice([None] * 8 + ['"', "'"]), "indent": self.choice([2, 2, 4]),
                 "default_flow_style": self.choice([False] * 9 + [None]), "width": self.choice([80, 1000])}
        text = yaml.safe_dump(made, sort_keys=self.some(0.3), allow_unicode=True, **style)
        if self.some(0.2):
            text = "# A comment.\n---\n" + text
        return text

    def fields(self, is_part):
        fields = {}
        if is_part:
            fields = {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component", "commonAnnotations": {"part": "1"}}
        dense = self.choice([0.25, 0.4, 0.6, 1])
        known = [made for made in self.objects if "name" in made["metadata"]]
        workloads = [made["metadata"]["name"] for made in known if made["kind"] in ("Deployment", "StatefulSet")]
        makers = [
            ("namePrefix", 0.25, lambda: self.choice(["p-", "dev-", "x."])),
            ("nameSuffix", 0.15, lambda: self.choice(["-s", "-v2"])),
            ("namespace", 0.25, lambda: self.choice(SPACES)),
            ("commonLabels", 0.12, self.labels),
            ("commonAnnotations", 0.12, lambda: {"note": self.choice(["c", "$(V)"]), "x.y/z": "1"}),
            ("labels", 0.2, lambda: [self.label()]),
            ("images", 0.25, lambda: [self.image() for _ in range(self.randint(1, 2))]),
            ("replicas", 0.3 if workloads else 0, lambda: [{"name": self.choice(workloads), "count": self.choice([5, 0])}]),
            ("configMapGenerator", 0.2, lambda: [self.generator(False) for _ in range(self.choice([1, 1, 2]))]),
            ("secretGenerator", 0.2, lambda: [self.generator(True)]),
            ("generatorOptions", 0.12, self.options),
            ("patches", 0.3 if known else 0, lambda: [self.patch(known) for _ in range(self.randint(1, 2))]),
            ("patchesStrategicMerge", 0.1 if known else 0, lambda: [yaml.safe_dump(self.strategic(known))]),
            ("replacements", 0.25 if known else 0, lambda: [self.replacement(known) for _ in range(self.randint(1, 2))]),
            ("vars", 0.1 if known else 0, lambda: [self.var(name, known) for name in self.sample(["V", "W"], self.randint(1, 2))]),
            ("sortOptions", 0.12, self.sort_options),
            ("buildMetadata", 0.12, lambda: self.sample(["originAnnotations", "transformerAnnotations", "managedByLabel"],
                                                        self.randint(1, 3))),
            ("configurations", 0.1, lambda: [self.put("conf.yaml", yaml.safe_dump(self.choice(CONFIGURATIONS)))]),
            ("transformers", 0.12, lambda: [self.transformer(known)]),
            ("crds", 0.05, lambda: [self.put("crd.json", json.dumps(CRDS))]),
            ("openapi", 0.05, lambda: {"path": self.put("schema.json", json.dumps(OPENAPI))}),
        ]
        for name, chance, make in makers:
            if self.some(chance * dense):
                fields[name] = make()
        return fields

    def label(self):
        made = {"pairs": self.labels()}
        for field, chance in (("includeSelectors", 0.5), ("includeTemplates", 0.4), ("includeVolumeClaimTemplates", 0.1)):
            if self.some(chance):
                made[field] = self.some(0.6)
        if self.some(0.25):
            path = self.choice(["spec/lbl", "spec/template/metadata/labels", "metadata/labels"])
            made["fields"] = [{"path": path, "create": self.some(0.5), **({"kind": "Bee"} if self.some(0.5) else {})}]
        return made

    def image(self):
        name = self.choice(["nginx", "reg.io:5000/team/app", "reg.io/x", "busybox", "docker.io/library/nginx", "redis", "n.*"])
        change = self.choice([{"newTag": "9"}, {"newTag": "v2.0"}, {"digest": "sha256:" + "c" * 64}, {}, {"tagSuffix": "-x"},
                              {"newTag": "1", "digest": "sha256:" + "d" * 64}])
        return {"name": name, **({"newName": self.choice(["mirror/x", "y:5000/z"])} if self.some(0.5) else {}), **change}

    def options(self):
        made = {}
        for field, value in (("disableNameSuffixHash", True), ("labels", self.labels()), ("annotations", {"go": "1"}),
                             ("immutable", True)):
            if self.some(0.4):
                made[field] = value
        return made or {"disableNameSuffixHash": False}

    def generator(self, is_secret):
        made = {"name": self.choice(["cfg", "gen", "a"])}
        literals = ["k=v", "k2=1", "x=$(V)", 'n="quoted"', "e=", "m=a=b", "s='s q'", "u=é", "multi=a\\nb", "L=line\nline2", "t=true"]
        if self.some(0.7):
            made["literals"] = [self.choice(literals)]
        if self.some(0.4):
            text = self.choice(["hello\n", "a: b\n", "", "no newline", "tab\t\nx\n", "crlf\r\nx\r\n"])
            made["files"] = [self.choice(["", "key="]) + self.put("f.txt", text)]
        if self.some(0.25):
            text = self.choice(["A=1\nB=two words\n#c\n\nC=\n", "X=$(V)\n", "A=\"q\"\nB='s'\n", "  A=1\nB = 2\n", "\ufeffA=1\n"])
            made["envs"] = [self.put("e.env", text)]
        if (is_secret, made["name"]) in self.generated and self.some(0.9):
            made["behavior"] = self.choice(["merge", "replace"])
        self.generated.add((is_secret, made["name"]))
        if is_secret and self.some(0.3):
            made["type"] = "kubernetes.io/tls"
        if self.some(0.3):
            made["options"] = self.options()
        return made

    def target(self, made):
        target = {"kind": made["kind"]}
        if self.some(0.7):
            target["name"] = made["metadata"]["name"]
        return target

    def selector(self):
        made = {"kind": self.choice(["Deployment", "StatefulSet", "ConfigMap", "Service", "Bee", ".*Set", "Secret", "CronJob"])}
        more = [("name", 0.4, NAMES + ["a.*", ".*", "we"]), ("namespace", 0.15, ["default"] + SPACES),
                ("labelSelector", 0.15, ["app=x", "env in (x,y)", "tier!=x", "app", "!app"]),
                ("annotationSelector", 0.1, ["note=x", "owner"]), ("version", 0.1, ["v1", "v1beta1"])]
        for field, chance, values in more:
            if self.some(chance):
                made[field] = self.choice(values)
        return made

    def patch(self, known):
        entry = {}
        if self.some(0.5):
            patch = self.strategic(known)
            if self.some(0.4):
                entry["target"] = self.selector()
            text = json.dumps(patch) if self.some(0.2) else yaml.safe_dump(patch, sort_keys=False)
        else:
            made = self.choice(known)
            entry["target"] = self.target(made)
            text = yaml.safe_dump(self.operations(made), sort_keys=False)
        if self.some(0.4):
            entry["path"] = self.put(f"patch{self.randint(0, 9)}.yaml", text)
        else:
            entry["patch"] = text
        if self.some(0.1):
            entry["options"] = {field: True for field in self.sample(["allowNameChange", "allowKindChange"], self.randint(1, 2))}
        return entry

    def strategic(self, known):
        made = self.choice(known)
        patch = {"apiVersion": made["apiVersion"], "kind": made["kind"],
                 "metadata": {key: made["metadata"][key] for key in ("name", "namespace") if key in made["metadata"]}}
        way = self.randint(0, 9)
        if way == 0:
            patch["$patch"] = self.choice(["delete", "replace", "merge"])
        elif way == 1:
            patch["metadata"]["labels"] = {"app": self.choice(["patched", None])}
        elif way == 2:
            patch["metadata"]["annotations"] = {"note": self.choice(["patched", None])}
        elif made["kind"] == "ConfigMap":
            patch["data"] = {"k": self.choice(["patched", None]), "new": "1"}
        elif made["kind"] in ("Bee", "Honey"):
            patch["spec"] = {"list": self.choice([[{"name": "x", "v": 9}], None, []]), "text": "patched"}
        elif made["kind"] == "Service":
            patch["spec"] = {"ports": [{"port": self.choice([80, 81]), "name": "n"}]}
        elif "template" in made.get("spec", {}):
            patch["spec"] = self.template_patch()
        return patch

    def template_patch(self):
        changes = [{"image": "patched:1"}, {"$patch": "delete"}, {"env": [{"name": "A", "value": "p"}, {"name": "Z", "value": "z"}]},
                   {"args": ["p"]}, {"args": None}, {"ports": [{"containerPort": 80, "name": "pp"}]},
                   {"env": [{"$patch": "replace"}, {"name": "Q", "value": "q"}]}, {"resources": {"limits": {"cpu": "2"}}},
                   {"volumeMounts": [{"mountPath": "/m0", "name": "vx"}]}, {"env": [{"name": "A", "$patch": "delete"}]}]
        container = {"name": self.choice(["main", "side", "more"]), **self.choice(changes)}
        spec = {"template": {"spec": {"containers": [container]}}}
        if self.some(0.2):
            spec["replicas"] = 7
        if self.some(0.2):
            spec["template"]["spec"]["$setElementOrder/containers"] = [{"name": "side"}, {"name": "main"}]
        if self.some(0.2):
            spec["template"]["spec"]["volumes"] = [{"name": "v0", "emptyDir": {}}, {"name": "v1", "$patch": "delete"}]
        if self.some(0.1):
            spec["template"]["metadata"] = {"labels": {"$patch": "replace", "app": "r"}}
        return spec

    def operations(self, made):
        operations = []
        roots = ("spec", "data", "metadata", "webhooks", "subjects", "rules", "roleRef", "stringData")
        ways = [way for way in paths(made) if way.split(".")[0] in roots and not {"[", "*"} & set(way)]
        ways = [way for way in ways if way not in ("metadata", "metadata.name")] or ["metadata.annotations"]
        for _ in range(self.randint(1, 2)):
            path = self.choice(ways).replace("/", "~1").replace("\\.", "\0").replace(".", "/").replace("\0", ".")
            way = self.choice(["add", "replace", "remove", "add", "replace", "remove", "replace", "test", "new"])
            if way == "new":
                fresh = ["metadata/annotations/new", "metadata/labels/new", "metadata/annotations", "spec/new"]
                operations.append({"op": "add", "path": "/" + self.choice(fresh), "value": self.choice(["v", {"a": "b"}])})
                continue
            value = {} if way == "remove" else {"value": self.choice(["v", 5, {"a": "b"}, ["l"], None])}
            operations.append({"op": way, "path": "/" + path, **value})
        return operations

    def replacement(self, known):
        made = self.choice(known)
        source = {"kind": made["kind"], "name": made["metadata"]["name"]}
        if self.some(0.9):
            roots = ("metadata", "spec", "data")
            ways = [way for way in leaves(made) if way.startswith(roots) and not ("*" in way and self.some(0.97))]
            source["fieldPath"] = self.choice(ways or ["metadata.name"])
        if self.some(0.2):
            source["options"] = {"delimiter": self.choice(["/", ":", ".", "-"]), "index": self.choice([0, 0, 1, -1, 5])}
        targets = []
        for _ in range(self.randint(1, 2)):
            other, options = self.choice(known), {}
            target = {"select": self.target(other)}
            ways = [way for way in leaves(other) if way not in ("kind", "apiVersion")]
            target["fieldPaths"] = [self.choice(WAYS if self.some(0.2) else ways)]
            if self.some(0.3):
                options["create"] = True
                if self.some(0.6):
                    target["fieldPaths"] = [self.choice(FRESH)]
            if self.some(0.2):
                options.update(delimiter=self.choice(["/", ":", "."]), index=self.choice([0, 1, -1, 9]))
            if self.some(0.2):
                target["reject"] = [self.target(self.choice(known))]
            targets.append({**target, **({"options": options} if options else {})})
        if self.some(0.1):
            return {"sourceValue": "sv", "targets": targets}
        return {"source": source, "targets": targets}

    def var(self, name, known):
        made = self.choice(known)
        field = self.choice(["metadata.name"] * 4 + ["data.k", "spec.replicas", "metadata.namespace"])
        reference = {"kind": made["kind"], "name": made["metadata"]["name"], "apiVersion": made["apiVersion"]}
        return {"name": name, "objref": reference, **({"fieldref": {"fieldpath": field}} if self.some(0.6) else {})}

    def sort_options(self):
        legacy = {"orderFirst": self.choice([["Service", "Namespace"], ["ConfigMap"]]), "orderLast": ["Deployment", "Bee"]}
        return self.choice([{"order": "legacy"}, {"order": "fifo"}, {"order": "legacy", "legacySortOptions": legacy}])

    def transformer(self, known):
        named = {"metadata/name": [{"path": "metadata/name"}], "annotations": [{"path": "metadata/annotations", "create": self.some(0.5)}]}
        kinds = [
            ("PrefixTransformer", {"prefix": "t-", "fieldSpecs": named["metadata/name"]}),
            ("SuffixTransformer", {"suffix": "-t", "fieldSpecs": [{"path": "metadata/name", "kind": "Deployment"}]}),
            ("LabelTransformer", {"labels": {"tl": "1"}, "fieldSpecs": [{"path": "metadata/labels", "create": True}]}),
            ("AnnotationsTransformer", {"annotations": {"ta": "1"}, "fieldSpecs": named["annotations"]}),
            ("ImageTagTransformer", {"imageTag": {"name": "nginx", "newTag": "tt"}}),
            ("NamespaceTransformer", {"unsetOnly": self.some(0.5), "fieldSpecs": [{"path": "metadata/namespace", "create": True}],
                                      "setRoleBindingSubjects": self.choice(["none", "allServiceAccounts", "defaultOnly"])}),
        ]
        if known:
            made = self.choice(known)
            patch = yaml.safe_dump(self.operations(made))
            kinds += [
                ("PatchTransformer", {"patch": patch, "target": self.target(made)}),
                ("PatchStrategicMergeTransformer", {"patches": yaml.safe_dump(self.strategic(known))}),
                ("ReplacementTransformer", {"replacements": [self.replacement(known)]}),
                ("ValueAddTransformer", {"value": "va", "targets": [{"selector": self.target(made), "fieldPath": "metadata/annotations/va"}]}),
            ]
        kind, settings = self.choice(kinds)
        meta = {"name": "t", **({"namespace": "tns"} if kind == "NamespaceTransformer" else {})}
        text = yaml.safe_dump({"apiVersion": "builtin", "kind": kind, "metadata": meta, **settings})
        return self.put("transformer.yaml", text) if self.some(0.5) else text


def build(program, files):
    """What a program makes of the files: exit code, stdout, stderr."""
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", newline="") as file:
                file.write(text)
        ran = subprocess.run([program, "build", "top"], cwd=root, capture_output=True, text=True)
        return ran.returncode, ran.stdout, ran.stderr.replace(root, "@ROOT@").strip()


def recorded(program, seed):
    files = World(seed).files
    code, out, error = build(program, files)
    result = {"out": out} if code == 0 else {"error": error.splitlines()[-1][-300:] if error else ""}
    # A crash says nothing about the files.
    return None if code == 2 else {"seed": seed, "files": files, **result}


def compared(program, other, seed):
    files = World(seed).files
    first, second = build(program, files), build(other, files)
    same = (first[0] == 0) == (second[0] == 0) and (first[0] != 0 or first[1] == second[1])
    return None if same or first[0] == 2 else f"{seed}: {first[0]} {first[2][-200:]!r}, {second[0]} {second[2][-200:]!r}"


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in ("record", "compare"):
        sys.exit(__doc__)
    way, program, last = sys.argv[1], os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3])
    seed, number = (int(text) for text in (sys.argv[4:] + ["1", "200"][len(sys.argv[4:]):]))
    seeds = range(seed, seed + number)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        if way == "record":
            lines = list(pool.map(lambda each: recorded(program, each), seeds))
            with open(last, "w") as file:
                file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines if line)
            return
        differences = [each for each in pool.map(lambda each: compared(program, last, each), seeds) if each]
    print("\n".join(differences))
    print(f"{number - len(differences)} of {number} alike")


main()
