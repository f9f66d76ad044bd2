// Package api is the greeting.
package api

import (
	"io"
	"net/http"
	"net/url"
)

// Serve greets whoever is named in the query, and the world otherwise.
func Serve(w http.ResponseWriter, r *http.Request) {
	status, text := answer(r.URL.Path, r.URL.Query())
	w.Header().Set("Content-Type", "text/plain;charset=UTF-8")
	w.WriteHeader(status)
	// A client that is gone needs no answer.
	_, _ = io.WriteString(w, text)
}

func answer(path string, query url.Values) (int, string) {
	if path != "/" {
		return http.StatusNotFound, "Nothing here.\n"
	}
	name := "World"
	if query.Has("name") {
		name = query.Get("name")
	}
	return http.StatusOK, "Hello, " + name + "!\n"
}
