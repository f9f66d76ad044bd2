// The API of Rinha de Backend 2023 Q3. Listens on the address in the environment variable LISTEN, keeps its people in
// the PostgreSQL database of DATABASE_URL through DATABASE_CONNECTIONS connections (10); ends on SIGTERM or SIGINT when
// the requests in flight are answered.
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

	"stampede/rinha/api"
)

func main() {
	connections, err := strconv.Atoi(setting("DATABASE_CONNECTIONS", "10"))
	if err != nil || connections < 1 {
		log.Fatal("DATABASE_CONNECTIONS is not a number of connections")
	}
	people, err := api.Open(os.Getenv("DATABASE_URL"), connections)
	if err != nil {
		log.Fatalf("open the database: %v", err)
	}
	asked, release := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer release()

	address := setting("LISTEN", "127.0.0.1:8080")
	server := &http.Server{Addr: address, Handler: api.New(people)}
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

func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}
