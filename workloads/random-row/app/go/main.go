// One random row of 100,000 as JSON, by the standard library alone or, with FRAMEWORK=gin, by gin. Listens on the address in the
// environment variable LISTEN, reads the database of DATABASE_URL through DATABASE_CONNECTIONS connections (10), or one of
// SQLite that it makes for itself; ends on SIGTERM or SIGINT when the requests in flight are answered.
package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"stampede/random-row/api"
)

func main() {
	if err := serve(); err != nil {
		log.Fatal(err)
	}
}

func serve() error {
	connections, err := strconv.Atoi(setting("DATABASE_CONNECTIONS", "10"))
	if err != nil || connections < 1 {
		return errors.New("DATABASE_CONNECTIONS is not a number of connections")
	}
	database := os.Getenv("DATABASE_URL")
	if database == "" {
		folder, err := os.MkdirTemp("", "random-row")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		if database, err = api.Seed(folder); err != nil {
			return err
		}
	}
	rows, err := api.Open(database, connections)
	if err != nil {
		return err
	}
	asked, release := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer release()

	handler := api.New(rows)
	if os.Getenv("FRAMEWORK") == "gin" {
		handler = api.NewGin(rows)
	}
	server := &http.Server{Addr: setting("LISTEN", "127.0.0.1:8080"), Handler: handler}
	stopped := make(chan error, 1)
	go func() {
		<-asked.Done()
		stopped <- server.Shutdown(context.Background())
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}

func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}
