// Package api is the greeting.
package api

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Serve greets whoever is named in the query, and the world otherwise.
func Serve(w http.ResponseWriter, r *http.Request) {
	status, text := answer(r.URL.Path, r.URL.Query())
	w.Header().Set("Content-Type", "text/plain;charset=UTF-8")
	if r.URL.Path == "/gzip" {
		w.Header().Set("Vary", "Accept-Encoding")
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			packed := gzip.NewWriter(w)
			defer packed.Close()
			_, _ = io.WriteString(packed, text)
			return
		}
	}
	w.WriteHeader(status)
	// A client that is gone needs no answer.
	_, _ = io.WriteString(w, text)
}

func answer(path string, query url.Values) (int, string) {
	if path != "/" && path != "/gzip" {
		return http.StatusNotFound, "Nothing here.\n"
	}
	name := "World"
	if query.Has("name") {
		name = query.Get("name")
	}
	return http.StatusOK, "Hello, " + name + "!\n"
}
