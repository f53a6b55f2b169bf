"""Writes a repository that a cluster reconciles: Kustomizations that make Kustomizations, with so many objects each. Deterministic.

`clusters/production` is the entry, with a stub of gotk-components and gotk-sync. It has the Kustomizations `settings` (a ConfigMap
with variables for each team), `automation` (policies and repositories, which get their namespace two folders up) and one for
each team, which makes those of its apps. An app is an overlay on a base, with a patch, an image with a marker, a generated
ConfigMap, a component from the spec, and variables: some inline, some of the ConfigMap."""

import math
import pathlib

SETTLED, NEXT = "1.1.0", "1.2.0"
ENTRY = "clusters/production"
SYNC = f"{ENTRY}/flux-system/gotk-sync.yaml"
APPS_PER_TEAM = 20
# Kustomizations that are no app and no team: flux-system, settings, automation.
OTHERS = 3
# Objects of an app that are not ConfigMaps of its base.
KINDS = 6


def write(folder, kustomizations, objects):
    """Writes a fleet of so many Kustomizations; those of apps have so many objects each. Returns what `Tree` says of it."""
    tree = Tree(pathlib.Path(folder), kustomizations, objects)
    tree.write_entry()
    tree.write_automation()
    for team in tree.teams:
        tree.write_team(team)
    return tree


class Tree:
    def __init__(self, root, kustomizations, objects):
        self.root, self.per_app = root, objects
        teams = math.ceil((kustomizations - OTHERS) / (APPS_PER_TEAM + 1))
        apps = kustomizations - OTHERS - teams
        names = [f"app-{number:04d}" for number in range(apps)]
        self.teams = {f"team-{at:02d}": names[at::teams] for at in range(teams)}
        self.marked = names[::3]
        # Folders that kustomize builds too: the entry and the teams have no kustomization of their own.
        self.paths = ["infrastructure/settings", "apps/automation"]
        self.paths += [f"apps/{team}/{app}/production" for team, its in self.teams.items() for app in its]

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def image(self, team, app):
        return f"registry.example.com/{team}/{app}"

    def policies(self):
        """The policies as a manifest for `-f`: with the namespace that they have in the cluster."""
        of = {app: team for team, apps in self.teams.items() for app in apps}
        images = (IMAGE.format(app=app, image=self.image(of[app], app)) for app in self.marked)
        return "---\n".join(images).replace("metadata:\n", "metadata:\n  namespace: flux-system\n")

    def bump(self, app):
        """Arguments of `update` that give each policy an image, the one of this app the next."""
        of = {app: team for team, apps in self.teams.items() for app in apps}
        images = [(one, f"{self.image(of[one], one)}:{NEXT if one == app else SETTLED}") for one in self.marked]
        return [part for one, image in images for part in ("--set", f"flux-system:{one}={image}")]

    def write_entry(self):
        self.write(f"{ENTRY}/flux-system/kustomization.yaml", kustomization(["gotk-components.yaml", "gotk-sync.yaml"]))
        self.write(f"{ENTRY}/flux-system/gotk-components.yaml", COMPONENTS)
        self.write(SYNC, GIT_REPOSITORY + "---\n" + flux("flux-system", ENTRY))
        self.write(f"{ENTRY}/infrastructure.yaml", flux("settings", "infrastructure/settings")
                   + "---\n" + flux("automation", "apps/automation", depends="settings"))
        self.write(f"{ENTRY}/teams.yaml", "---\n".join(flux(team, f"apps/{team}/flux", depends="settings") for team in self.teams))
        self.write("infrastructure/settings/kustomization.yaml", kustomization(["settings.yaml"]))
        self.write("infrastructure/settings/settings.yaml", "---\n".join(SETTINGS.format(team=team) for team in self.teams))
        self.write("components/scaling/kustomization.yaml",
                   "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources:\n- scaler.yaml\n")
        self.write("components/scaling/scaler.yaml", SCALER)

    def write_automation(self):
        folders = []
        for team, apps in self.teams.items():
            for app in set(apps).intersection(self.marked):
                folder = f"apps/{team}/{app}/automation"
                folders.append(f"../{team}/{app}/automation")
                self.write(f"{folder}/kustomization.yaml", kustomization(["image.yaml"]))
                self.write(f"{folder}/image.yaml", IMAGE.format(app=app, image=self.image(team, app)))
        patches = "patches:\n- target: {kind: ImageRepository}\n  patch: |\n    - op: add\n      path: /spec/provider\n      value: aws\n"
        self.write("apps/automation/kustomization.yaml",
                   kustomization([*sorted(folders), "automation.yaml"]) + "namespace: flux-system\n" + patches)
        self.write("apps/automation/automation.yaml", AUTOMATION)

    def write_team(self, team):
        """Its Kustomizations get their namespace from the kustomization beside them."""
        folder, apps = f"apps/{team}", self.teams[team]
        self.write(f"{folder}/flux/kustomization.yaml",
                   kustomization(["namespace.yaml", *(f"{app}.yaml" for app in apps)]) + f"namespace: {team}\n")
        self.write(f"{folder}/flux/namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: team\n")
        for number, app in enumerate(apps):
            after = apps[number - 1] if number % 4 else None
            self.write(f"{folder}/flux/{app}.yaml", flux(app, f"{folder}/{app}/production", app=True, depends=after, team=team))
            self.write_app(team, app, number)

    def write_app(self, team, app, number):
        base, overlay = f"apps/{team}/{app}/base", f"apps/{team}/{app}/production"
        maps = [f"config-{at:02d}.yaml" for at in range(self.per_app - KINDS)]
        self.write(f"{base}/kustomization.yaml", kustomization(["workload.yaml", "network.yaml", *maps]))
        self.write(f"{base}/workload.yaml", WORKLOAD.format(app=app, image=self.image(team, app), settled=SETTLED))
        self.write(f"{base}/network.yaml", NETWORK.format(app=app))
        for at, file in enumerate(maps):
            lines = "".join(f"    key{line}: {number * 31 + at * 7 + line}\n" for line in range(12))
            self.write(f"{base}/{file}", f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {app}-{at:02d}\ndata:\n"
                                         f"  region: ${{REGION}}\n  settings.yaml: |\n{lines}")
        marker = f' # {{"$imagepolicy": "flux-system:{app}:tag"}}' if app in self.marked else ""
        self.write(f"{overlay}/kustomization.yaml",
                   kustomization(["../base"]) + f"patches:\n- path: replicas.yaml\nlabels:\n- pairs: {{team: {team}}}\n"
                   f"images:\n- name: {self.image(team, app)}\n  newTag: {SETTLED}{marker}\n"
                   f"configMapGenerator:\n- name: {app}-env\n  literals:\n  - cluster=${{CLUSTER}}\n  - app={app}\n")
        self.write(f"{overlay}/replicas.yaml",
                   f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {app}}}\nspec: {{replicas: {number % 5 + 1}}}\n")


def kustomization(resources):
    lines = "".join(f"- {resource}\n" for resource in resources)
    return f"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n{lines}"


def flux(name, path, app=False, depends=None, team=None):
    text = ("apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n"
            f"  name: {name}\n  namespace: {team or 'flux-system'}\nspec:\n  interval: 10m\n  prune: true\n  path: ./{path}\n"
            "  sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}\n")
    if depends:
        text += f"  dependsOn:\n  - name: {depends}\n"
    if app:
        text += (f"  targetNamespace: {team}\n  components:\n  - ../../../../components/scaling\n  commonMetadata:\n    labels: {{app: {name}}}\n"
                 f"  postBuild:\n    substitute:\n      APP: {name}\n      MAXIMUM: \"10\"\n"
                 "    substituteFrom:\n    - {kind: ConfigMap, name: cluster-settings}\n")
    return text


COMPONENTS = """# As `flux install --export` prints them, but few.
apiVersion: v1
kind: Namespace
metadata: {name: flux-system}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: kustomize-controller, namespace: flux-system}
spec:
  selector: {matchLabels: {app: kustomize-controller}}
  template:
    metadata: {labels: {app: kustomize-controller}}
    spec:
      containers:
      - {name: manager, image: 'ghcr.io/fluxcd/kustomize-controller:v1.9.5'}
"""

GIT_REPOSITORY = """apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec:
  interval: 1m
  url: https://git.example.com/acme/fleet
  ref: {branch: main}
"""

SETTINGS = """apiVersion: v1
kind: ConfigMap
metadata: {{name: cluster-settings, namespace: {team}}}
data: {{CLUSTER: production, REGION: eu-west}}
"""

SCALER = """apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: "${APP}"}
spec:
  maxReplicas: ${MAXIMUM:=3}
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: "${APP}"}
"""

IMAGE = """apiVersion: image.toolkit.fluxcd.io/v1
kind: ImageRepository
metadata:
  name: {app}
spec:
  interval: 5m
  image: {image}
---
apiVersion: image.toolkit.fluxcd.io/v1
kind: ImagePolicy
metadata:
  name: {app}
spec:
  imageRepositoryRef:
    name: {app}
  policy:
    semver:
      range: 1.x
"""

AUTOMATION = """apiVersion: image.toolkit.fluxcd.io/v1
kind: ImageUpdateAutomation
metadata:
  name: fleet
spec:
  interval: 5m
  sourceRef:
    kind: GitRepository
    name: flux-system
  git:
    commit:
      author:
        name: bot
        email: bot@example.com
  update:
    path: ./apps
    strategy: Setters
"""

WORKLOAD = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: {app}
spec:
  selector:
    matchLabels:
      app: {app}
  template:
    metadata:
      labels:
        app: {app}
    spec:
      serviceAccountName: {app}
      containers:
      - name: main
        image: {image}:{settled}
        envFrom:
        - configMapRef:
            name: {app}-env
        env:
        - name: REGION
          value: ${{REGION}}
        ports:
        - containerPort: 8080
          protocol: TCP
        resources:
          requests:
            cpu: 100m
            memory: 128Mi
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {app}
"""

NETWORK = """apiVersion: v1
kind: Service
metadata:
  name: {app}
spec:
  selector:
    app: {app}
  ports:
  - name: http
    port: 80
    targetPort: 8080
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {app}
spec:
  rules:
  - host: {app}.${{REGION}}.example.com
    http:
      paths:
      - path: /
        pathType: Prefix
        backend:
          service:
            name: {app}
            port:
              name: http
"""
