// Plain text that greets, by the gin framework as it is set up for production. Listens on the address in the environment variable
// LISTEN; ends on SIGTERM or SIGINT when the requests in flight are answered.
package main

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
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
	router.GET("/gzip", func(c *gin.Context) {
		text := fmt.Sprintf("Hello, %s!\n", c.DefaultQuery("name", "World"))
		c.Header("Vary", "Accept-Encoding")
		if !strings.Contains(c.GetHeader("Accept-Encoding"), "gzip") {
			c.String(http.StatusOK, "%s", text)
			return
		}
		c.Header("Content-Type", "text/plain; charset=utf-8")
		c.Header("Content-Encoding", "gzip")
		packed := gzip.NewWriter(c.Writer)
		defer packed.Close()
		// A client that is gone needs no answer.
		_, _ = io.WriteString(packed, text)
	})
	router.NoRoute(func(c *gin.Context) {
		c.String(http.StatusNotFound, "Nothing here.\n")
	})
	return router
}
