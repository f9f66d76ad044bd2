// Package api is a random row, a row by its number, and a random row changed.
package api

import (
	"encoding/json"
	"log"
	"math/rand"
	"net/http"
	"regexp"
	"strconv"
)

const (
	most = 10_000
	all  = 100_000
)

var row = regexp.MustCompile(`^/row/([1-9][0-9]{0,8})$`)

type service struct {
	rows *Rows
}

// New makes the API on these rows.
func New(rows *Rows) http.Handler {
	return service{rows}
}

func (s service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
	number := row.FindStringSubmatch(r.URL.Path)
	switch {
	case r.URL.Path == "/row" && isRead:
		s.show(w, r, 1+rand.Intn(all))
	case r.URL.Path == "/row" && r.Method == http.MethodPost:
		s.change(w, r, 1+rand.Intn(all), 1+rand.Intn(most))
	case number != nil && isRead:
		id, _ := strconv.Atoi(number[1]) // at most nine digits
		s.show(w, r, id)
	case r.URL.Path == "/row" || number != nil:
		w.WriteHeader(http.StatusMethodNotAllowed)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (s service) show(w http.ResponseWriter, r *http.Request, id int) {
	row, found, err := s.rows.read(r.Context(), id)
	switch {
	case err != nil:
		fail(w, err)
	case !found:
		w.WriteHeader(http.StatusNotFound)
	default:
		write(w, row)
	}
}

func (s service) change(w http.ResponseWriter, r *http.Request, id, number int) {
	if err := s.rows.change(r.Context(), id, number); err != nil {
		fail(w, err)
		return
	}
	write(w, struct {
		ID     int `json:"id"`
		Number int `json:"number"`
	}{id, number})
}

func fail(w http.ResponseWriter, err error) {
	log.Print(err)
	w.WriteHeader(http.StatusInternalServerError)
}

func write(w http.ResponseWriter, value any) {
	message, err := json.Marshal(value)
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// A client that is gone needs no answer.
	_, _ = w.Write(message)
}
