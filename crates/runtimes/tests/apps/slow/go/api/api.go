// Package api leaves a mark when a request begins, and answers after as many milliseconds as it is asked to wait.
package api

import (
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

// Serve is the endpoint.
func Serve(w http.ResponseWriter, r *http.Request) {
	mark, err := os.CreateTemp(os.Getenv("MARKS"), "begun")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = mark.Close()
	if milliseconds, err := strconv.Atoi(r.URL.Query().Get("ms")); err == nil {
		time.Sleep(time.Duration(milliseconds) * time.Millisecond)
	}
	_, _ = io.WriteString(w, "done")
}
