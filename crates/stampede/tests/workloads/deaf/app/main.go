// A server that ignores the signal that asks it to stop.
package main

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signal.Ignore(syscall.SIGTERM)
	err := http.ListenAndServe(os.Getenv("LISTEN"), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "hello")
	}))
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
