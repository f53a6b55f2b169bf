//! `helmCharts` rendered in process, beside kustomize with the helm program: byte for byte.

use bumpwright_testkit::cli::{Bench, ran};
use bumpwright_testkit::repo::{git, run};
use std::path::Path;
use std::process::Command;

/// A chart with what helm does besides templates: a subchart with a condition and an alias, definitions, hooks,
/// tests, versions of APIs.
pub(super) const FILES: &[(&str, &str)] = &[
    (
        "charts/web/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.2.0\nappVersion: '7'\n\
         dependencies:\n- {name: db, version: 1.x, alias: store, condition: store.enabled}\n",
    ),
    (
        "charts/web/values.yaml",
        "replicas: 1\nimage: {repository: web, tag: '1.10'}\nlabels: {a: x, b: y}\nlist: [1, 2]\nnothing: null\n\
         store: {enabled: true, size: 1Gi}\nglobal: {region: eu}\n",
    ),
    (
        "charts/web/templates/_helpers.tpl",
        "{{- define \"web.name\" -}}{{ printf \"%s-%s\" .Release.Name .Chart.Name | trunc 63 }}{{- end -}}\n",
    ),
    (
        "charts/web/templates/deployment.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ include \"web.name\" . }}\n  labels: {{- toYaml .Values.labels | nindent 4 }}\n\
         spec:\n  replicas: {{ .Values.replicas }}\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      \
         containers:\n      - name: web\n        image: \"{{ .Values.image.repository }}:{{ .Values.image.tag }}\"\n        \
         args: {{- range .Values.list }}\n        - {{ . | quote }}{{ end }}\n        env:\n        - {name: REGION, value: {{ .Values.global.region }}}\n        \
         {{- with .Values.extra }}\n        - {name: EXTRA, value: {{ tpl . $ | quote }}}\n        {{- end }}\n",
    ),
    (
        "charts/web/templates/config.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ include \"web.name\" . }}\n  namespace: {{ .Release.Namespace }}\ndata:\n  \
         kube: {{ .Capabilities.KubeVersion.Version | quote }}\n  monitors: {{ .Capabilities.APIVersions.Has \"monitoring.coreos.com/v1\" | quote }}\n  \
         values: {{ .Values | toJson | sha256sum }}\n---\n# nothing\n---\n{{- if gt (int .Values.replicas) 1 }}\napiVersion: policy/v1\nkind: PodDisruptionBudget\n\
         metadata: {name: {{ include \"web.name\" . }}}\nspec: {minAvailable: 1, selector: {matchLabels: {app: web}}}\n{{- end }}\n",
    ),
    (
        "charts/web/templates/hook.yaml",
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  annotations: {helm.sh/hook: \"pre-install,pre-upgrade\", helm.sh/hook-weight: \"2\"}\n\
         spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}\n",
    ),
    (
        "charts/web/templates/tests/test.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: test\n  annotations: {helm.sh/hook: test}\nspec: {containers: [{name: a, image: b}]}\n",
    ),
    (
        "charts/web/templates/NOTES.txt",
        "Thank you for installing {{ .Chart.Name }}.\n",
    ),
    (
        "charts/web/crds/gadgets.yaml",
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: gadgets.example.com}\n\
         spec:\n  group: example.com\n  scope: Namespaced\n  names: {kind: Gadget, plural: gadgets}\n  versions:\n  \
         - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n",
    ),
    (
        "charts/web/charts/db/Chart.yaml",
        "apiVersion: v2\nname: db\nversion: 1.4.0\n",
    ),
    ("charts/web/charts/db/values.yaml", "size: 10Gi\nmode: single\n"),
    (
        "charts/web/charts/db/templates/claim.yaml",
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: {{ .Release.Name }}-{{ .Chart.Name }}-{{ .Values.mode }}}\n\
         spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: {{ .Values.size }}}}}\n",
    ),
    ("more/plain/Chart.yaml", "apiVersion: v1\nname: plain\nversion: 0.0.1\n"),
    (
        "more/plain/templates/secret.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: {{ .Release.Name }}, labels: {heritage: {{ .Release.Service }}}}\n\
         stringData: {{- .Values | toYaml | nindent 2 }}\n",
    ),
    ("more/plain/values.yaml", "user: admin\n"),
    ("one.yaml", "replicas: 2\nimage: {tag: 2.0.0}\nlabels: {c: z}\n"),
    (
        "two.yaml",
        "list: [3]\nextra: '{{ .Release.Name }}!'\nstore: {mode: many}\n",
    ),
    (
        "patch.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop-web}\ndata: {kube: patched}\n",
    ),
];

/// Fields of one chart.
const CHARTS: &[&str] = &[
    "name: web, releaseName: shop",
    "name: web, releaseName: shop, namespace: blue",
    "name: web, releaseName: shop, includeCRDs: true",
    "name: web, releaseName: shop, skipHooks: true",
    "name: web, releaseName: shop, skipTests: true",
    "name: web, releaseName: shop, skipTests: true, skipHooks: true, includeCRDs: true",
    "name: web, releaseName: shop, version: 1.2.0",
    "name: web, releaseName: shop, valuesFile: one.yaml",
    "name: web, releaseName: shop, additionalValuesFiles: [one.yaml, two.yaml]",
    "name: web, releaseName: shop, valuesFile: two.yaml, additionalValuesFiles: [one.yaml]",
    "name: web, releaseName: shop, valuesInline: {replicas: 5}",
    "name: web, releaseName: shop, valuesInline: {labels: {b: null, d: w}, list: []}",
    "name: web, releaseName: shop, valuesInline: {replicas: 5}, valuesMerge: override",
    "name: web, releaseName: shop, valuesInline: {replicas: 5, image: {tag: 3.0.0}}, valuesMerge: merge",
    "name: web, releaseName: shop, valuesInline: {extra: '{{ .Values.image.tag }}'}, valuesMerge: replace",
    "name: web, releaseName: shop, valuesFile: one.yaml, valuesInline: {replicas: 5, labels: {e: v}}",
    "name: web, releaseName: shop, valuesFile: one.yaml, valuesInline: {replicas: 5, labels: {c: v}}, valuesMerge: merge",
    "name: web, releaseName: shop, valuesFile: one.yaml, valuesInline: {replicas: 5}, valuesMerge: replace",
    "name: web, releaseName: shop, valuesInline: {store: {enabled: false}}",
    "name: web, releaseName: shop, valuesInline: {store: {size: 5Gi, mode: many}, global: {region: us}}",
    "name: web, releaseName: shop, kubeVersion: 1.30.1",
    "name: web, releaseName: shop, apiVersions: [monitoring.coreos.com/v1, example.com/v1]",
    "name: web, releaseName: shop, apiVersions: [example.com/v1], kubeVersion: v1.29.0",
    "name: web, nameTemplate: 'x-{{ upper \"a\" | lower }}', namespace: green",
    "name: web, releaseName: shop, valuesInline: {image: {repository: 'registry.example.com:5000/web', tag: 0x10}}",
    "name: web, releaseName: shop, valuesInline: {labels: {on: 'yes', n: \"1\"}}",
];

/// Whole kustomizations.
const KUSTOMIZATIONS: &[&str] = &[
    "helmCharts:\n- {name: web, releaseName: shop}\nnamespace: red\n",
    "helmCharts:\n- {name: web, releaseName: shop, namespace: blue}\nnamespace: red\n",
    "helmCharts:\n- {name: web, releaseName: shop}\nnameSuffix: -x\ncommonLabels: {team: a}\n",
    "helmCharts:\n- {name: web, releaseName: shop}\nimages:\n- {name: web, newTag: '9'}\n",
    "helmCharts:\n- {name: web, releaseName: shop}\npatches:\n- {path: patch.yaml}\n",
    "helmCharts:\n- {name: web, releaseName: shop}\nreplicas:\n- {name: shop-web, count: 4}\n",
    "helmCharts:\n- {name: web, releaseName: a}\n- {name: web, releaseName: b, skipHooks: true, skipTests: true}\n",
    "helmGlobals: {chartHome: more}\nhelmCharts:\n- {name: plain, releaseName: p}\n",
    "helmGlobals: {chartHome: more}\nhelmCharts:\n- {name: plain, releaseName: p, valuesInline: {user: bob, port: 8080}}\n",
    "helmGlobals: {chartHome: more}\nhelmCharts:\n- {name: plain, releaseName: p, valuesInline: {f: 1.50, big: 12345678, s: '0x1', t: 2020-01-01}}\n",
    "helmChartInflationGenerator:\n- {chartName: web, releaseName: shop}\n",
    "helmChartInflationGenerator:\n- {chartName: web, releaseName: shop, values: one.yaml, valuesLocal: {replicas: 7}, valuesMerge: override}\n",
    "helmChartInflationGenerator:\n- {chartName: plain, chartHome: more, releaseName: shop}\n",
    "generators:\n- |-\n  apiVersion: builtin\n  kind: HelmChartInflationGenerator\n  metadata: {name: g}\n  name: web\n  releaseName: shop\n  \
     valuesInline: {replicas: 3}\n",
    "helmCharts:\n- {name: web, releaseName: shop}\nconfigMapGenerator:\n- {name: more, literals: [a=b]}\nlabels:\n- {pairs: {x: z}, includeSelectors: true}\n",
];

fn kustomizations() -> impl Iterator<Item = String> {
    let charts = CHARTS.iter().map(|fields| format!("helmCharts:\n- {{{fields}}}\n"));
    charts.chain(KUSTOMIZATIONS.iter().map(|text| (*text).to_owned()))
}

fn bench() -> Bench {
    let bench = Bench::new();
    for (name, text) in FILES {
        bench.write(name, text);
    }
    bench
}

fn by_program(bench: &Bench, kustomize: &Path, helm: &Path) -> String {
    let mut command = Command::new(kustomize);
    command
        .args(["build", "--enable-helm", "--helm-command"])
        .arg(helm)
        .arg(".");
    command.env("HOME", bench.home.path()).current_dir(&bench.dir);
    let ran = ran(command.output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran.out
}

#[test]
fn charts_of_kustomizations_are_what_helm_renders() {
    let tools = (bumpwright_testkit::tool("kustomize"), bumpwright_testkit::tool("helm4"));
    let (Some(kustomize), Some(helm)) = tools else {
        return;
    };
    let mut wrong = Vec::new();
    let mut total = 0;
    for text in kustomizations() {
        let bench = bench();
        bench.write("kustomization.yaml", &text);
        let wanted = by_program(&bench, &kustomize, &helm);
        let ran = bench.run(&["build", ".", "--enable-helm"]);
        total += 1;
        if ran.code != 0 || ran.out != wanted {
            let lines = wanted.lines().zip(ran.out.lines());
            let differs = lines.into_iter().find(|(wanted, got)| wanted != got);
            wrong.push(format!("{text}{}{differs:?}", ran.err));
        }
    }
    assert!(total >= 40, "{total}");
    assert!(
        wrong.is_empty(),
        "{} of {total} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn a_chart_that_cannot_be_rendered_is_named_with_its_place() {
    for (fields, wanted) in [
        (
            "name: none, releaseName: a",
            "no repo specified for pull, no chart found at",
        ),
        ("name: web, releaseName: Big", "chart web: release name check failed"),
        (
            "name: web, releaseName: a, kubeVersion: x",
            "chart web: invalid kube version 'x'",
        ),
        (
            "name: web, releaseName: a, nameTemplate: b",
            "cannot set --name-template and also specify a name",
        ),
        (
            "name: web, releaseName: a, valuesInline: {labels: {a: b}, image: none}, valuesMerge: replace",
            "web/templates/deployment.yaml:",
        ),
        ("name: web, releaseName: a, valuesFile: none.yaml", "none.yaml"),
    ] {
        let bench = bench();
        bench.write("kustomization.yaml", format!("helmCharts:\n- {{{fields}}}\n"));
        let ran = bench.run(&["build", ".", "--enable-helm"]);
        assert_eq!((ran.code, &*ran.out), (2, ""), "{fields}");
        assert!(
            ran.err.contains(wanted) && ran.err.contains("kustomization.yaml:2:"),
            "{fields}: {}",
            ran.err
        );
        let without = bench.run(&["build", "."]);
        assert!(without.err.contains("--enable-helm"), "{}", without.err);
    }
}

/// A chart must not bring files of the machine into a build.
#[test]
fn a_link_out_of_a_chart_is_read_only_where_the_build_may_read() {
    let bench = bench();
    let secret = bench.home.path().join("secret.txt");
    std::fs::write(&secret, "hidden").unwrap();
    std::os::unix::fs::symlink(&secret, bench.path("more/plain/secret.txt")).unwrap();
    bench.write(
        "more/plain/templates/leak.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: {{ .Files.Get \"secret.txt\" }}}\n",
    );
    bench.write(
        "kustomization.yaml",
        "helmGlobals: {chartHome: more}\nhelmCharts:\n- {name: plain, releaseName: p}\n",
    );
    let ran = bench.run(&["build", ".", "--enable-helm"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(
        ran.err.contains("secret.txt") && !ran.err.contains("hidden"),
        "{}",
        ran.err
    );
    let ran = bench.run(&[
        "build",
        ".",
        "--enable-helm",
        "--load-restrictor",
        "LoadRestrictionsNone",
    ]);
    assert!(ran.out.contains("a: hidden"), "{}{}", ran.out, ran.err);
}

/// Two states of one chart differ by what changed, and not by chance.
#[test]
fn a_comparison_is_quiet_about_chance() {
    let bench = bench();
    bench.write(
        "more/plain/templates/chance.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: {{ randAlphaNum 8 }}, b: {{ uuidv4 }}, c: {{ now | unixEpoch | quote }}, d: {{ .Values.user }}}\n",
    );
    let text = |user: &str| {
        format!(
            "helmGlobals: {{chartHome: more}}\nhelmCharts:\n- {{name: plain, releaseName: p, valuesInline: {{user: {user}}}}}\n"
        )
    };
    bench.write("kustomization.yaml", text("ann"));
    let built = || bench.run(&["build", ".", "--enable-helm"]).out;
    assert_ne!(built(), built());
    let git = |arguments: &[&str]| drop(run(git(&bench.dir).args(arguments)));
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "one"]);
    bench.write("kustomization.yaml", text("bob"));
    git(&["commit", "-qam", "two"]);
    let ran = bench.run(&["diff", ".", "--from", "HEAD~1", "--to", "HEAD", "--enable-helm"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.out.contains("ann") && ran.out.contains("bob"), "{}", ran.out);
    let changed = ran.out.lines().filter(|line| line.contains("data.")).count();
    assert_eq!(changed, 1, "{}", ran.out);
}
