// yaml-oracle answers what the real YAML libraries make of a text, for comparison with ours.
//
// It reads one case per line from stdin, {"text"}, {"value"} or {"merge"}, and answers each with one line on stdout. For a text: {"kube",
// "go3"}, the JSON of what kubectl's reader (yaml.v2 rules) and kustomize's and gomplate's (yaml.v3 rules) read from the first
// document, "!error", or "!either" where kubectl's reader answers now this and now that. For a value: {"text"}, the YAML that kustomize prints for it. For a merge of {"base", "ours", "theirs"}:
// {"merged"}, the text that kyaml's merge3 makes of them, or "!error". A line that is not a case ends the process with status 2.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	yaml3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge3"
	"sigs.k8s.io/yaml"
)

// Keys that are two in YAML and one in JSON are settled by the order of a Go map, which changes from reading to reading: with this
// many a difference is missed once in 2^64 runs.
const readings = 64

type question struct {
	Text  *string         `json:"text"`
	Value json.RawMessage `json:"value"`
	Merge *sides          `json:"merge"`
}

type sides struct {
	Base   string `json:"base"`
	Ours   string `json:"ours"`
	Theirs string `json:"theirs"`
}

func main() {
	if err := answerAll(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "yaml-oracle: %v\n", err)
		os.Exit(2)
	}
}

func answerAll(questions io.Reader, answers io.Writer) error {
	reader := bufio.NewReader(questions)
	encoder := json.NewEncoder(answers)
	encoder.SetEscapeHTML(false)
	for number := 1; ; number++ {
		line, err := reader.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var q question
			if err := json.Unmarshal(line, &q); err != nil {
				return fmt.Errorf("line %d is not a case: %w", number, err)
			}
			if err := encoder.Encode(answer(q)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func answer(q question) map[string]any {
	if q.Merge != nil {
		return map[string]any{"merged": merge(*q.Merge)}
	}
	if q.Text == nil {
		text, err := yaml.JSONToYAML(q.Value)
		if err != nil {
			return map[string]any{"text": "!error"}
		}
		return map[string]any{"text": string(text)}
	}
	return map[string]any{"kube": kube(*q.Text), "go3": go3(*q.Text)}
}

func kube(text string) (read any) {
	defer func() {
		if recover() != nil {
			read = "!error"
		}
	}()
	value, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return "!error"
	}
	for range readings {
		again, err := yaml.YAMLToJSON([]byte(text))
		if err != nil || !bytes.Equal(again, value) {
			return "!either"
		}
	}
	return json.RawMessage(value)
}

func go3(text string) (read any) {
	defer func() {
		if recover() != nil {
			read = "!error"
		}
	}()
	var value any
	if err := yaml3.Unmarshal([]byte(text), &value); err != nil {
		return "!error"
	}
	written, err := json.Marshal(value)
	if err != nil {
		return "!error"
	}
	return json.RawMessage(written)
}

func merge(texts sides) (merged string) {
	defer func() {
		if recover() != nil {
			merged = "!error"
		}
	}()
	merged, err := merge3.MergeStrings(texts.Ours, texts.Base, texts.Theirs, false)
	if err != nil {
		return "!error"
	}
	return merged
}
