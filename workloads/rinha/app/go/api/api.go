// Package api is the contest's four end points.
package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The bytes of a body beyond which it is refused; PHP's default for post_max_size.
const maxBody = 8 << 20

var isID = regexp.MustCompile(`(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString

type service struct {
	people *People
}

// New makes the API on these people.
func New(people *People) http.Handler {
	return service{people}
}

func (s service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
	isPerson := strings.HasPrefix(r.URL.Path, "/pessoas/")
	var err error
	switch {
	case r.URL.Path == "/pessoas" && r.Method == http.MethodPost:
		err = s.create(w, r)
	case r.URL.Path == "/pessoas" && isRead:
		err = s.search(w, r)
	case r.URL.Path == "/contagem-pessoas" && isRead:
		err = s.count(w, r)
	case isPerson && isRead:
		err = s.show(w, r, strings.TrimPrefix(r.URL.Path, "/pessoas/"))
	case r.URL.Path == "/pessoas", r.URL.Path == "/contagem-pessoas", isPerson:
		w.WriteHeader(http.StatusMethodNotAllowed)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
	if err != nil {
		log.Print(err)
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (s service) create(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return nil
	}
	person, err := read(body)
	switch {
	case errors.Is(err, errWrongType):
		w.WriteHeader(http.StatusBadRequest)
		return nil
	case err != nil:
		w.WriteHeader(http.StatusUnprocessableEntity)
		return nil
	}
	id, err := s.people.add(r.Context(), person)
	switch {
	case err != nil:
		return err
	case id == "":
		w.WriteHeader(http.StatusUnprocessableEntity)
	default:
		w.Header().Set("Location", "/pessoas/"+id)
		w.WriteHeader(http.StatusCreated)
	}
	return nil
}

func (s service) show(w http.ResponseWriter, r *http.Request, id string) error {
	if !isID(id) {
		w.WriteHeader(http.StatusNotFound)
		return nil
	}
	person, found, err := s.people.find(r.Context(), id)
	if err != nil {
		return err
	}
	if !found {
		w.WriteHeader(http.StatusNotFound)
		return nil
	}
	return write(w, person)
}

func (s service) search(w http.ResponseWriter, r *http.Request) error {
	term := ""
	// As in PHP, the last of several counts.
	if terms := r.URL.Query()["t"]; len(terms) > 0 {
		term = terms[len(terms)-1]
	}
	if term == "" || !utf8.ValidString(term) || strings.Contains(term, "\x00") {
		w.WriteHeader(http.StatusBadRequest)
		return nil
	}
	found, err := s.people.search(r.Context(), term)
	if err != nil {
		return err
	}
	return write(w, found)
}

func (s service) count(w http.ResponseWriter, r *http.Request) error {
	count, err := s.people.count(r.Context())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	// A client that is gone needs no answer.
	_, _ = io.WriteString(w, strconv.Itoa(count))
	return nil
}

func write(w http.ResponseWriter, value any) error {
	var message bytes.Buffer
	encoder := json.NewEncoder(&message)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(bytes.TrimSuffix(message.Bytes(), []byte("\n")))
	return nil
}
