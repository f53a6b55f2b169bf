// Lists the tags of repositories with go-containerregistry and chooses one of each by a range, as
// image-reflector-controller v1.2.0 does; prints image and tag.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// The default exclusionList.
const signatures = `^.*\.sig$`

func main() {
	data, err := os.ReadFile(os.Args[1])
	insist(err)
	var doc struct {
		Range  string
		Images []string
	}
	insist(json.Unmarshal(data, &doc))
	workers, err := strconv.Atoi(os.Args[2])
	insist(err)
	chosen := make([]string, len(doc.Images))
	places := make(chan int)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for place := range places {
				chosen[place] = newest(doc.Range, scan(doc.Images[place]))
			}
		})
	}
	for place := range doc.Images {
		places <- place
	}
	close(places)
	group.Wait()
	for place, image := range doc.Images {
		fmt.Printf("%s:%s\n", image, chosen[place])
	}
}

func scan(image string) []string {
	repository, err := name.NewRepository(image)
	insist(err)
	tags, err := remote.List(repository)
	insist(err)
	excluded, err := regexp.Compile(signatures)
	insist(err)
	kept := []string{}
	for _, tag := range tags {
		if !excluded.MatchString(tag) {
			kept = append(kept, tag)
		}
	}
	slices.SortStableFunc(kept, func(a, b string) int { return -strings.Compare(a, b) })
	return kept
}

func newest(wanted string, tags []string) string {
	constraint, err := semver.NewConstraint(wanted)
	insist(err)
	var latest *semver.Version
	for _, tag := range tags {
		// fluxcd/pkg/version, ParseVersion
		if strings.Count(tag, ".") < 2 {
			continue
		}
		version, err := semver.NewVersion(tag)
		if err == nil && constraint.Check(version) && (latest == nil || version.GreaterThan(latest)) {
			latest = version
		}
	}
	return latest.Original()
}

func insist(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
