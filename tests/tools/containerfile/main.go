// Reads a Containerfile as BuildKit does, without building it: prints what the image would be, as JSON, with BuildKit's warnings.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"github.com/containerd/platforms"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/opencontainers/go-digest"
)

// bases stands in for a registry: every base image is an empty one. It remembers which were asked for.
type bases struct {
	mutex sync.Mutex
	asked []string
}

func (b *bases) ResolveImageConfig(_ context.Context, ref string, _ sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.asked = append(b.asked, ref)
	return ref, "", []byte(`{"architecture":"amd64","os":"linux","config":{},"rootfs":{"type":"layers"}}`), nil
}

func run(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	resolver := &bases{}
	warnings := []string{}
	platform := platforms.MustParse("linux/amd64")
	option := dockerfile2llb.ConvertOpt{
		MetaResolver:   resolver,
		TargetPlatform: &platform,
		Warn: func(rule, _, _, message string, _ []parser.Range) {
			warnings = append(warnings, rule+": "+message)
		},
	}
	option.BuildPlatforms = append(option.BuildPlatforms, platform)
	_, image, _, _, err := dockerfile2llb.Dockerfile2LLB(context.Background(), text, option)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"bases": resolver.asked, "warnings": warnings, "config": image.Config,
	})
}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
