package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
)

// One name for all requests: whoever comes next is greeted with it.
var name = "World"

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if given := r.URL.Query().Get("name"); given != "" {
			name = given
		}
		fmt.Fprintf(w, "Hello, %s!\n", name)
	})
	log.Fatal(http.ListenAndServe(os.Getenv("LISTEN"), nil))
}
