//! The rules: a closed set. Their ids are stable: people write them into their CI, and code scanning
//! tracks alerts by them.

use std::fmt;

use crate::Severity;

macro_rules! rules {
    ($($name:ident $id:literal $severity:ident $title:literal: $explanation:literal;)*) => {
        /// What a check looks for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $(
                #[doc = concat!("`", $id, "`: ", $title, ".")]
                $name,
            )*
        }

        impl Rule {
            /// All rules, by id.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            #[must_use]
            pub const fn id(self) -> &'static str {
                match self {
                    $(Self::$name => $id,)*
                }
            }

            /// What is wrong, in a few words.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$name => $title,)*
                }
            }

            /// The title as a sentence.
            #[must_use]
            pub const fn sentence(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($title, "."),)*
                }
            }

            /// How bad it is, unless a finding says otherwise.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self {
                    $(Self::$name => Severity::$severity,)*
                }
            }

            /// What it means and what to do: paragraphs of plain Markdown.
            #[must_use]
            pub const fn explanation(self) -> &'static str {
                match self {
                    $(Self::$name => $explanation,)*
                }
            }
        }
    };
}

rules! {
    Annotation "annotation" Error "An annotation of bumpwright.dev is misspelt or has an invalid value":
        "Annotations of `bumpwright.dev/` fail closed: an object with one that is unknown, belongs to another kind or does not parse is\n\
         not acted upon, and its Ready condition is False with the reason InvalidAnnotation.\n\n\
         What to do: correct the key or the value as the message says, or remove the annotation.\n\n\
         See: docs/reference/annotations.md";

    BuildFailed "build-failed" Error "A Kustomization does not build":
        "The build of the folder fails, or the decryption or substitution of what it builds, so the cluster keeps the state of the last\n\
         revision that did build, and nothing of a newer one is applied.\n\n\
         What to do: correct the file that the message names; `bumpwright build DIR` builds the folder alone.\n\n\
         See: docs/how/builds.md";

    ClearTextSecret "clear-text-secret" Error "A Secret is in Git in clear text":
        "Everybody who can read the repository, now or later, can read its values; deleting the file does not remove them from the history.\n\n\
         `fleet review` also warns of passwords, tokens and private keys that a change brings outside of Secrets: in ConfigMaps, variables of\n\
         containers, `postBuild.substitute` and the values of HelmReleases.\n\n\
         What to do: change the credentials, then encrypt the file with SOPS (`spec.decryption` of the Kustomization), or let an operator\n\
         read them from a vault.\n\n\
         See: docs/guides/sops.md";

    ConflictingAutomations "conflicting-automations" Error "Two automations set the same field":
        "Two ImageUpdateAutomations that push to the same branch follow the same marker. In one namespace they have the same policy: they\n\
         write the same, and one repeats its run when the other was quicker (a note). In two clusters each has its own policy of that name:\n\
         if these differ, each sets the field back, without end (an error).\n\n\
         What to do: run image automations in one cluster only, or give each its own `spec.update.path` or branch.\n\n\
         See: docs/guides/monorepos.md";

    DeadMarker "dead-marker" Warning "A marker changes nothing in these clusters":
        "The file has a marker, and no Kustomization of the fleet builds an object from its field: the field is updated and committed for\n\
         nobody. Usual causes: the file is not in the `resources` of its folder any more, or a patch or `images` overrides the field.\n\n\
         What to do: add the file to its kustomization, move the marker to the field that wins, or remove the marker.\n\n\
         See: docs/start/markers.md";

    Deletion "deletion" Warning "A change deletes objects, or a version of a definition":
        "The change removes what holds data or protects from what is applied: claims, StatefulSets, namespaces, definitions, NetworkPolicies and\n\
         custom resources whose operators may delete data with them; or a definition no longer serves a version. With a namespace or\n\
         definition all objects in it or of it go. Other objects that go are one note for each owner. Found by `fleet review` only.\n\n\
         What to do: make sure that this is meant, and that there is a backup; an object with the annotation\n\
         `kustomize.toolkit.fluxcd.io/prune: disabled`, or Helm's `helm.sh/resource-policy: keep`, is left.\n\n\
         See: docs/guides/reviews.md";

    DependencyCycle "dependency-cycle" Error "Kustomizations depend on each other in a circle":
        "Each of them waits in `spec.dependsOn` until another one is ready, so none is ever applied.\n\n\
         What to do: remove one dependency of the circle; the message has all in order.\n\n\
         See: docs/guides/kustomizations.md";

    EmptySelector "empty-selector" Warning "An automation selects no policy":
        "No ImagePolicy that the ImageUpdateAutomation may use has the labels of its `spec.policySelector`: it skips each marker, and updates\n\
         nothing.\n\n\
         What to do: correct the labels of the selector, or give them to the policies in `metadata.labels`.\n\n\
         See: docs/guides/troubleshooting.md";

    HealthCheckNotBuilt "health-check-not-built" Warning "A health check names an object that the fleet does not build":
        "The Kustomization waits for an object of `spec.healthChecks` that nothing in the fleet builds. Unless somebody else creates it,\n\
         such as a Helm release, the Kustomization fails when its timeout is over, and so do those that depend on it.\n\n\
         What to do: correct kind, name and namespace (as after the build), or remove the entry.\n\n\
         See: docs/guides/kustomizations.md";

    ImmutableField "immutable-field" Error "A change is in a field that never changes":
        "The API server refuses to update the field of an object that exists, such as `volumeClaimTemplates` of a StatefulSet, the selector of\n\
         a Deployment, the `roleRef` of a RoleBinding, or a smaller claim: the apply fails, and with it all of its Kustomization or release.\n\
         A warning where `force` lets the owner delete the object and make it again. Found by `fleet review` only.\n\n\
         What to do: give the object another name, or delete it by hand when the change is merged; `force` does that with each change.\n\n\
         See: docs/guides/reviews.md";

    IncludeCycle "include-cycle" Error "A Kustomization includes itself":
        "A folder lists itself among its resources, directly or through others, and cannot be built; or a Kustomization builds another\n\
         version of itself, which the cluster goes on to apply in its place, so that the two alternate.\n\n\
         What to do: let `spec.path` name a folder below which the Kustomization is not defined, or remove the entry from `resources`.\n\n\
         See: docs/guides/kustomizations.md";

    InvalidAutomation "invalid-automation" Error "A field of an image update automation that no run can use":
        "`spec.git.push.branch`, `spec.git.push.refspec` or `spec.git.checkout.ref` has a name that Git refuses, or a range that does not\n\
         parse; or `spec.policySelector` is not valid: each run fails, and no field is set. An author's address with `<`, `>` or a line break\n\
         is a warning: Git leaves these out.\n\n\
         What to do: correct what the message names; `git check-ref-format --branch NAME` says whether Git takes a branch.\n\n\
         See: docs/guides/troubleshooting.md";

    InvalidManifest "invalid-manifest" Error "A file does not parse":
        "The file is not valid YAML or JSON, is not UTF-8, or has a document without `apiVersion`, `kind` or `metadata.name`, so no object\n\
         is read from it. In a folder without a kustomization.yaml it fails the build of the whole folder.\n\n\
         What to do: correct the line that is named; move what is not a manifest (templates, values) out of the folder, or into its\n\
         `.sourceignore`.\n\n\
         See: docs/how/builds.md";

    InvalidPolicy "invalid-policy" Error "An image policy's rule or filter is not valid":
        "A range that does not parse, an order that is none, a pattern that is no regular expression, or an `extract` that names no group of\n\
         it: the policy chooses nothing, its Ready condition is False with the reason InvalidPolicy, and no field is updated.\n\n\
         What to do: correct what the message names, and try it: `bumpwright policy -f FILE`.\n\n\
         See: docs/guides/policies.md";

    InvalidTemplate "invalid-template" Error "The template of a commit message is not valid":
        "`spec.git.commit.messageTemplate`, or the annotation `bumpwright.dev/revert-message`, is not a Go template, or names a function or\n\
         field that does not exist: the automation writes nothing, and its Ready condition is False.\n\n\
         What to do: correct what the message names, and try it: `bumpwright message -f FILE`.\n\n\
         See: docs/guides/messages.md";

    LargeChange "large-change" Note "A change is in many objects":
        "Sixty objects or more change, or objects of ten Kustomizations and HelmReleases or more, in one cluster.\n\
         Found by `fleet review` only.\n\n\
         What to do: look whether all of this is meant: a base or a chart that many use changes all of them.\n\n\
         See: docs/guides/reviews.md";

    LeftBehind "left-behind" Note "A change leaves objects in the cluster":
        "The change removes objects from what is applied, and their owner does not delete them: `spec.prune` is false, or its deletion policy\n\
         is Orphan. They go on running, and nobody updates them. Found by `fleet review` only.\n\n\
         What to do: delete them by hand when the change is merged, or set `prune: true` first.\n\n\
         See: docs/guides/reviews.md";

    Limit "limit" Error "A bound is exceeded, and the rest was not looked at":
        "The number of objects, their size, the depth of Kustomizations in Kustomizations or the time is over its bound. What comes after\n\
         it in the same Kustomization is not part of the report; the other Kustomizations are.\n\n\
         What to do: look for what generates objects without end; else raise the bound, or check the clusters one by one.\n\n\
         See: docs/how/security.md";

    ListReplaced "list-replaced" Warning "A patch drops items of a list":
        "A merge patch changes a list of a kind that has no schema in the build, such as a Rollout or another custom resource. kustomize does\n\
         not know that the items of the list have names, so the list of the patch takes its place: items that the patch does not repeat are\n\
         gone, and so are fields of those that it does.\n\n\
         What to do: change the list by a JSON patch, or repeat all items; or give kustomize a schema (`openapi: {path: FILE}`) in which the\n\
         list has `x-kubernetes-patch-merge-key` and `x-kubernetes-patch-strategy: merge`.\n\n\
         See: docs/how/builds.md";

    MajorVersion "major-version" Note "A change goes to another major version":
        "The version of an image, chart or source has another major number, which by convention means that something is not compatible.\n\
         Found by `fleet review` only.\n\n\
         What to do: read the release notes before it is merged.\n\n\
         See: docs/guides/reviews.md";

    MissingChart "missing-chart" Error "The chart of a HelmRelease cannot be had":
        "The chart, or the version of it that is asked for, is not in its repository; its folder is not in the source; it is damaged, or\n\
         needs a chart that cannot be had. helm-controller installs nothing.\n\n\
         What to do: correct name and version of the chart, and the URL of its repository.\n\n\
         See: docs/guides/fleet.md";

    MissingConfigMap "missing-config-map" Warning "A ConfigMap that is referred to is not in the fleet":
        "`postBuild.substituteFrom` or another field names a ConfigMap that no Kustomization builds. If it is not created by other means,\n\
         the reconciliation fails. Of pods only slips are found: a name that is nearly that of a ConfigMap in the same namespace, and keys\n\
         that a ConfigMap of the fleet does not have.\n\n\
         What to do: correct the name (in the namespace of the object that names it), add the ConfigMap, or set `optional: true`.\n\n\
         See: docs/guides/kustomizations.md";

    MissingDependency "missing-dependency" Error "A dependency is not in the fleet":
        "`spec.dependsOn` names a Kustomization that nothing in the fleet defines, so the one that depends on it is never applied.\n\n\
         What to do: correct the name and namespace (default: the Kustomization's own), or remove the entry.\n\n\
         See: docs/guides/kustomizations.md";

    MissingImage "missing-image" Error "A change brings an image that its registry does not have":
        "The registry answers that it has no such image or tag: the pods cannot start. Found by `fleet review` only, which asks with your own\n\
         logins; what cannot be asked is reported as a note.\n\n\
         What to do: correct the name or the tag, or push the image before the change is merged.\n\n\
         See: docs/guides/reviews.md";

    MissingImageRepository "missing-image-repository" Error "A policy's ImageRepository is not in the fleet":
        "`spec.imageRepositoryRef` of the ImagePolicy names an ImageRepository that nothing in the fleet defines, so the policy has no tags\n\
         to choose from, and its markers are never followed.\n\n\
         What to do: correct the name and the namespace, or add the ImageRepository.\n\n\
         See: docs/guides/policies.md";

    MissingNamespace "missing-namespace" Warning "Nothing in the fleet creates a namespace":
        "Objects are in a namespace that no Namespace of the fleet is, and no HelmRelease creates (`install.createNamespace` with another\n\
         `targetNamespace`). If it is not created by other means, applying them fails. A fleet without any Namespace is not looked at, nor are\n\
         `default`, `flux-system` and `kube-*`.\n\n\
         What to do: correct the namespace, or add a Namespace; accept the finding if something outside of the repository creates it.\n\n\
         See: docs/guides/fleet.md";

    MissingPath "missing-path" Warning "The path of an automation does not exist":
        "`spec.update.path` of the ImageUpdateAutomation names a folder or file that this state of the repository does not have: each run\n\
         fails, and no field is set.\n\n\
         What to do: correct the path, from the root of the repository.\n\n\
         See: docs/guides/troubleshooting.md";

    MissingSecret "missing-secret" Warning "A Secret that is referred to is not in the fleet":
        "A `secretRef` of an object of Flux names a Secret that no Kustomization builds. That is normal for those that are created by hand\n\
         or by a program, such as the key of SOPS or the login to the Git server; without others the object that needs it fails.\n\
         Of pods only slips are found: a name that is nearly that of a Secret in the same namespace, and keys that a Secret of the fleet\n\
         does not have.\n\n\
         What to do: correct the name (in the namespace of the object that names it), or add it, encrypted.\n\n\
         See: docs/guides/sops.md";

    MissingServiceAccount "missing-service-account" Warning "A ServiceAccount of pods is not in the fleet":
        "`serviceAccountName` of a pod names a ServiceAccount that nothing in the fleet makes, so its pods are not created. It is a\n\
         warning if the name is nearly that of another one in the same namespace, else a note: an operator or a person may have made it.\n\
         Only a fleet that was built and rendered as a whole is looked at for notes, and there the namespaces that it creates.\n\n\
         What to do: correct the name, or add the ServiceAccount.\n\n\
         See: docs/guides/fleet.md";

    MissingSource "missing-source" Error "A source is not in the fleet":
        "`spec.sourceRef` names a GitRepository, OCIRepository or Bucket that nothing in the fleet defines, so the object that names it has\n\
         nothing to reconcile.\n\n\
         What to do: correct kind, name and namespace (default: the object's own), or add the source.\n\n\
         See: docs/guides/kustomizations.md";

    NotCompared "not-compared" Warning "A change is in what could not be built, so its effect is not known":
        "A Kustomization or HelmRelease fails before the change and after it, or its source or chart cannot be had here, and the change has\n\
         files, fields or values that it is built from. What this does in the cluster is not known, which is not the same as nothing.\n\
         Found by `fleet review` only.\n\n\
         What to do: mend what fails first, or review where the source or the chart can be reached.\n\n\
         See: docs/guides/reviews.md";

    OlderVersion "older-version" Warning "A change goes back to an older version":
        "The version of an image or chart is older than the one before. Data that the newer one has written may not be readable for it, and an\n\
         automation may set it forward again. Found by `fleet review` only.\n\n\
         What to do: if it is meant, hold the policy (`bumpwright.dev/hold`) so that it stays.\n\n\
         See: docs/guides/reviews.md";

    OwnedTwice "owned-twice" Error "Two Kustomizations build the same object":
        "Each applies its own version of the object again and again, and the last one owns it: when that one stops building the object and\n\
         has `prune: true`, it is deleted, although the other still wants it.\n\n\
         What to do: leave the object to one of the two that are named, or give them different `spec.targetNamespace`.\n\n\
         See: docs/how/apply-and-prune.md";

    PrivilegedPod "privileged-pod" Warning "A change gives pods more rights on their node":
        "Pods get what the level Baseline of Kubernetes' Pod Security Standards forbids and they did not have before: privileged containers,\n\
         the network, processes or files of the node, added capabilities, ports of the node, or no seccomp or AppArmor profile.\n\
         Found by `fleet review` only.\n\n\
         What to do: give what is needed and no more; a namespace that enforces a level refuses such pods.\n\n\
         See: docs/guides/reviews.md";

    RefusedObject "refused-object" Error "The API server refuses the object, whatever its schema says":
        "The server's own rules refuse it: a selector that does not match the labels of its template, a container without image, a mount of a\n\
         volume that does not exist, a name that is used twice, a schedule that does not parse, a Service without ports, and others. Two variables of\n\
         a container with one name are refused where Flux applies the object; Helm need not mind. Nothing of its stage of the Kustomization is applied.\n\n\
         What to do: correct the field that is named. `kubectl apply --server-side --dry-run=server` asks a server.\n\n\
         See: docs/guides/fleet.md";

    RemovedApi "removed-api" Error "The API version is not served by this version of Kubernetes":
        "The object has an API version that the chosen minor version of Kubernetes does not have any more, or not yet. Applying it fails,\n\
         and with it its stage of the Kustomization.\n\n\
         What to do: use the `apiVersion` in the message, with the fields that changed; or check with the cluster's version of Kubernetes.";

    RenderFailed "render-failed" Error "A chart cannot be rendered with the values of its release":
        "The templates of the chart fail, its JSON schema refuses the values, what comes out is not YAML, or a post-renderer fails. The\n\
         message is Helm's. helm-controller installs nothing.\n\n\
         What to do: correct the value that is named; `bumpwright helm template` renders the chart with values from files.\n\n\
         See: docs/guides/helm.md";

    Resumed "resumed" Warning "A change resumes what was suspended":
        "`spec.suspend` is removed or false again: everything that has changed in Git since it was suspended is applied at once, not only this\n\
         change. Found by `fleet review` only.\n\n\
         What to do: look at the whole difference first (`bumpwright diff -k`), then merge.\n\n\
         See: docs/guides/reviews.md";

    ScaledToZero "scaled-to-zero" Warning "A change leaves a workload without pods":
        "`spec.replicas` becomes 0. Found by `fleet review` only.\n\n\
         What to do: make sure that this is meant.\n\n\
         See: docs/guides/reviews.md";

    Schema "schema" Error "A field does not fit its schema":
        "The value has another type than the kind's schema wants, is outside of its bounds or not one of its choices, or a required field is\n\
         missing. The API server refuses the object, and with it its stage of the Kustomization.\n\n\
         What to do: correct the field that is named; `kubectl explain KIND.FIELD` has its documentation.";

    StaleDefinition "stale-definition" Warning "A change of a chart's crds/ does not reach the cluster":
        "Helm creates the CustomResourceDefinitions in the `crds/` of a chart when it is installed. An upgrade leaves them as they are, unless\n\
         `spec.upgrade.crds` of the HelmRelease is `Create` (missing ones) or `CreateReplace`: then the new version of the chart runs with the\n\
         old definitions, which drop fields that are new. One that is gone from the chart stays, which is a note. Found by `fleet review` only.\n\n\
         What to do: set `upgrade.crds: CreateReplace`, or apply the definitions by other means before the chart.\n\n\
         See: docs/guides/reviews.md";

    SuspendedChange "suspended-change" Warning "A change is not applied, since its owner is suspended":
        "The objects belong to a Kustomization or HelmRelease with `spec.suspend: true` or whose source has that, or the change suspends it:\n\
         nothing of it reaches the cluster until it is resumed. Found by `fleet review` only.\n\n\
         What to do: resume it, or expect that nothing happens.\n\n\
         See: docs/guides/reviews.md";

    UndefinedVariable "undefined-variable" Warning "A variable has no value":
        "The built objects have a `${variable}` that neither `postBuild.substitute` nor `substituteFrom` defines and that has no default. It\n\
         fails the build, unless the gate `StrictPostBuildSubstitutions` is off (`--strict-substitute=false`): then it is empty, which often\n\
         makes an invalid name or image.\n\n\
         What to do: define it, or give a default: `${variable:=default}`. Write `$$` for a `$` that is not Flux's; leave out a whole object\n\
         by the annotation `kustomize.toolkit.fluxcd.io/substitute: disabled`.\n\n\
         See: docs/guides/kustomizations.md";

    UnknownChart "unknown-chart" Note "A chart, or the schema of its values, was not looked at":
        "The chart of the HelmRelease cannot be had here (`--offline` and not kept on this machine, or its source is unknown), so what it\n\
         installs is not part of the view. Objects that it brings are missing in the checks of others. A schema that refers to another one at\n\
         an address is not fetched: the release is rendered without it.\n\n\
         What to do: nothing, or check again where the chart can be reached; or give it with `--charts DIR`.";

    UnknownField "unknown-field" Error "A field that the kind does not have":
        "The schema of the kind does not have the field. Most often it is misspelt, or indented into the wrong parent: what was meant is not\n\
         set. For Kubernetes' own kinds server-side apply refuses the object; for others the field is dropped.\n\n\
         What to do: correct the field that is named; the message suggests the nearest that the kind has.";

    UnknownKind "unknown-kind" Warning "The kind is not known":
        "Neither the chosen version of Kubernetes nor a CustomResourceDefinition in the fleet defines the kind, so the fields of the object\n\
         were not checked. Without its definition in the cluster, applying it fails.\n\n\
         What to do: correct `apiVersion` and `kind`, or add the definition to the fleet; nothing if something outside of the repository brings it.";

    UnknownPolicy "unknown-policy" Error "A marker names a policy that is not in the fleet":
        "The comment `{\"$imagepolicy\": \"namespace:name\"}` names an ImagePolicy that nothing in the fleet defines, so its field is never\n\
         updated. The rule has all other faults of markers, too: misspelt ones (`$imagepolcy`, a part `tga`), one within a text, a field that\n\
         does not fit its marker, a policy of a namespace whose automations do not look at the file, and a tag beside the name of another\n\
         image than the policy's.\n\n\
         What to do: correct name and namespace (as after the build), add the ImagePolicy, or remove the marker.\n\n\
         See: docs/start/markers.md";

    UnknownSource "unknown-source" Note "A source of another repository was not looked at":
        "The Kustomization reads another Git repository, an OCI artifact or a bucket that was not fetched (`--offline`, or it cannot be\n\
         reached), so what it builds is not part of the view. Objects that it brings are missing in the checks of others.\n\n\
         What to do: nothing, or check again where the source can be reached.";

    UnmatchedAcceptance "unmatched-acceptance" Note "Something is accepted that is not found":
        "`accept` of .bumpwright.yaml, an annotation or comment `bumpwright.dev/accept`, or a line of the baseline is for a finding that is not\n\
         there any more. Were the fault to come back, it would be accepted too. The rule has all other faults of acceptances, too: an entry\n\
         without a reason, or with a rule that does not exist, is an error and accepts nothing.\n\n\
         What to do: remove it; write the baseline again (`--write-baseline`).\n\n\
         See: docs/guides/fleet.md";

    UnmatchedPatch "unmatched-patch" Warning "A patch is for no object":
        "The `target` of the patch matches no object in any Kustomization that has the patch, so it changes nothing. kustomize does not mind.\n\n\
         What to do: correct the target (group, kind, name and namespace from before this kustomization's changes), or remove the patch.\n\n\
         See: docs/how/builds.md";

    UnmatchedRule "unmatched-rule" Warning "A rule of .bumpwright.yaml is not followed":
        "No file of the repository has a name as `files` of the rule says, so it sets nothing. An error if the rule file itself cannot be read:\n\
         then none of its rules is followed. A rule file of another name, or in another folder, is not followed either.\n\n\
         What to do: correct the place that is named, or remove the rule; move the file to the root of the repository.\n\n\
         See: docs/guides/rules.md";

    UnreadValue "unread-value" Warning "A value of a release that no template reads":
        "No template of the chart and of its subcharts names the value, the chart has no default for it, and its schema does not know the\n\
         key. Most often it is misspelt, or in the wrong parent: what was meant is not set. In doubt nothing is said: a value that is passed on\n\
         (`toYaml`, `with`, `range`, `include`) counts with all that is below it, and where a chart passes `.Values` on, all of them; `global` is\n\
         nobody's. A value that a patch gives to several releases, one of which reads it, is meant for that one.\n\n\
         What to do: correct the key that is named, or remove it; the message suggests the nearest that is read.\n\n\
         See: docs/guides/fleet.md";

    UnseenObjects "unseen-objects" Note "Objects that ResourceSets make were not looked at":
        "A ResourceSet of flux-operator makes objects of its templates, for each of its inputs. These are not rendered: what they are is not\n\
         part of the view, and they are missing in the checks of others. The message has their number, as far as the inputs are in the object.\n\n\
         What to do: nothing; look at what flux-operator has made in the cluster.\n\n\
         See: docs/guides/fleet.md";

    WiderRights "wider-rights" Warning "A change gives somebody more rights in the cluster":
        "A binding has new subjects or another role, is new for the whole cluster, for everybody or to a role that allows everything; a role\n\
         allows more than before, or a new ClusterRole reads Secrets, runs in pods or gets the rights of others; or a Kustomization or\n\
         HelmRelease is applied with another ServiceAccount, or none of its own. Found by `fleet review` only.\n\n\
         What to do: make sure that each of these rights is needed.\n\n\
         See: docs/guides/reviews.md";
}

impl Rule {
    /// Whether it is about a change, as in `fleet review`, and not about one state.
    #[must_use]
    pub const fn is_about_a_change(self) -> bool {
        matches!(
            self,
            Self::Deletion
                | Self::ImmutableField
                | Self::LargeChange
                | Self::LeftBehind
                | Self::MajorVersion
                | Self::MissingImage
                | Self::NotCompared
                | Self::OlderVersion
                | Self::PrivilegedPod
                | Self::Resumed
                | Self::ScaledToZero
                | Self::StaleDefinition
                | Self::SuspendedChange
                | Self::WiderRights
        )
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_in_order_and_in_kebab_case() {
        assert!(Rule::ALL.is_sorted_by_key(|rule| rule.id()), "{:?}", Rule::ALL);
        let ids: BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.id()).collect();
        assert_eq!(ids.len(), Rule::ALL.len());
        let is_kebab = |id: &str| {
            id.split('-')
                .all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase()))
        };
        assert!(ids.iter().all(|id| is_kebab(id)), "{ids:?}");
    }

    #[test]
    fn titles_and_explanations_are_short_and_say_what_to_do() {
        for rule in Rule::ALL {
            let (title, explanation) = (rule.title(), rule.explanation());
            assert!(
                title.len() <= 80 && !title.ends_with('.') && !title.contains('\n'),
                "{title}"
            );
            assert!(explanation.contains("\n\nWhat to do: "), "{rule}");
            let lines: Vec<&str> = explanation.lines().filter(|line| !line.is_empty()).collect();
            assert!((3..=8).contains(&lines.len()), "{rule}: {} lines", lines.len());
            for line in lines {
                assert!(line.chars().count() <= 150 && line.trim() == line, "{rule}: {line}");
            }
        }
    }
}
