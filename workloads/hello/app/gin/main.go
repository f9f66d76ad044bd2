// Plain text that greets, by the gin framework as it is set up for production. Listens on the address in the environment variable
// LISTEN; ends on SIGTERM or SIGINT when the requests in flight are answered.
package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/gin-gonic/gin"
)

func main() {
	address := os.Getenv("LISTEN")
	if address == "" {
		address = "127.0.0.1:8080"
	}
	asked, release := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer release()

	server := &http.Server{Addr: address, Handler: greeter()}
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

func greeter() http.Handler {
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.Use(gin.Recovery())
	router.GET("/", func(c *gin.Context) {
		c.String(http.StatusOK, "Hello, %s!\n", c.DefaultQuery("name", "World"))
	})
	router.NoRoute(func(c *gin.Context) {
		c.String(http.StatusNotFound, "Nothing here.\n")
	})
	return router
}
