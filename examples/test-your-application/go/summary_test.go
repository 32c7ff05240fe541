package summary

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

var mock struct {
	ControlURL string `json:"control_url"`
	Providers  map[string]struct {
		BaseURL string `json:"base_url"`
		Key     string
	}
}

func TestMain(m *testing.M) {
	command := exec.Command("waybill", "mock", "--json", "--port", "0", "--control-port", "0")
	stdout, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err == nil {
		err = json.NewDecoder(stdout).Decode(&mock) // the mock prints one line when it is ready
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	command.Process.Signal(os.Interrupt)
	command.Wait()
	os.Exit(code)
}

func TestATextIsSummarizedByOneValidCall(t *testing.T) {
	openai := mock.Providers["openai"]
	summary, err := Summarize("A waybill lists goods.", openai.BaseURL, openai.Key, "gpt-5.4")
	if err != nil || !strings.Contains(summary, "recorded answer") {
		t.Fatal(summary, err)
	}
	response, err := http.Get(mock.ControlURL + "/ledger")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var ledger struct {
		Entries []struct {
			Model    string
			Problems []string
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&ledger); err != nil {
		t.Fatal(err)
	}
	calls := ledger.Entries
	if len(calls) != 1 || calls[0].Model != "gpt-5.4" || len(calls[0].Problems) != 0 {
		t.Fatal(calls)
	}
}

func TestABusyProviderIsReportedInPlainWords(t *testing.T) {
	openai := mock.Providers["openai"]
	_, err := Summarize("Anything.", openai.BaseURL, openai.Key, "scenario-429")
	if !errors.Is(err, ErrBusy) {
		t.Fatal(err)
	}
}
