package usercache

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
)

// Encode returns the text of a file: a line of head and a hash of the rest, which is document in JSON.
func Encode(head string, document any) ([]byte, error) {
	body, err := json.MarshalIndent(document, "", " ")
	return append([]byte(first(head, body)+"\n"), body...), err
}

// Decode reads a text that Encode made with the same head.
func Decode(head string, text []byte, document any) error {
	line, body, found := bytes.Cut(text, []byte("\n"))
	if !found || string(line) != first(head, body) {
		return errors.New("it is damaged")
	}
	if err := json.Unmarshal(body, document); err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	return nil
}

func first(head string, body []byte) string { return fmt.Sprintf("%s%x", head, sha256.Sum256(body)) }
