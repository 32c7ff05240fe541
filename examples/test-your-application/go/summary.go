// Package summary is the application: it summarizes a text in one sentence.
package summary

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

var ErrBusy = errors.New("the provider is busy; try again later")

func Summarize(text, url, key, model string) (string, error) {
	question, _ := json.Marshal(map[string]any{
		"model":    model,
		"messages": []map[string]string{{"role": "user", "content": "In one sentence: " + text}},
	})
	request, err := http.NewRequest("POST", url+"/chat/completions", bytes.NewReader(question))
	if err != nil {
		return "", err
	}
	request.Header.Set("authorization", "Bearer "+key)
	request.Header.Set("content-type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusTooManyRequests {
		return "", ErrBusy
	}
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return "", err
	}
	if len(answer.Choices) == 0 {
		return "", fmt.Errorf("the provider answered %d", response.StatusCode)
	}
	return answer.Choices[0].Message.Content, nil
}
