// Chooses a tag as image-reflector-controller v1.2.0 does (internal/policy), and prints the nanoseconds that each choice
// took, then the tag.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
)

type document struct {
	Semver, Pattern, Extract string
	Tags                     []string
}

func main() {
	data, err := os.ReadFile(os.Args[1])
	insist(err)
	var doc document
	insist(json.Unmarshal(data, &doc))
	rounds, err := strconv.Atoi(os.Args[2])
	insist(err)
	chosen := ""
	for range rounds {
		start := time.Now()
		chosen = doc.choose()
		fmt.Println(time.Since(start).Nanoseconds())
	}
	fmt.Println(chosen)
}

// A range of versions when there is one, else numbers, the highest first.
func (doc document) choose() string {
	latest := highest
	if doc.Semver != "" {
		constraint, err := semver.NewConstraint(doc.Semver)
		insist(err)
		latest = func(tags []string) string { return newest(constraint, tags) }
	}
	if doc.Pattern == "" {
		return latest(doc.Tags)
	}
	pattern, err := regexp.Compile(doc.Pattern)
	insist(err)
	filtered := filter(pattern, doc.Extract, doc.Tags)
	var values []string
	for value := range filtered {
		values = append(values, value)
	}
	return filtered[latest(values)]
}

func filter(pattern *regexp.Regexp, extract string, tags []string) map[string]string {
	filtered := map[string]string{}
	for _, tag := range tags {
		if groups := pattern.FindStringSubmatchIndex(tag); len(groups) > 0 {
			value := tag
			if extract != "" {
				value = string(pattern.ExpandString([]byte{}, extract, tag, groups))
			}
			filtered[value] = tag
		}
	}
	return filtered
}

func newest(constraint *semver.Constraints, tags []string) string {
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

func highest(tags []string) string {
	latest, most := "", 0.0
	for at, tag := range tags {
		number, err := strconv.ParseFloat(tag, 64)
		insist(err)
		if at == 0 || number >= most {
			latest, most = tag, number
		}
	}
	return latest
}

func insist(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
