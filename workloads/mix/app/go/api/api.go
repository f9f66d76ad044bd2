// Package api is a request of each kind that an application has.
package api

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"log"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite"
)

//go:embed payments.sql
var payments string

type service struct {
	db *sql.DB
}

// New makes the API with a database of its own in a folder.
func New(folder string) (http.Handler, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "database.sqlite"))
	if err != nil {
		return nil, err
	}
	_, err = db.Exec(payments)
	return service{db}, err
}

func (s service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kinds := map[string]func(context.Context) (any, error){
		"/compute": compute, "/allocate": allocate, "/wait": wait, "/query": s.query,
	}
	kind, known := kinds[r.URL.Path]
	switch {
	case !known:
		w.WriteHeader(http.StatusNotFound)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	value, err := kind(r.Context())
	if err != nil {
		log.Print(err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	message, err := json.Marshal(value)
	if err != nil {
		log.Print(err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// A client that is gone needs no answer.
	_, _ = w.Write(message)
}

type primes struct {
	Primes int `json:"primes"`
}

// compute counts the primes below 10,000 by dividing.
func compute(context.Context) (any, error) {
	count := 1
	for number := 3; number < 10_000; number += 2 {
		divisor := 3
		for divisor*divisor <= number && number%divisor != 0 {
			divisor += 2
		}
		if divisor*divisor > number {
			count++
		}
	}
	return primes{count}, nil
}

type record struct {
	id   int
	text string
}

type allocated struct {
	Records int `json:"records"`
	Bytes   int `json:"bytes"`
}

// allocate makes 20,000 records, keeps them all and adds them up.
func allocate(context.Context) (any, error) {
	var records []*record
	for id := 0; id < 20_000; id++ {
		records = append(records, &record{id, strings.Repeat(string(rune('a'+id%26)), 64)})
	}
	bytes := 0
	for _, record := range records {
		bytes += len(record.text)
	}
	return allocated{len(records), bytes}, nil
}

type waited struct {
	Milliseconds int `json:"milliseconds"`
}

// wait waits 50 ms, as for a remote service.
func wait(ctx context.Context) (any, error) {
	select {
	case <-time.After(50 * time.Millisecond):
	case <-ctx.Done():
	}
	return waited{50}, nil
}

type asked struct {
	Customers int `json:"customers"`
	Total     int `json:"total"`
}

// query asks for the ten customers who paid the most.
func (s service) query(ctx context.Context) (any, error) {
	rows, err := s.db.QueryContext(ctx, `
		SELECT customer, sum(amount) AS total FROM payments WHERE day BETWEEN 100 AND 110
		GROUP BY customer ORDER BY total DESC, customer LIMIT 10`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var answer asked
	for rows.Next() {
		var customer, total int
		if err := rows.Scan(&customer, &total); err != nil {
			return nil, err
		}
		answer.Customers++
		answer.Total += total
	}
	return answer, rows.Err()
}
