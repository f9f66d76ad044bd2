// Requests that compute, that allocate, that wait and that ask a database. Listens on the address in the environment
// variable LISTEN; ends on SIGTERM or SIGINT when the requests in flight are answered.
package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"stampede/mix/api"
)

func main() {
	if err := serve(); err != nil {
		log.Fatal(err)
	}
}

func serve() error {
	folder, err := os.MkdirTemp("", "mix")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	handler, err := api.New(folder)
	if err != nil {
		return err
	}
	address := os.Getenv("LISTEN")
	if address == "" {
		address = "127.0.0.1:8080"
	}
	asked, release := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer release()

	server := &http.Server{Addr: address, Handler: handler}
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
