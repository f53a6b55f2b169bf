"""Writes a generated GitOps fleet and the policies for it. Deterministic.

Per app: a deployment (two containers, comments, blank lines), a config map, a Helm release, a kustomization. A third of
the apps carry markers: the deployment's image, and name and tag in the Helm release."""

import pathlib
import random

SETTLED, NEXT = "1.1.0", "1.2.0"
# Marked fields of an app that a new tag changes: the deployment's image and the Helm release's tag.
CHANGES_PER_POLICY = 2


def write(folder, apps):
    """Writes the files of so many apps; all marked fields stand at SETTLED. Returns the names of the policies' apps."""
    rng = random.Random(7)
    marked = []
    for index in range(apps):
        app, team = f"app-{index:04d}", f"team-{index % 20:02d}"
        place = pathlib.Path(folder, "apps", team, app)
        place.mkdir(parents=True)
        has_policy = index % 3 == 0
        if has_policy:
            marked.append((app, f"registry.example.com/{team}/{app}"))
        (place / "deployment.yaml").write_text(_deployment(rng, app, team, has_policy))
        (place / "configmap.yaml").write_text(_config_map(rng, app))
        (place / "helmrelease.yaml").write_text(_helm_release(rng, app, team, has_policy))
        (place / "kustomization.yaml").write_text(
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
            "- deployment.yaml\n- configmap.yaml\n- helmrelease.yaml\n")
    return marked


def policies(marked, bumped):
    """The policies as one manifest; the first `bumped` of them have chosen NEXT, the others SETTLED."""
    text = []
    for number, (app, image) in enumerate(marked):
        tag = NEXT if number < bumped else SETTLED
        text.append(
            f"---\napiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\n"
            f"metadata: {{name: {app}, namespace: flux-system}}\n"
            f"spec:\n  imageRepositoryRef: {{name: {app}}}\n  policy: {{semver: {{range: 1.x}}}}\n"
            f"status:\n  latestRef: {{name: {image}, tag: {tag}}}\n")
    return "".join(text)


def _marker(app, has_policy, part=""):
    return f' # {{"$imagepolicy": "flux-system:{app}{part}"}}' if has_policy else ""


def _tag(rng, has_policy):
    old = f"1.0.{rng.randint(0, 40)}"
    return SETTLED if has_policy else old


def _deployment(rng, app, team, has_policy):
    text = f"""# Owned by {team}.

apiVersion: apps/v1
kind: Deployment
metadata:
  name: {app}

  labels:
      app.kubernetes.io/name: {app}   # aligned oddly on purpose
spec:
  replicas: {rng.randint(1, 9)}
  selector:
    matchLabels: {{app.kubernetes.io/name: {app}}}
  template:
    metadata:
      labels: {{app.kubernetes.io/name: {app}}}
    spec:
      containers:
      - name: main
        image: registry.example.com/{team}/{app}:{_tag(rng, has_policy)}{_marker(app, has_policy)}
        args: ["--listen=:8080", '--mode=prod']

        env:
"""
    for number in range(rng.randint(5, 25)):
        text += f"        - name: SETTING_{number}\n          value: \"{rng.randint(0, 10**9)}\"\n"
    return text + f"""      - name: sidecar
        image: "registry.example.com/sidecar:2.{rng.randint(0, 9)}.0"
---
apiVersion: v1
kind: Service
metadata: {{name: {app}}}
spec:
  ports: [{{port: 80, targetPort: 8080}}]
  selector: {{app.kubernetes.io/name: {app}}}
"""


def _config_map(rng, app):
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {app}\ndata:\n"
    for number in range(rng.randint(3, 30)):
        lines = "".join(f"    line{line} = {rng.random()}\n" for line in range(rng.randint(2, 20)))
        text += f"  key{number}.conf: |\n{lines}"
    return text


def _helm_release(rng, app, team, has_policy):
    return f"""apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: {app}
spec:
  interval: 10m
  chart:
    spec: {{chart: generic, version: "6.x"}}
  values:
    image:
      repository: registry.example.com/{team}/{app}{_marker(app, has_policy, ':name')}
      tag: {_tag(rng, has_policy)}{_marker(app, has_policy, ':tag')}
"""
