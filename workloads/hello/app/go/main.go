// Plain text that greets. Listens on the address in the environment variable LISTEN; ends on SIGTERM
// or SIGINT when the requests in flight are answered.
package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"stampede/hello/api"
)

func main() {
	address := os.Getenv("LISTEN")
	if address == "" {
		address = "127.0.0.1:8080"
	}
	asked, release := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer release()

	server := &http.Server{Addr: address, Handler: http.HandlerFunc(api.Serve)}
	stopped := make(chan error, 1)
	go func() {
		<-asked.Done()
		stopped <- server.Shutdown(context.Background())
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatalf("listen on %s: %v", address, err)
	}
	if err := <-stopped; err != nil {
		log.Fatalf("stop: %v", err)
	}
}
