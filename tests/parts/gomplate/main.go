// gomplate-oracle answers what the real gomplate makes of a template, for comparison with ours.
//
// It reads one case per line from stdin, {"name", "template", "context"}, and answers each with one line on stdout,
// {"name", "output", "error"}; a case without an error has "error": "". Thousands of cases run in one process, in order.
// The context is the root of the template's data: a JSON value stands for itself, a JSON string is the text of a YAML file
// (for what JSON cannot say, such as an unquoted date). A "config" is what the data source of that name returns. A line that
// is not a case ends the process with status 2.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"github.com/hairyhenderson/gomplate/v4"
)

type question struct {
	Name     string          `json:"name"`
	Template string          `json:"template"`
	Context  json.RawMessage `json:"context"`
	Config   json.RawMessage `json:"config"`
}

type answer struct {
	Name   string `json:"name"`
	Output string `json:"output"`
	Error  string `json:"error"`
}

func main() {
	directory, err := os.MkdirTemp("", "gomplate-oracle-")
	if err == nil {
		err = answerAll(os.Stdin, os.Stdout, directory)
		os.RemoveAll(directory)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "gomplate-oracle: %v\n", err)
		os.Exit(2)
	}
}

func answerAll(questions io.Reader, answers io.Writer, directory string) error {
	reader := bufio.NewReader(questions)
	// The encoder writes each answer at once, so that a caller may wait for it before the next question.
	encoder := json.NewEncoder(answers)
	encoder.SetEscapeHTML(false)
	for number := 1; ; number++ {
		line, err := reader.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var q question
			if err := json.Unmarshal(line, &q); err != nil {
				return fmt.Errorf("line %d is not a case: %w", number, err)
			}
			if err := encoder.Encode(render(q, directory)); err != nil {
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

func render(q question, directory string) (a answer) {
	a.Name = q.Name
	// A panic inside gomplate is its answer to this case; the cases after it still want theirs.
	defer func() {
		if panicked := recover(); panicked != nil {
			a.Error = fmt.Sprintf("panic: %v", panicked)
		}
	}()
	options := gomplate.RenderOptions{}
	if len(q.Context) > 0 && !bytes.Equal(q.Context, []byte("null")) {
		file, err := write("context", q.Context, directory)
		if err != nil {
			a.Error = err.Error()
			return a
		}
		options.Context = map[string]gomplate.DataSource{".": {URL: &url.URL{Scheme: "file", Path: file}}}
	}
	if len(q.Config) > 0 {
		file, err := write("config", q.Config, directory)
		if err != nil {
			a.Error = err.Error()
			return a
		}
		options.Datasources = map[string]gomplate.DataSource{"config": {URL: &url.URL{Scheme: "file", Path: file}}}
	}
	output := bytes.Buffer{}
	err := gomplate.NewRenderer(options).Render(context.Background(), q.Name, q.Template, &output)
	a.Output = output.String()
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

// The data source's file name decides how gomplate reads it.
func write(stem string, value json.RawMessage, directory string) (string, error) {
	name, text := stem+".json", []byte(value)
	if value[0] == '"' {
		var yaml string
		if err := json.Unmarshal(value, &yaml); err != nil {
			return "", err
		}
		name, text = stem+".yaml", []byte(yaml)
	}
	file := filepath.Join(directory, name)
	return file, os.WriteFile(file, text, 0o600)
}
