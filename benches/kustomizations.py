"""Writes large kustomizations, the same for the same size: one overlay over many bases, many objects in one folder,
overlays on overlays."""

import json

IMAGES = ["nginx", "redis", "example.org/team/api", "example.org/team/worker", "ghcr.io/acme/web"]
# At size 1.
BASES, OBJECTS, LEVELS, APPS_OF_DEEP, PER_FILE = 200, 5000, 10, 20, 500


def write(kind, root, size):
    """Writes one input; gives the folder to build, relative to `root`."""
    return {"fleet": fleet, "wide": wide, "deep": deep}[kind](root, size)


def fleet(root, size):
    """An overlay over many bases: prefix, namespace, labels, images, numbers of replicas, patches, a generated map that
    all refer to. Entries of `replicas` and `patches` grow with the bases."""
    apps = [f"app{at:05d}" for at in range(int(BASES * size))]
    for at, app in enumerate(apps):
        base = root / "bases" / app
        put(base / "deployment.yaml", deployment(app, IMAGES[at % 5], f"{app}-gen"))
        put(base / "service.yaml", service(app))
        put(base / "configmap.yaml", config_map(f"{app}-static", at))
        put(base / "ingress.yaml", ingress(app))
        kustomization(base, resources=["deployment.yaml", "service.yaml", "configmap.yaml", "ingress.yaml"],
                      configMapGenerator=[{"name": f"{app}-gen", "literals": [f"settings=gen{at}", f"INDEX={at}"]}])
    overlay = root / "overlays" / "prod"
    region = {"name": "REGION", "valueFrom": {"configMapKeyRef": {"name": "shared", "key": "region"}}}
    put(overlay / "all.yaml", patch("any", [{"name": "main", "env": [region]}]))
    patches = [{"path": "all.yaml", "target": {"kind": "Deployment"}}]
    for app in apps[::20]:
        memory = {"name": "main", "resources": {"limits": {"memory": "512Mi"}}}
        put(overlay / f"{app}.yaml", patch(app, [{"name": "sidecar", "$patch": "delete"}, memory]))
        patches.append({"path": f"{app}.yaml"})
    digest = "sha256:24a0c4b4a4c0eb97a1aabb8e29f18e917d05abfe1b7a7c07857230879ce7d3d3"
    kustomization(
        overlay, namePrefix="prod-", namespace="fleet", commonAnnotations={"owner": "platform"},
        labels=[{"pairs": {"env": "prod", "fleet": "main"}, "includeSelectors": True}],
        resources=[f"../../bases/{app}" for app in apps], patches=patches,
        images=[{"name": "nginx", "newTag": "1.27.1"}, {"name": "redis", "digest": digest},
                {"name": "example.org/team/api", "newName": "mirror.example.org/api", "newTag": "v2"}],
        replicas=[{"name": app, "count": 3 + at % 5} for at, app in enumerate(apps[::10])],
        configMapGenerator=[{"name": "shared", "literals": ["region=eu", "tier=prod"]}])
    return "overlays/prod"


def wide(root, size):
    """Many objects of five kinds in a few files of one folder, with a namespace and common labels."""
    count, files = int(OBJECTS * size), []
    for start in range(0, count, PER_FILE):
        objects = [wide_object(at) for at in range(start, min(count, start + PER_FILE))]
        files.append(f"part{start // PER_FILE:04d}.yaml")
        put(root / "app" / files[-1], "---\n".join(objects))
    kustomization(root / "app", namespace="wide", commonLabels={"team": "core", "env": "prod"}, resources=files)
    return "app"


def wide_object(at):
    name = f"res{at:06d}"
    match at % 5:
        case 0:
            return config_map(name, at)
        case 1:
            return service(name)
        case 2:
            return deployment(name, IMAGES[at // 5 % 5], f"res{at - 2:06d}")
        case 3:
            return f"apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: {name}\n"
        case _:
            return f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: {name}\nstringData:\n  token: \"t{at}\"\n"


def deep(root, size):
    """Overlays on overlays, each with a prefix, a label, a merged map, patches and replacements. The objects grow with
    each level."""
    apps = [f"app{at:02d}" for at in range(APPS_OF_DEEP)]
    both = [deployment(app, IMAGES[at % 5], "settings") + "---\n" + service(app) for at, app in enumerate(apps)]
    put(root / "l00" / "all.yaml", "---\n".join([*both, config_map("source", 1)]))
    kustomization(root / "l00", resources=["all.yaml"],
                  configMapGenerator=[{"name": "settings", "literals": ["host=base.example.org", "settings=x"]}])
    levels = int(LEVELS * size)
    for level in range(1, levels + 1):
        folder = root / f"l{level:02d}"
        variable = {"name": f"LEVEL_{level}", "value": str(level)}
        put(folder / "merge.yaml", patch(apps[level % len(apps)], [{"name": "main", "env": [variable]}]))
        port = {"op": "add", "path": "/spec/ports/-", "value": {"name": f"extra{level}", "port": 9000 + level}}
        made = {"fieldPaths": [f"spec.template.metadata.annotations.level{level}"], "options": {"create": True}}
        found = {"fieldPaths": ["spec.template.spec.containers.[name=main].env.[name=LOG_LEVEL].value"]}
        kustomization(
            folder, resources=[f"../l{level - 1:02d}"], namePrefix=f"p{level}-",
            labels=[{"pairs": {f"level{level}": str(level)}}], commonAnnotations={"level": str(level)},
            configMapGenerator=[{"name": "settings", "behavior": "merge", "literals": [f"level{level}=v{level}"]}],
            patches=[{"path": "merge.yaml"}, {"target": {"kind": "Service"}, "patch": json.dumps([port])}],
            replacements=[{"source": {"kind": "ConfigMap", "name": "source", "fieldPath": "data.level"},
                           "targets": [{"select": {"kind": "Deployment"}, **fields} for fields in (found, made)]}])
    return f"l{levels:02d}"


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def kustomization(folder, **fields):
    """JSON is YAML; the objects, which are most of the text, are written as people write them."""
    fields = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", **fields}
    put(folder / "kustomization.yaml", json.dumps(fields, indent=1) + "\n")


def patch(name, containers):
    spec = {"template": {"spec": {"containers": containers}}}
    return json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}) + "\n"


def service(name):
    return f"""apiVersion: v1
kind: Service
metadata:
  name: {name}
spec:
  selector:
    app: {name}
  ports:
  - name: http
    port: 80
    targetPort: http
"""


def config_map(name, number):
    return f"""apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
data:
  settings: "mode={number % 7}"
  level: "{number}"
  config.yaml: |
    id: {number}
    list:
    - a
    - b
"""


def ingress(name):
    return f"""apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {name}
spec:
  rules:
  - host: {name}.example.org
    http:
      paths:
      - path: /
        pathType: Prefix
        backend:
          service:
            name: {name}
            port:
              name: http
"""


def deployment(name, image, settings):
    return f"""apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  labels:
    app: {name}
spec:
  replicas: 2
  selector:
    matchLabels:
      app: {name}
  template:
    metadata:
      labels:
        app: {name}
      annotations:
        prometheus.io/scrape: "true"
        prometheus.io/port: "9090"
    spec:
      containers:
      - name: main
        image: {image}:1.0.0
        args: ["--listen=:8080", "--name={name}"]
        ports:
        - containerPort: 8080
          name: http
        env:
        - name: LOG_LEVEL
          value: info
        - name: SETTINGS
          valueFrom:
            configMapKeyRef:
              name: {settings}
              key: settings
        envFrom:
        - configMapRef:
            name: {settings}
        resources:
          requests: {{cpu: 50m, memory: 64Mi}}
          limits: {{cpu: "1", memory: 256Mi}}
        readinessProbe:
          httpGet: {{path: /healthz, port: http}}
      - name: sidecar
        image: redis:6
        volumeMounts:
        - name: settings
          mountPath: /etc/settings
      volumes:
      - name: settings
        configMap:
          name: {settings}
"""
