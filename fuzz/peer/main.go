// Answers what Go's libraries make of an input, for the targets that compare: a request is a byte that names the library, the length of
// the input in four bytes, and the input; the answer is a byte, 0 for a result and 1 for an error, the length, and the text.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
)

const between = "\n%%\n"

func data() map[string]any {
	return map[string]any{
		"Name": "apps", "Count": 3, "Ratio": 2.5, "On": true, "None": nil,
		"List": []any{"a", 2, nil, 1.5}, "Texts": []string{"x", "y", "z"},
		"Map": map[string]any{"a": "b", "n": 7},
	}
}

func halves(input []byte) (string, string) {
	first, second, _ := strings.Cut(string(input), between)
	return first, second
}

func ofTemplate(input []byte) ([]byte, error) {
	parsed, err := template.New("t").Funcs(sprig.HermeticTxtFuncMap()).Parse(string(input))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = parsed.Execute(&out, data())
	return out.Bytes(), err
}

func ofRegexp(input []byte) ([]byte, error) {
	pattern, rest := halves(input)
	text, replacement := halves([]byte(rest))
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, found := range compiled.FindAllStringSubmatchIndex(text, -1) {
		fmt.Fprintln(&out, found)
	}
	out.WriteString(compiled.ReplaceAllString(text, replacement))
	return out.Bytes(), nil
}

func ofText(input []byte) ([]byte, error) {
	layout, text := halves(input)
	var out bytes.Buffer
	if parsed, err := time.Parse(layout, text); err != nil {
		fmt.Fprintln(&out, "time", err)
	} else {
		fmt.Fprintln(&out, "time", parsed.Unix(), parsed.Nanosecond(), parsed.Format(layout))
	}
	if parsed, err := time.ParseDuration(text); err != nil {
		fmt.Fprintln(&out, "duration", err)
	} else {
		fmt.Fprintln(&out, "duration", int64(parsed), parsed)
	}
	if parsed, err := url.Parse(layout); err != nil {
		fmt.Fprintln(&out, "url", err)
	} else {
		fmt.Fprintln(&out, "url", parsed.String())
	}
	// Character literals are read by UnquoteChar there, and have no use here.
	if unquoted, err := strconv.Unquote(layout); err != nil || layout[0] == '\'' {
		fmt.Fprintln(&out, "unquote -")
	} else {
		fmt.Fprintf(&out, "unquote %x\n", unquoted)
	}
	fmt.Fprintln(&out, "quote", strconv.Quote(layout))
	if number, err := strconv.ParseFloat(text, 64); err != nil {
		fmt.Fprintln(&out, "float", err)
	} else {
		fmt.Fprintln(&out, "float", strconv.FormatFloat(number, 'g', -1, 64))
	}
	if number, err := strconv.ParseInt(text, 0, 64); err != nil {
		fmt.Fprintln(&out, "int", err)
	} else {
		fmt.Fprintln(&out, "int", number)
	}
	constraint, err := semver.NewConstraint(layout)
	for _, tag := range strings.Split(text, "\n") {
		version, failed := semver.NewVersion(tag)
		switch {
		case failed != nil:
			fmt.Fprintln(&out, "version -")
		case err != nil:
			fmt.Fprintln(&out, "version", version)
		default:
			fmt.Fprintln(&out, "version", version, constraint.Check(version))
		}
	}
	return out.Bytes(), nil
}

func ofYAML(input []byte) (out []byte, err error) {
	if out, err = yaml.YAMLToJSON(input); err != nil {
		return nil, err
	}
	// In one spelling, whatever wrote it.
	var value any
	decoder := json.NewDecoder(bytes.NewReader(out))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

func answer(library byte, input []byte) (out []byte, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	switch library {
	case 'y':
		return ofYAML(input)
	case 't':
		return ofTemplate(input)
	case 'r':
		return ofRegexp(input)
	default:
		return ofText(input)
	}
}

func main() {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	for {
		var head [5]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return
		}
		input := make([]byte, binary.BigEndian.Uint32(head[1:]))
		if _, err := io.ReadFull(in, input); err != nil {
			return
		}
		result, err := answer(head[0], input)
		head[0] = 0
		if err != nil {
			head[0], result = 1, []byte(err.Error())
		}
		binary.BigEndian.PutUint32(head[1:], uint32(len(result)))
		out.Write(head[:])
		out.Write(result)
		out.Flush()
	}
}
