// Renders a commit message's template with Go's text/template and Sprig, as image-automation-controller does, and
// prints the nanoseconds that each rendering took, then the SHA-256 of the output.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
	"github.com/google/go-containerregistry/pkg/name"
)

type namespacedName struct{ Namespace, Name string }

func (n namespacedName) String() string { return n.Namespace + "/" + n.Name }

type TypeMeta struct{ APIVersion, Kind string }
type NameMeta struct{ Name, Namespace string }
type ResourceIdentifier struct {
	TypeMeta
	NameMeta
}
type objectIdentifier struct{ ResourceIdentifier }

type change struct{ OldValue, NewValue, Setter string }
type objectChanges map[objectIdentifier][]change

type imageRef struct {
	name.Reference
	policy namespacedName
}
type fileResult struct {
	Objects map[objectIdentifier][]imageRef
}
type updated struct{ Files map[string]fileResult }

func (u updated) Images() []imageRef {
	seen := map[imageRef]struct{}{}
	var all []imageRef
	for _, file := range u.Files {
		for _, refs := range file.Objects {
			for _, ref := range refs {
				if _, ok := seen[ref]; !ok {
					seen[ref] = struct{}{}
					all = append(all, ref)
				}
			}
		}
	}
	return all
}

func (u updated) Objects() map[objectIdentifier][]imageRef {
	all := map[objectIdentifier][]imageRef{}
	for _, file := range u.Files {
		for object, refs := range file.Objects {
			all[object] = append(all[object], refs...)
		}
	}
	return all
}

type changed struct{ FileChanges map[string]objectChanges }

func (c changed) Changes() []change {
	seen := map[change]struct{}{}
	var all []change
	for _, objects := range c.FileChanges {
		for _, changes := range objects {
			for _, one := range changes {
				if _, ok := seen[one]; !ok {
					seen[one] = struct{}{}
					all = append(all, one)
				}
			}
		}
	}
	return all
}

func (c changed) Objects() objectChanges {
	all := objectChanges{}
	for _, objects := range c.FileChanges {
		for object, changes := range objects {
			all[object] = append(all[object], changes...)
		}
	}
	return all
}

type templateData struct {
	AutomationObject namespacedName
	Updated          updated
	Changed          changed
	Values           map[string]string
}

type object struct{ APIVersion, Kind, Namespace, Name string }

func (o object) identifier() objectIdentifier {
	return objectIdentifier{ResourceIdentifier{TypeMeta{o.APIVersion, o.Kind}, NameMeta{o.Name, o.Namespace}}}
}

type document struct {
	AutomationObject namespacedName
	Values           map[string]string
	Changes          []struct {
		File    string
		Object  object
		Changes []change
	}
	Images []struct {
		File   string
		Object object
		Refs   []struct {
			Ref    string
			Policy namespacedName
		}
	}
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	insist(err)
	data, err := os.ReadFile(os.Args[2])
	insist(err)
	rounds, err := strconv.Atoi(os.Args[3])
	insist(err)
	values := read(data)
	var out bytes.Buffer
	for range rounds {
		out.Reset()
		start := time.Now()
		parsed, err := template.New("commit message").Funcs(sprig.HermeticTxtFuncMap()).Parse(string(text))
		insist(err)
		insist(parsed.Execute(&out, values))
		fmt.Println(time.Since(start).Nanoseconds())
	}
	fmt.Printf("%x\n", sha256.Sum256(out.Bytes()))
}

func read(data []byte) templateData {
	var doc document
	insist(json.Unmarshal(data, &doc))
	values := templateData{
		AutomationObject: doc.AutomationObject,
		Updated:          updated{Files: map[string]fileResult{}},
		Changed:          changed{FileChanges: map[string]objectChanges{}},
		Values:           doc.Values,
	}
	for _, entry := range doc.Changes {
		objects := values.Changed.FileChanges[entry.File]
		if objects == nil {
			objects = objectChanges{}
			values.Changed.FileChanges[entry.File] = objects
		}
		id := entry.Object.identifier()
		objects[id] = append(objects[id], entry.Changes...)
	}
	for _, entry := range doc.Images {
		file, ok := values.Updated.Files[entry.File]
		if !ok {
			file = fileResult{Objects: map[objectIdentifier][]imageRef{}}
			values.Updated.Files[entry.File] = file
		}
		for _, image := range entry.Refs {
			ref, err := name.ParseReference(image.Ref, name.WeakValidation)
			insist(err)
			id := entry.Object.identifier()
			file.Objects[id] = append(file.Objects[id], imageRef{ref, image.Policy})
		}
	}
	return values
}

func insist(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
