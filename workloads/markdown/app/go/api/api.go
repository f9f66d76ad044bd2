// Package api is the endpoint.
package api

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
)

// The bytes of a body beyond which it is refused; PHP's default for post_max_size.
const maxBody = 8 << 20

// markdown does what Parsedown does by default: tables, struck-out text, bare links, and HTML as it is. Heading ids are
// added, since the Go service of the published experiment adds them. It is safe for concurrent use.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(html.WithUnsafe()),
)

// Serve renders the Markdown in the member "data" of a JSON object.
func Serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		write(w, http.StatusBadRequest, "error", "the body could not be read")
		return
	}
	status, member, text := answer(r.Method, body)
	write(w, status, member, text)
}

func answer(method string, body []byte) (status int, member, text string) {
	if method != http.MethodPost {
		return http.StatusBadRequest, "error", "send a POST request"
	}
	if len(body) == 0 {
		return http.StatusBadRequest, "error", "the body is empty"
	}
	// The decoder takes null for an empty map, and puts a character of its own where bytes are not UTF-8.
	var message map[string]any
	if !utf8.Valid(body) || json.Unmarshal(body, &message) != nil || message == nil {
		return http.StatusBadRequest, "error", "the body is not a JSON object"
	}
	data, present := message["data"]
	if !present {
		return http.StatusOK, "result", ""
	}
	source, isString := data.(string)
	if !isString {
		return http.StatusBadRequest, "error", "data is not a string"
	}
	var rendered bytes.Buffer
	if err := markdown.Convert([]byte(source), &rendered); err != nil {
		return http.StatusInternalServerError, "error", err.Error()
	}
	return http.StatusOK, "result", rendered.String()
}

func write(w http.ResponseWriter, status int, member, text string) {
	message, err := json.Marshal(map[string]string{member: text})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that is gone needs no answer.
	_, _ = w.Write(message)
}
