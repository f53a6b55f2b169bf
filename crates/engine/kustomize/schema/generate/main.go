// Schema writes the merge information of kyaml's built-in OpenAPI as the table in this folder (see README.md).
package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const definitionPrefix = "#/definitions/"

// merge tells how lists of this schema are merged: "<key+key>" where elements are, nothing where they are replaced.
func merge(s *spec.Schema) string {
	strategy, keys := (&openapi.ResourceSchema{Schema: s}).PatchStrategyAndKeyList()
	for _, part := range strings.Split(strategy, ",") {
		if part == "merge" {
			return "<" + strings.Join(keys, "+") + ">"
		}
	}
	return ""
}

// expression writes a schema without fields of its own.
func expression(s *spec.Schema) string {
	switch {
	case s.Ref.String() != "":
		return strings.TrimPrefix(s.Ref.String(), definitionPrefix)
	case len(s.Properties) > 0:
		panic("fields in a place that is no definition")
	case len(s.Type) == 1 && s.Type[0] == "array" && s.Items != nil:
		return merge(s) + "[" + expression(s.Items.Schema)
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "{" + expression(s.AdditionalProperties.Schema)
	}
	return "."
}

// kinds finds every pair of apiVersion and kind: those of definitions, and those that only the table of scopes names.
func kinds(source string) map[yaml.TypeMeta]string {
	found := map[yaml.TypeMeta]string{}
	pattern := regexp.MustCompile(`\{APIVersion: "([^"]+)", Kind: "([^"]+)"\}`)
	for _, match := range pattern.FindAllStringSubmatch(source, -1) {
		found[yaml.TypeMeta{APIVersion: match[1], Kind: match[2]}] = "-"
	}
	for name, definition := range openapi.Schema().Definitions {
		list, _ := definition.Extensions["x-kubernetes-group-version-kind"].([]interface{})
		for _, entry := range list {
			gvk := entry.(map[string]interface{})
			version := gvk["version"].(string)
			if group, _ := gvk["group"].(string); group != "" {
				version = group + "/" + version
			}
			found[yaml.TypeMeta{APIVersion: version, Kind: gvk["kind"].(string)}] = name
		}
	}
	return found
}

func scope(t yaml.TypeMeta) string {
	namespaced, known := openapi.IsNamespaceScoped(t)
	switch {
	case !known:
		return "-"
	case namespaced:
		return "N"
	}
	return "C"
}

// tables are the two that kyaml reads: Kubernetes' kinds, which a custom schema replaces, and kustomize's own.
var tables = []struct {
	file string
	own  bool
}{{"kubernetes.txt", false}, {"kustomization.txt", true}}

const ownVersion = "kustomize.config.k8s.io/v1beta1"

func main() {
	source, err := os.ReadFile(os.Args[1]) // kyaml's openapi/openapi.go
	if err != nil {
		panic(err)
	}
	found := kinds(string(source))
	own := map[string]bool{}
	for t, name := range found {
		if t.APIVersion == ownVersion {
			own[name] = true
		}
	}
	for _, table := range tables {
		out, err := os.Create(table.file)
		if err != nil {
			panic(err)
		}
		w := bufio.NewWriter(out)
		writeDefinitions(w, func(name string) bool { return own[name] == table.own })
		fmt.Fprintln(w)
		writeKinds(w, found, func(t yaml.TypeMeta) bool { return (t.APIVersion == ownVersion) == table.own })
		w.Flush()
		out.Close()
	}
}

func writeDefinitions(out *bufio.Writer, wanted func(string) bool) {
	definitions := openapi.Schema().Definitions
	names := []string{}
	for name := range definitions {
		if wanted(name) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		definition := definitions[name]
		if len(definition.Properties) == 0 {
			fmt.Fprintf(out, "%s %s\n", name, expression(&definition))
			continue
		}
		if definition.AdditionalProperties != nil && definition.AdditionalProperties.Schema != nil {
			panic("fields and more: " + name)
		}
		fmt.Fprintf(out, "%s\n", name)
		fields := []string{}
		for field := range definition.Properties {
			fields = append(fields, field)
		}
		sort.Strings(fields)
		for _, field := range fields {
			property := definition.Properties[field]
			fmt.Fprintf(out, " %s %s\n", field, expression(&property))
		}
	}
}

func writeKinds(out *bufio.Writer, found map[yaml.TypeMeta]string, wanted func(yaml.TypeMeta) bool) {
	types := []yaml.TypeMeta{}
	for t := range found {
		if wanted(t) {
			types = append(types, t)
		}
	}
	sort.Slice(types, func(i, j int) bool {
		return types[i].APIVersion+" "+types[i].Kind < types[j].APIVersion+" "+types[j].Kind
	})
	for _, t := range types {
		fmt.Fprintf(out, "%s %s %s %s\n", t.APIVersion, t.Kind, scope(t), found[t])
	}
}
