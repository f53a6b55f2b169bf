"""Inputs from the fixtures of the tests, a folder for each target: seeds.py FOLDER. `run corpus` makes the stored ones of them."""

import base64
import collections
import hashlib
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures"
OUT = pathlib.Path(sys.argv[1])
BETWEEN = b"\n%%\n"


def add(target, *parts):
    parts = [part.encode() if isinstance(part, str) else part for part in parts]
    data = BETWEEN.join(parts)
    if len(data) <= 32 << 10:
        compared = ["peer_" + target] if target in ("regex", "template", "text", "yaml") else []
        for name in [target, *compared]:
            folder = OUT / name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / hashlib.sha1(data).hexdigest()[:16]).write_bytes(data)


def rows(path):
    for line in (FIXTURES / path).read_text().strip("\n").split("\n"):
        yield collections.defaultdict(str, json.loads(line))


def yaml_targets(text):
    for target in ("yaml", "manifests", "migrate", "schemas", "substitute"):
        add(target, text)


def tree(files):
    return "".join(f"-- {path} --\n{text}" + ("" if text.endswith("\n") else "\n") for path, text in files.items())


def of_yaml():
    for name in ("blocks", "documents", "scalars", "strings"):
        for row in rows(f"yaml/{name}.jsonl"):
            add("yaml", row["in"])
    for row in rows("yaml/comments.jsonl"):
        add("yaml", row["text"])
        add("edit", row["text"])
    marker = '# {"$imagepolicy": "apps:app%s"}'
    for value in ("o/app:1", "'o/app:1'", '"o/app:1"', "|\n  o/app:1\n", ">-\n  o/app:1", "!!str 1.0", "&a 1.0", "~", ""):
        for part in ("", ":tag", ":name", ":digest"):
            head, _, rest = value.partition("\n")
            add("edit", f"kind: A\nmetadata: {{name: a}}\nimage: {head} {marker % part}\n{rest}\nend: 1\n")
    add("edit", "a: [o/app:1, # {\"$imagepolicy\": \"apps:app\"}\n  b]\n---\r\n- x: {image: o/app:1 # {\"$imagepolicy\":\"a:b\"}\r\n}\r\n")
    marked = {
        0: 'tag = "1" # {"$imagepolicy": "a:b:tag"}\nm "x" {\n  /* c */ i = ["a", "b"] // {"$imagepolicy": "a:b"}\n}\n',
        1: '# {"$imagepolicy": "a:b"}\nFROM --platform=x o/app:1 AS y\nARG V=1\nRUN <<E\nE\n',
        2: "A='1' # {\"$imagepolicy\": \"a:b:tag\"}\n",
        3: '[a]\nb = 1 ; {"$imagepolicy": "a:b:tag"}\n',
        4: '{"//a": "{\\"$imagepolicy\\": \\"a:b\\"}", "a": "o/app:1", "b": [1, {"c": true}]}\n',
        5: 'A := 1 # {"$imagepolicy": "a:b:tag"}\na:\n\tb\n',
        6: '# {"$imagepolicy": "a:b:tag"}\na.b = 1\n',
        7: 'A="1" # {"$imagepolicy": "a:b:tag"}\ncat <<E\n$A\nE\n',
        8: 'a: {{ .x }}\nb: 1 # {"$imagepolicy": "a:b:tag"}\n',
        9: '[a]\nb = "1" # {"$imagepolicy": "a:b:tag"}\nc = [\'1\', """2"""]\n',
    }
    for number, text in marked.items():
        add("formats", bytes([number]) + text.encode())
    rule = "rules:\n- files: '*'\n  policy: a:b\n  part: tag\n  %s\n"
    values = {
        0: 'm "x" {\n  tag = "1"\n  i = { a = "1", "b" : [f(1), "2"] }\n}\nm "x" { tag = "1" }\n',
        4: '{"tag": "1", "list": [{"tag": "2"}], "n": 1}\n',
        9: 'tag = "1"\n[[list]]\ntag = \'2\'\n',
        10: "tag: 1\nlist:\n- {tag: '2'}\n- tag: |\n    x\n---\ntag: &a \"3\"\n",
        11: "V=1\nW=2\n",
    }
    for what in ("path: $.tag", "path: $..tag", "path: $.m.x[*].tag", "path: \"$.list[?@.tag == '2'].tag\"", "pattern: 'V=(?P<v>.*)'"):
        for number, text in values.items():
            add("rules", (rule % what).encode() + b"\n%%\n" + bytes([number]) + text.encode())
    for what, text in (
        ("images: auto", "images:\n- name: o/app\n  newTag: 1\n- name: x\n  newName: o/app\n  digest: sha256:0\n"),
        ("values: auto", "a: {image: {registry: ghcr.io, repository: o/app, tag: '1', digest: sha256:0}}\n"),
    ):
        add("rules", (rule.replace("  part: tag\n", "") % what).encode() + b"\n%%\n\x0a" + text.encode())
    for folder in (ROOT / "crds", ROOT / "fixtures", ROOT / "deploy", ROOT / "tests", ROOT / "docs"):
        for path in folder.rglob("*.y*ml"):
            yaml_targets(path.read_bytes())
            if b"$imagepolicy" in path.read_bytes():
                add("edit", path.read_bytes())
    old = "apiVersion: image.toolkit.fluxcd.io/v1beta1\nkind: ImageUpdateAutomation\nmetadata: {name: a, namespace: b}\nspec:\n" \
        "  interval: 1m\n  checkout: {branch: main, gitImplementation: go-git}\n  git: {commit: {messageTemplate: '{{range .Updated.Images}}{{.}}{{end}}'}}\n"
    add("migrate", old)
    add("manifests", old)
    add("migrate", "apiVersion: kustomize.toolkit.fluxcd.io/v1beta1\nkind: Kustomization\nmetadata: {name: a}\nspec:\n  path: ./\n  validation: client\n"
        "  healthChecks: [{kind: Deployment, name: x, namespace: y}]\n  patchesStrategicMerge:\n  - kind: A\n  images: []\n")
    of_other_tools()
    of_repositories()
    for row in rows("health/compute.jsonl"):
        add("schemas", json.dumps(row["object"]))


def of_other_tools():
    """What the target `adopt` reads: an object with annotations, values, a kustomization, a workload."""
    updater = "argocd-image-updater.argoproj.io"
    app = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: web\n  namespace: argocd\n  annotations:\n%s    keep: me\n" \
        "spec:\n  source: {repoURL: 'https://git.example.com/a/fleet.git', path: web, targetRevision: main%s}\n"
    values = "image:\n  name: registry.example.com/acme/web\n  repository: acme/web\n  tag: 1.4.0\n"
    kustomization = "resources: [deploy.yaml]\nimages:\n- name: acme/web\n  newTag: 1.4.0\n"
    told = (
        "image-list: web=acme/web:~1.4", "web.update-strategy: digest", "web.allow-tags: regexp:^1", "web.ignore-tags: latest, x*", "web.helm.image-name: image.name",
        "web.helm.image-tag: image.tag", "web.kustomize.image-name: acme/web", "write-back-method: git:secret:argocd/git", "write-back-target: helmvalues:/web/values.yaml",
        "git-branch: main:bump-{{.AppName}}", "web.pull-secret: pullsecret:argocd/registry", "web.platforms: linux/arm64", "force-update: 'true'",
    )
    for count in range(1, len(told) + 1):
        for source in ("", ", helm: {valueFiles: [values.yaml]}", ", kustomize: {images: ['acme/web:1.4.0']}"):
            lines = "".join(f"    {updater}/{line}\n" for line in (told[0], *told[1:count]))
            add("adopt", "\n%%\n".join((app % (lines, source), values, kustomization)))
    labels = "".join(f"    {updater}/{line}\n" for line in told[:2])
    add("adopt", f"apiVersion: {updater}/v1alpha1\nkind: ImageUpdater\nmetadata: {{name: all, namespace: argocd}}\nspec:\n  writeBackConfig: {{method: git}}\n"
        "  applicationRefs:\n  - namePattern: '*'\n    images: [{alias: web, imageName: 'acme/web:1.x'}]\n---\n" + app % (labels, "") + "\n%%\n" + values)
    workload = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  annotations:\n%sspec:\n  template:\n    spec:\n      containers:\n      - name: app\n" \
        "        image: acme/web:1.4.0\n      - {name: proxy, image: 'envoy:1.27'}\n"
    release = "apiVersion: helm.fluxcd.io/v1\nkind: HelmRelease\nmetadata:\n  name: web\n  annotations:\n%sspec:\n  values:\n    image: {repository: acme/web, tag: 1.4.0}\n"
    for lines in (
        ["fluxcd.io/automated: 'true'"], ["fluxcd.io/automated: 'true'", "filter.fluxcd.io/app: semver:~1.4", "flux.weave.works/tag.proxy: glob:1.27*"],
        ["fluxcd.io/automated: 'true'", "fluxcd.io/locked: 'true'", "fluxcd.io/locked_msg: wait"], ["fluxcd.io/automated: 'true'", "fluxcd.io/tag.chart-image: regexp:^1"],
    ):
        text = "".join(f"    {line}\n" for line in lines)
        add("adopt", workload % text)
        add("adopt", release % text + "---\n" + workload % text)


def of_repositories():
    """What the target `propose` reads: tags, objects, a chart, a kustomization."""
    head = "apiVersion: %s/v1\nkind: %s\nmetadata: {name: web, namespace: flux-system}\nspec: "
    chart = "dependencies:\n- {name: redis, version: 18.1.0, repository: 'https://charts.example.com/stable'}\n"
    kustomization = "images:\n- name: acme/api\n  newTag: %s\nhelmCharts:\n- {name: minio, repo: 'oci://registry.example.com/charts', version: v5.0.1}\n"
    objects = (
        head % ("helm.toolkit.fluxcd.io", "HelmRelease") + "\n  chart:\n    spec:\n      chart: web\n      version: 1.4.0\n      sourceRef: {kind: HelmRepository, name: web}\n---\n"
        + head % ("source.toolkit.fluxcd.io", "HelmRepository") + "{url: 'oci://ghcr.io/acme'}\n",
        head % ("source.toolkit.fluxcd.io", "OCIRepository") + "\n  url: oci://ghcr.io/acme/app\n  secretRef: {name: ghcr}\n  ref:\n    tag: 1.4.0\n    digest: sha256:aa\n",
        head % ("source.toolkit.fluxcd.io", "GitRepository") + "\n  url: https://git.example.com/acme/module.git\n  ref:\n    tag: v1.4.0\n",
        head % ("image.toolkit.fluxcd.io", "ImageRepository") + "{image: acme/web, interval: 1h, secretRef: {name: login}}\n---\n"
        + head % ("image.toolkit.fluxcd.io", "ImagePolicy") + "{imageRepositoryRef: {name: web}, policy: {semver: {range: 1.x}}}\n---\nimage: acme/web:1.4.0\n",
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec:\n  source:\n    repoURL: ghcr.io/acme/charts\n    chart: web\n    targetRevision: 1.4.0\n",
        "image:\n  repository: acme/web\n  tag: 1.4.0\n  digest: sha256:aa\n",
    )
    series = ("1.4.0 1.4.9 1.10.2 1.10.2-alpine 2.0.0 latest", "main-4f2c81d-1700000000 main-0a1b2c3-1764200000 dev-99aa001-1764300000", "2026.11.27 2026.1.2 24.04",
              "RELEASE.2024-01-02T03-04-05Z RELEASE.2025-01-02T03-04-05Z", "1.4.0-debian-12-r4 1.4.1-debian-12-r0", "16 16.4 17 16.4-alpine3.20", "v1.4.0 v1.5.0-rc.1", "4f2c81d 0a1b2c3")
    for tags in series:
        first = tags.split()[0]
        add("propose", "\n%%\n".join((tags, f"image: ghcr.io/acme/web:{first}\n", chart, kustomization % first)))
        for text in objects:
            add("propose", "\n%%\n".join((tags, text.replace("1.4.0", first), chart)))


def of_builds():
    for name in ("worlds", "twice", "blocks"):
        for row in rows(f"kustomize/{name}.jsonl"):
            add("kustomize", tree({path.removeprefix("top/"): text for path, text in row["files"].items()}))
    for row in rows("overlay/cases.jsonl"):
        if all(isinstance(text, str) for text in row.get("files", {"a": 0}).values()):
            add("kustomize", "resources: [app]\n" + tree(row["files"]))
    for row in rows("kustomize/merge.jsonl"):
        add("kustomize", tree({"kustomization.yaml": "resources: [a.yaml]\npatches: [{path: p.yaml}]\n", "a.yaml": row["object"], "p.yaml": row["patch"]}))
    for row in rows("kustomize/jsonpatch.jsonl"):
        head = "resources: [a.yaml]\npatches: [{path: p.yaml, target: {kind: A}}]\n"
        add("kustomize", tree({"kustomization.yaml": head, "a.yaml": "kind: A\napiVersion: v1\n" + row["object"], "p.yaml": row["patch"]}))


def of_charts():
    chart = "apiVersion: v2\nname: top\nversion: 1.0.0\n"
    child = {"charts/kid/Chart.yaml": "apiVersion: v2\nname: kid\nversion: 0.1.0\n", "charts/kid/values.yaml": "exports: {data: {a: 1}}\nglobal: {g: {x: 1}}\n",
             "charts/kid/templates/k.yaml": "k: {{ .Values | toJson }}\n"}
    depends = "dependencies:\n- {name: kid, version: '>=0', alias: one, condition: one.on, tags: [t], import-values: [data, {child: a, parent: b}]}\n"
    for text in ("{{ include \"n\" . }}{{ define \"n\" }}{{ .Release.Name }}{{ end }}", "{{ tpl .Values.t . }}", "{{ range $k, $v := .Values }}{{ $k }}: {{ $v | toYaml | nindent 2 }}{{ end }}",
                 "{{ .Files.Glob \"*.txt\" | toYaml }}{{ (.Files.Glob \"*\").AsConfig }}", "{{ required \"no\" .Values.no }}", "{{ fromYaml .Values.t | toToml }}{{ fromToml .Values.t }}{{ toYamlPretty .Values }}",
                 "kind: Job\nmetadata: {annotations: {helm.sh/hook: 'test,pre-install', helm.sh/hook-weight: '-1'}}\n---\nkind: Namespace\n", "{{ .Capabilities.APIVersions.Has \"v1\" }}{{ lookup \"v1\" \"Pod\" \"\" \"\" }}"):
        add("helm", "t: '{{ .Release.Name }}'\n" + tree({"Chart.yaml": chart, "values.yaml": "t: 1\n", "a.txt": "x\n", "templates/a.yaml": text, "crds/c.yaml": "kind: C\n", ".helmignore": "*.md\n!x\n"}))
    add("helm", "tags: {t: true}\none: {on: null}\n" + tree({"Chart.yaml": chart + depends, "templates/a.yaml": "{{ .Values | toJson }}", **child}))
    for schema in ({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"minimum": 1, "multipleOf": 0.1, "pattern": "^a"}}, "unevaluatedProperties": False},
                   {"$schema": "http://json-schema.org/draft-07/schema#", "anyOf": [{"oneOf": [{"const": 1}]}, {"if": {"not": {}}, "else": {"dependencies": {"a": ["b"]}}}], "patternProperties": {"^a": {"format": "uri"}}},
                   {"$schema": "http://json-schema.org/draft-04/schema#", "id": "x", "items": [{}], "additionalItems": False, "definitions": {"a": {"id": "#b"}}, "allOf": [{"$ref": "#b"}]}):
        add("helm", "a: 1\nb: [1, 2]\n" + tree({"Chart.yaml": chart, "values.schema.json": json.dumps(schema), "templates/a.yaml": "a: 1"}))


def of_texts():
    for row in rows("cel/cases.jsonl"):
        add("cel", row["expr"])
    for row in rows("substitute/eval.jsonl"):
        add("substitute", row["input"])
    for row in rows("substitute/objects.jsonl"):
        add("substitute", row["manifest"])
    for row in rows("keys/texts.jsonl"):
        add("yaml", row["text"])
    for path in (ROOT / "crates/go").rglob("*.rs"):
        for line in path.read_text().splitlines():
            for text in line.split('"')[1::2]:
                if "{{" in text:
                    add("template", text.replace("\\n", "\n"))
    for word in (FIXTURES / "sprig/functions.txt").read_text().splitlines()[1:]:
        word = word.split("(")[0]
        add("template", '{{ %s "a" 2 }}{{ 3 | %s }}' % (word, word))
    for name in ("regexReplaceAll", "regexFindAll", "regexSplit", "regexMatch", "mustRegexFind"):
        add("template", '{{ %s "(a+)(b?)" "aab" %s }}' % (name, {"regexReplaceAll": '"$1-$2"', "regexFindAll": "-1", "regexSplit": "-1"}.get(name, "")))
    for text in ('{{ now | date "2006-01-02" }}', '{{ toDate "2006-01-02" "2026-11-26" | dateModify "-36h" | unixEpoch }}',
                 '{{ range $i, $x := .Changed.Changes }}{{ $i }}: {{ $x.OldValue | trunc 3 | quote }}{{ else }}no{{ end }}',
                 '{{ with dict "a" (list 1 2.5 "x") }}{{ toJson . }}{{ . | toPrettyJson | indent 2 }}{{ end }}',
                 '{{ define "t" }}{{ printf "%05.2f|%-8q|%x|%v" 3.14159 "a" "b" . }}{{ end }}{{ template "t" .Values }}',
                 '{{ htmlDateInZone (now) "UTC" }} {{ ago (now) }} {{ duration 3661 }} {{ durationRound "2400h" }}',
                 '{{ semverCompare ">=1.2 <2" "1.3.0" }} {{ (semver "1.2.3-rc.1+b").Prerelease }} {{ fromJson "[1,{\\"a\\":null}]" }}',
                 '{{ b64enc "a" | b64dec }} {{ sha256sum "a" }} {{ urlParse "http://u:p@h:1/p?q#f" }} {{ untilStep 0 10 3 }}'):
        add("template", text)
    for pattern, text, template in (("^v?(?P<major>[0-9]+)\\.([0-9]+)$", "v1.20", "$major-$2"), ("(?i)a|b*c{2,3}?", "ABcc", "${1}"),
                                    ("\\bx\\B[^a-z\\d]+$", "x y\nz", "$0"), ("[[:alpha:]]\\pL\\x{10FFFF}|(?s:.)*?", "é\xff", "$$"),
                                    ("^main-[a-f0-9]+-(?P<ts>\\d+)", "main-0a1b-1700000000", "$ts")):
        add("regex", pattern, text, template)
    for layout, text in (("2006-01-02T15:04:05Z07:00", "2026-11-26T10:00:00+01:00"), ("Mon Jan _2 15:04:05 MST 2006", "Thu Nov 26 10:00:00 CET 2026"),
                         ("02.01.06 3:04pm .000", "26.11.26 3:04pm .123"), ("Monday, 02-Jan-06 -0700", "Thursday, 26-Nov-26 +0530"),
                         (">=1.0.0-0 <2 || ~3.1", "1.0.0\nv3.1.2-rc.1+x\n3"), ("1h2m3.5s", "-1h2m3.5s"), ("^1.x", "1.2.3\n01.2.3\n1"),
                         ("http://u:p%40@[::1%25en0]:80/a%2fb?q=1#f", "1ns"), ("002 __2 2006", "330 330 2026"), ("\\u00e9\\x00\\101'", "x")):
        add("text", layout, text)
    for rule in (">=1.0", "Mon-Fri 09:00-16:00 Europe/Berlin; Sat 22:00-02:00", "docker.io/library/app:1@sha256:" + "a" * 64, "ghcr.io:443/o/app", "^1.2.x-0"):
        add("policy", rule, "^v(?P<v>[0-9.]+)$", "$v", "v1.0\nv2.0.0\n1.2.3\nlatest\n007\nv1.10\n1.0.0+a")


def of_sources():
    for row in rows("artifact/untar.jsonl"):
        data = bytes.fromhex(row["archive"])
        add("tar", data)
        try:
            import gzip
            add("tar", gzip.decompress(data)[:8192])
        except Exception:
            pass
    names = "\n".join(next(rows("artifact/ignore.jsonl"))["tree"])
    for row in rows("artifact/ignore.jsonl"):
        texts = [file["text"] for file in row["files"] or []] + [row.get("spec") or "", "*.md\n/a/**/b\n!c[!x-z]\\ \n"]
        add("ignore", texts[0], texts[1], texts[-2], names)
    for row in rows("storage/http.jsonl"):
        add("http_head", row["request"].replace("FILE", "/gitrepository/a/b/c.tar.gz") + "\r\n")
    add("http_head", "GET /gitrepository/a/b/c.tar.gz HTTP/1.1\r\nHost: h\r\nRange: bytes=0-9,20-\r\nIf-Range: \"x\"\r\n\r\nGET / HTTP/1.0\r\n\r\n")
    add("http_head", "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n5\r\nhello\r\n0\r\n\r\n")


def packet(data):
    data = data.encode() if isinstance(data, str) else data
    return b"%04x" % (len(data) + 4) + data


def of_git():
    with tempfile.TemporaryDirectory() as folder:
        def git(*arguments, given=None):
            return subprocess.run(["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments], input=given, check=True, capture_output=True).stdout
        git("init", "-q", "-b", "main")
        for n in range(3):
            (pathlib.Path(folder) / "a.yaml").write_text("".join(f"line {i}\n" for i in range(60)) + str(n))
            git("add", "."), git("commit", "-qm", f"c{n}")
        git("tag", "-am", "t", "v1")
        tip = git("rev-parse", "HEAD").decode().strip()
        tag = git("rev-parse", "v1").decode().strip()
        pack = git("pack-objects", "--stdout", "--all", "-q", given=b"")
        refs = f"{tip} HEAD symref-target:refs/heads/main\n", f"{tip} refs/heads/main\n", f"{tag} refs/tags/v1 peeled:{tip}\n"
        greeting = packet("version 2\n") + packet("agent=git/2\n") + packet("ls-refs=unborn\n") + packet("fetch=shallow\n") + packet("object-format=sha1\n") + b"0000"
        listed = b"".join(map(packet, refs)) + b"0000"
        packed = packet("packfile\n") + packet(b"\x02Enumerating: 5\r") + packet(b"\x01" + pack) + b"0000"
        shallow = packet("shallow-info\n") + packet(f"shallow {tip}\n") + b"0001" + packed
        for answer in (packed, shallow, packet("acknowledgments\n") + packet("NAK\n") + b"0000"):
            add("git_fetch", greeting, listed, answer, answer)
        add("git_fetch", greeting + listed + shallow)
        caps = "\0multi_ack thin-pack side-band-64k ofs-delta shallow symref=HEAD:refs/heads/main agent=git/2"
        old = packet(f"{tip} HEAD{caps}\n") + packet(f"{tip} refs/heads/main\n") + packet(f"{tag} refs/tags/v1\n") + packet(f"{tip} refs/tags/v1^{{}}\n") + b"0000"
        add("git_fetch", old + packet("NAK\n") + packet(b"\x01" + pack) + b"0000")
        add("git_fetch", packet("version 1\n") + old + packet(f"shallow {tip}\n") + b"0000" + packet("NAK\n") + packet(b"\x03fatal: no\n"))
        add("git_fetch", packet("ERR access denied\n"))
        contents = [(0, git("cat-file", "commit", "HEAD")), (1, git("cat-file", "tree", "HEAD^{tree}")), (2, git("cat-file", "blob", "HEAD:a.yaml")), (3, git("cat-file", "tag", "v1"))]
    ones = "1" * 40
    caps = "\0report-status report-status-v2 delete-refs side-band-64k push-options ofs-delta agent=x"
    report = packet("unpack ok\n") + packet("ok refs/heads/a\n") + packet("option refname refs/changes/1\n") + packet("option new-oid " + "3" * 40 + "\n") + packet("ng refs/heads/b non-fast-forward\n") + b"0000"
    for end in (report, packet(b"\x02remote: see https://h/1\n") + packet(b"\x01" + report) + b"0000"):
        add("git_push", packet(f"{ones} refs/heads/a{caps}\n") + packet(f"{ones} refs/heads/b\n") + b"0000" + end)
        add("git_push", packet(f"{ones} refs/heads/a{caps}\n") + packet(f"{ones} refs/heads/b\n") + b"0000", end)
    def entry(how, base, content):
        content = content[:4000]
        return bytes([how, base, len(content) >> 4, len(content) & 15]) + content[: len(content) >> 4 << 4 | len(content) & 15]
    all_of = b"".join(entry(how, 0, content) for how, content in contents)
    add("pack", bytes([3]) + all_of)
    blob = b"0123456789" * 3
    add("pack", bytes([4]) + entry(2, 0, blob) + entry(4, 0, bytes([30, 9, 0x91, 5, 8, 1, 33])) + entry(5, 0, bytes([30, 4, 4]) + b"abcd") + entry(4, 1, bytes([9, 9, 0x90, 9])) + entry(2, 0, b""))
    commit = b"tree " + hashlib.sha1(b"tree 33\0100644 a\0" + hashlib.sha1(b"blob 30\0" + blob).digest()[:20]).hexdigest().encode()
    tree_entry = b"100644 a\0" + hashlib.sha1(b"blob 30\0" + blob).digest()
    commit = b"tree " + hashlib.sha1(b"tree %d\0" % len(tree_entry) + tree_entry).hexdigest().encode() + b"\nauthor a <a@b.c> 1 +0000\ncommitter a <a@b.c> 1 +0000\n\nm\n"
    add("pack", bytes([2]) + entry(0, 0, commit) + entry(1, 0, tree_entry) + entry(2, 0, blob))
    add("pack", bytes([3]) + entry(0, 0, commit) + entry(1, 0, tree_entry) + entry(2, 0, b"x" * 40) + entry(4, 2, bytes([40, 30, 30]) + blob))
    for text in ("https://u:p@h:8443/o/r.git?a#b", "git@h:o/r.git", "ssh://git@h:22/~/r", "file:///a/b", "/a/b", "refs/heads/a.lock", "../x.git", "[::1]:o/r"):
        add("git_text", text, "../../y.git")
    add("git_text", '[submodule "a"]\n\tpath = a/b ; c\n\turl = "../x \\t.git" # d\n\tbranch = .\n[submodule.b]\npath=\\\nc\n')


def of_images():
    for row in rows("registry/keychain.jsonl"):
        for secret in row["secrets"]:
            for text in secret.get("data", {}).values():
                add("login", text, row["image"])
    digest = "sha256:" + "a" * 64
    manifest = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest, "size": 2},
                           "layers": [{"mediaType": "application/vnd.cncf.flux.content.v1.tar+gzip", "digest": digest, "size": 3, "annotations": {"org.opencontainers.image.title": "a"}}], "annotations": {"org.opencontainers.image.created": "2026-01-02T03:04:05Z"}})
    index = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest, "size": 9, "artifactType": "x", "platform": {"os": "linux", "architecture": "amd64"}}]})
    challenge = 'HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer realm="http://127.0.0.1:1/token",service="r",scope="repository:o/app:pull"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
    ok = "{}"
    typed = lambda body, kind: f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nDocker-Content-Digest: {digest}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    add("registry", ok, json.dumps({"name": "o/app", "tags": ["1", "2.0"]}))
    add("registry", ok, 'HTTP/1.1 200 OK\r\nLink: </v2/o/app/tags/list?last=b&n=2>; rel="next"\r\nConnection: close\r\n\r\n{"tags":["a","b"]}', '{"tags":["c"]}')
    add("registry", ok, typed(manifest, "application/vnd.oci.image.manifest.v1+json"), '{"created":"2026-01-02T03:04:05Z"}')
    add("registry", ok, typed(index, "application/vnd.oci.image.index.v1+json"), typed(manifest, "application/vnd.oci.image.manifest.v1+json"))
    add("registry", challenge, '{"token":"t","expires_in":60,"issued_at":"2026-01-02T03:04:05Z"}', '{"tags":[]}')
    add("registry", 'HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm="r"\r\nConnection: close\r\n\r\n', ok)
    add("registry", 'HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n{"errors":[{"code":"MANIFEST_UNKNOWN","message":"m","detail":{"Tag":"1"}}]}')
    add("registry", "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nConnection: close\r\n\r\nslow", "HTTP/1.1 307 T\r\nLocation: /v2/x\r\nConnection: close\r\n\r\n")
    for row in rows("verify/cosign.jsonl"):
        key = "".join(row["entries"].values())
        for manifest in list(row["manifests"].values()) + [row["referrers"]]:
            for blob in list(row["blobs"].values())[:2]:
                add("signatures", manifest, key, base64.b64decode(blob))
        for blob in row["blobs"].values():
            add("signatures", base64.b64decode(blob), key, b"{}")
    for row in rows("verify/git.jsonl"):
        key = "".join(row["entries"].values())
        add("signatures", base64.b64decode(row["raw"]), key)
        add("armour", row.get("signature", ""), key)
        add("armour", key, row.get("signature", ""))
    for path in (FIXTURES / "signing").iterdir():
        add("armour", path.read_bytes(), b"")
    for key in json.loads((FIXTURES / "sops/keys.json").read_text()).values():
        add("armour", key["private"], key["public"])
    for row in rows("sops/files.jsonl"):
        add("sops", row["file"])
        for line in row["file"].splitlines():
            if "BEGIN" in line and "AGE ENCRYPTED" in line and "\\n" in line:
                add("armour", json.loads('"' + line.split('"')[-2] + '"') if line.count('"') > 1 else line, "")


def of_servers():
    fixtures = ROOT / "crates/engine/webhook/tests/fixtures"
    for path in fixtures.glob("*.json"):
        for kind in ("push", "package", "registry_package", "create", "repo:push", "repo:refs_changed", "ping", "Push Hook"):
            if kind == "push" or path.name.split("-")[0] in ("github", "gitea", "bitbucket", "gitlab"):
                add("webhook", kind + "\napplication/json", path.read_bytes())
    add("webhook", "push\napplication/x-www-form-urlencoded", "payload=%7B%22ref%22%3A%22refs%2Fheads%2Fmain%22%7D")
    metadata = {"name": "b", "namespace": "a", "uid": "u", "resourceVersion": "7", "generation": 2, "labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["f"],
                "deletionTimestamp": "2026-01-02T03:04:05Z", "managedFields": [{"manager": "m", "operation": "Apply", "fieldsV1": {"f:spec": {}}}]}
    one = {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": metadata,
           "spec": {"interval": "1m", "path": "./", "prune": True, "sourceRef": {"kind": "GitRepository", "name": "x"}}, "status": {"observedGeneration": 2, "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z", "reason": "R", "message": "m" * 1100}]}}
    many = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "9", "continue": "t", "remainingItemCount": 1}, "items": [one, one]}
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "m", "reason": "NotFound", "details": {"name": "b", "kind": "k", "causes": [{"reason": "FieldValueInvalid", "field": "spec", "message": "x"}], "retryAfterSeconds": 1}, "code": 404}
    groups = {"kind": "APIResourceList", "groupVersion": "kustomize.toolkit.fluxcd.io/v1", "resources": [{"name": "kustomizations", "singularName": "", "namespaced": True, "kind": "Kustomization", "verbs": ["get", "list"]}]}
    text = json.dumps
    add("kube_answer", text(one), text(many), text(groups))
    add("kube_answer", text(many))
    body = text(status)
    add("kube_answer", f"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}", text(one))
    add("kube_answer", "HTTP/1.1 429 T\r\nRetry-After: 1\r\nConnection: close\r\n\r\n", "HTTP/1.1 500 T\r\nWarning: 299 - \"deprecated\"\r\nConnection: close\r\n\r\nno")
    add("kubeconfig", "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts:\n- name: a\n  context: {cluster: c, user: u, namespace: n}\nclusters:\n- name: c\n  cluster: {server: 'https://h:6443', certificate-authority-data: " + base64.b64encode(b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n").decode() + ", tls-server-name: x, proxy-url: 'http://u:p@h:1'}\nusers:\n- name: u\n  user: {token: t, exec: {command: x, apiVersion: client.authentication.k8s.io/v1, args: [a], env: [{name: a, value: b}]}}\n")
    add("kubeconfig", '{"apiVersion":"v1","clusters":[{"name":"c","cluster":{"server":"http://h","insecure-skip-tls-verify":true}}],"contexts":[{"name":"a","context":{"cluster":"c","user":"u"}}],"current-context":"a","users":[{"name":"u","user":{"username":"a","password":"b","client-certificate-data":"QQ==","client-key-data":"QQ==","as":"x"}}]}')
    key = (FIXTURES / "signing/p256.pem").read_bytes()
    add("kubeconfig", b"apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: https://h}}]\nusers: [{name: u, user: {client-key-data: " + base64.b64encode(key) + b"}}]\n")


for make in (of_yaml, of_builds, of_charts, of_texts, of_sources, of_git, of_images, of_servers):
    make()
