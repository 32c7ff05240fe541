// Asks a program or an HTTP address for the result of each vector, and compares. Needs Go and nothing else.
//
//	go run run.go FOLDER http://127.0.0.1:8080
//	go run run.go FOLDER COMMAND ARGUMENT…
//
// The program reads a line of JSON with `kind` and `given`, and writes a line with the result; an address gets the same by
// POST. A result {"cannot": "why"} skips the vector. Exit code 1 if a result is wrong.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

type vector struct {
	ID     string         `json:"id"`
	Rule   string         `json:"rule"`
	Given  map[string]any `json:"given"`
	Expect [][][]any      `json:"expect"`
}

type file struct {
	Kind    string         `json:"kind"`
	Answers map[string]any `json:"answers"`
	Vectors []vector       `json:"vectors"`
}

// at returns the value at a JSON Pointer, and whether there is one.
func at(value any, pointer string) (any, bool) {
	for _, part := range strings.Split(pointer[1:], "/") {
		name := strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		switch inner := value.(type) {
		case map[string]any:
			next, there := inner[name]
			if !there {
				return nil, false
			}
			value = next
		case []any:
			index, err := strconv.Atoi(name)
			if err != nil || index < 0 || index >= len(inner) {
				return nil, false
			}
			value = inner[index]
		default:
			return nil, false
		}
	}
	return value, true
}

// isEqual compares two JSON values; numbers with a relative tolerance of 1e-9.
func isEqual(a, b any) bool {
	switch left := a.(type) {
	case float64:
		right, isNumber := b.(float64)
		return isNumber && math.Abs(left-right) <= 1e-9*math.Max(1e-9, math.Max(math.Abs(left), math.Abs(right)))
	case []any:
		right, isList := b.([]any)
		if !isList || len(left) != len(right) {
			return false
		}
		for i := range left {
			if !isEqual(left[i], right[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		right, isObject := b.(map[string]any)
		if !isObject || len(left) != len(right) {
			return false
		}
		for name := range left {
			other, there := right[name]
			if !there || !isEqual(left[name], other) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

func textOf(value any) string {
	if text, isText := value.(string); isText {
		return text
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value)
	return strings.TrimSuffix(text.String(), "\n")
}

const untold = "untold"

// wrong returns "" if a check holds, untold if the result does not have its first name, else why it does not hold.
func wrong(result any, check []any) string {
	kind, path := check[0].(string), check[1].(string)
	if _, told := at(result, "/"+strings.Split(path, "/")[1]); !told {
		return untold
	}
	found, there := at(result, path)
	var value any
	if len(check) > 2 {
		value = check[2]
	}
	holds := false
	switch kind {
	case "absent":
		holds = !there
	case "count":
		if found == nil {
			found = 0.0
		}
		holds = isEqual(found, value)
	case "one":
		for _, each := range value.([]any) {
			holds = holds || there && isEqual(found, each)
		}
	case "has":
		holds = there && strings.Contains(textOf(found), value.(string))
	case "same":
		other, isThere := at(result, value.(string))
		holds = there && isThere && isEqual(found, other)
	default:
		holds = there && isEqual(found, value)
	}
	if holds {
		return ""
	}
	return fmt.Sprintf("%s: %s, expected %s %s", path, textOf(found), kind, textOf(value))
}

// judge returns pass, untold or fail, and the reason of a failure.
func judge(result any, expect [][][]any) (string, string) {
	verdict, reasons := "fail", []string{}
	for _, checks := range expect {
		isUntold, reason := false, ""
		for _, check := range checks {
			if why := wrong(result, check); why == untold {
				isUntold = true
			} else if why != "" && reason == "" {
				reason = why
			}
		}
		if reason != "" {
			reasons = append(reasons, reason)
		} else if isUntold {
			verdict = untold
		} else {
			return "pass", ""
		}
	}
	return verdict, strings.Join(reasons, "; or ")
}

// asker returns a function that sends a text and returns the text of the result.
func asker(command []string) func([]byte) []byte {
	if strings.HasPrefix(command[0], "http") {
		return func(text []byte) []byte {
			response, err := http.Post(command[0], "application/json", bytes.NewReader(text))
			must(err)
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			must(err)
			return body
		}
	}
	program := exec.Command(command[0], command[1:]...)
	program.Stderr = os.Stderr
	input, err := program.StdinPipe()
	must(err)
	output, err := program.StdoutPipe()
	must(err)
	must(program.Start())
	lines := bufio.NewReader(output)
	return func(text []byte) []byte {
		_, err := input.Write(append(text, '\n'))
		must(err)
		line, err := lines.ReadBytes('\n')
		must(err)
		return line
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(2)
	}
}

func main() {
	if len(os.Args) < 3 {
		must(fmt.Errorf("name the folder of the vectors, and an address or a program"))
	}
	ask, failed := asker(os.Args[2:]), 0
	for _, name := range []string{"answers", "requests", "models", "costs", "refusals"} {
		text, err := os.ReadFile(filepath.Join(os.Args[1], name+".json"))
		must(err)
		var all file
		must(json.Unmarshal(text, &all))
		counts := map[string]int{}
		for _, each := range all.Vectors {
			if all.Answers != nil {
				each.Given["answer"] = all.Answers[each.Given["answer"].(string)]
			}
			question, err := json.Marshal(map[string]any{"kind": all.Kind, "given": each.Given})
			must(err)
			var result map[string]any
			must(json.Unmarshal(ask(question), &result))
			verdict, why := "cannot", ""
			if _, cannot := result["cannot"]; !cannot {
				verdict, why = judge(result, each.Expect)
			}
			counts[verdict]++
			if verdict == "fail" {
				fmt.Printf("%s %s: %s\n", each.Rule, each.ID, why)
			}
		}
		failed += counts["fail"]
		fmt.Printf("%s: %d pass, %d fail, %d untold, %d cannot\n", name, counts["pass"], counts["fail"], counts[untold], counts["cannot"])
	}
	if failed > 0 {
		os.Exit(1)
	}
}
