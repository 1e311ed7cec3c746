package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"
)

// With --json, wherever it stands, stdout is one document of the type that help lists, with each of its fields and no
// others, and stderr is empty.
func TestJSONDocuments(t *testing.T) {
	jsonFolder(t)
	for _, d := range documents {
		if d.command == "tune" {
			continue // which needs GPUs: testdata/gpu/tunegpu.txtar has it
		}
		calls := strings.TrimPrefix(jsonCalls[d.command], "\n")
		if calls == "" {
			t.Errorf("no call prints the document of %s", d.command)
		}
		for call := range strings.Lines(calls) {
			for _, args := range []string{"--json " + call, call + " --json"} {
				args := strings.Fields(args)
				var stdout, stderr bytes.Buffer
				code := main1(args, strings.NewReader(""), &stdout, &stderr)
				line := strings.Join(args, " ")
				in := json.NewDecoder(&stdout)
				var value, more any
				if err := in.Decode(&value); err != nil {
					t.Fatalf("%s: exit code %d, and no JSON: %v\n%s", line, code, err, stderr.String())
				}
				if err := in.Decode(&more); err != io.EOF {
					t.Errorf("%s: something stands after the document: %v, %v", line, more, err)
				}
				if stderr.Len() > 0 {
					t.Errorf("%s: stderr is\n%s", line, stderr.String())
				}
				if err := conform(value, reflect.TypeOf(d.value)); err != nil {
					t.Errorf("%s: %v", line, err)
				}
				judgeFailure(t, line, value, code)
			}
		}
	}
}

// judgeFailure looks at a failure: its exit code is the command's, and a problem says what is wrong.
func judgeFailure(t *testing.T, line string, value any, code int) {
	t.Helper()
	doc, _ := value.(map[string]any)
	exit, failed := doc["exit_code"]
	if !failed {
		return
	}
	found, _ := doc["problems"].([]any)
	if exit != float64(code) || code == cli.ExitGood || doc["ok"] != false || len(found) == 0 {
		t.Errorf("%s: exit code %d, and %v", line, code, value)
		return
	}
	if usage := found[0].(map[string]any)["code"] == string(diag.Usage); usage != (code == cli.ExitUsage) {
		t.Errorf("%s: exit code %d, and problem %v", line, code, found[0])
	}
}

// conform says where a value is no JSON of a type.
func conform(value any, t reflect.Type) error {
	kind, _ := kindOf(t)
	switch v := value.(type) {
	case []any:
		if t.Kind() != reflect.Slice && t.Kind() != reflect.Array {
			return fmt.Errorf("a list, and not %s", kind)
		}
		for i, e := range v {
			if err := conform(e, t.Elem()); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return nil
	case map[string]any:
		return conformObject(v, t)
	case string:
		if kind == "string" {
			return nil
		}
	case float64:
		if kind == "number" || kind == "integer" && v == float64(int64(v)) {
			return nil
		}
	case bool:
		if kind == "boolean" {
			return nil
		}
	}
	return fmt.Errorf("%v is not %s", value, kind)
}

func conformObject(v map[string]any, t reflect.Type) error {
	if t.Kind() == reflect.Map {
		for key, e := range v {
			if err := conform(e, t.Elem()); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
		return nil
	}
	if t.Kind() != reflect.Struct {
		return fmt.Errorf("an object, and not %v", t)
	}
	known := map[string]bool{}
	for _, f := range jsonFields(t) {
		known[f.name] = true
		e, there := v[f.name]
		switch {
		case !there && !f.absent:
			return fmt.Errorf("%s is absent", f.name)
		case !there || e == nil && f.null:
			continue
		}
		if err := conform(e, f.of); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	for key := range v {
		if !known[key] {
			return fmt.Errorf("%s is no field that help json lists", key)
		}
	}
	return nil
}

// Every command has a row in documents, but lsp, which speaks to an editor.
func TestJSONOfEveryCommand(t *testing.T) {
	topic := map[string]bool{}
	for _, c := range append(topics(), jsonHelp()) {
		topic[c.Name()] = true
	}
	has := map[string]bool{}
	for _, d := range documents {
		name, _, _ := strings.Cut(d.command, " ")
		has[name] = true
	}
	for _, cmd := range rootCommand(silent()).Commands() {
		if !has[cmd.Name()] && !topic[cmd.Name()] && !cmd.Hidden && cmd.Name() != "lsp" {
			t.Errorf("help json does not say what %s prints", cmd.Name())
		}
	}
}

// help json is as it was: a field that goes, or changes its meaning, is a new schema.
func TestHelpJSON(t *testing.T) {
	golden := filepath.Join("testdata", "json.golden")
	if os.Getenv("MSCCLC_UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(jsonText()+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	main1([]string{"help", "json"}, strings.NewReader(""), &stdout, io.Discard)
	if got := stdout.String(); !strings.HasPrefix(got, string(want)) {
		t.Errorf("help json differs from %s: MSCCLC_UPDATE=1 go test ./cmd/mscclc -run TestHelpJSON\n%s", golden, got)
	}
}
