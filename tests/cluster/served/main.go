// A server to be compared in the cluster: each request takes so many rounds of SHA-256, and its images differ in nothing else. Built with
// -ldflags "-X main.rounds=200"; it listens on PORT, 8080 by default. It is static, and its image has nothing beside it. With "-X main.counts=yes" it counts what it is sent, and
// prints connections and requests since the last time at /counted. With "-X main.sleeps=100ms" each request waits for so long.
package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"
)

var (
	rounds = "100"
	counts = ""
	sleeps = "0s"
)

// counter counts connections, by the addresses that they come from, and requests.
type counter struct {
	sync.Mutex
	connections map[string]bool
	requests    int
}

func (c *counter) add(from string) {
	c.Lock()
	defer c.Unlock()
	c.connections[from] = true
	c.requests++
}

func (c *counter) take() (int, int) {
	c.Lock()
	defer c.Unlock()
	connections, requests := len(c.connections), c.requests
	c.connections, c.requests = map[string]bool{}, 0
	return connections, requests
}

func main() {
	count, err := strconv.Atoi(rounds)
	if err != nil {
		panic(err)
	}
	pause, err := time.ParseDuration(sleeps)
	if err != nil {
		panic(err)
	}
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	go func() {
		<-told
		os.Exit(0)
	}()
	counted := &counter{connections: map[string]bool{}}
	http.HandleFunc("/counted", func(answer http.ResponseWriter, _ *http.Request) {
		connections, requests := counted.take()
		fmt.Fprintln(answer, connections, requests)
	})
	http.HandleFunc("/", func(answer http.ResponseWriter, asked *http.Request) {
		if counts != "" {
			counted.add(asked.RemoteAddr)
		}
		time.Sleep(pause)
		sum := sha256.Sum256(nil)
		for i := 0; i < count; i++ {
			sum = sha256.Sum256(sum[:])
		}
		// The work is not in the answer: both images answer the same.
		if sum[0] == sum[31] && sum[1] == sum[30] && sum[2] == sum[29] {
			answer.Header().Set("X-Sum", fmt.Sprintf("%x", sum))
		}
		fmt.Fprintln(answer, "served")
	})
	var hoarded [][]byte
	http.HandleFunc("/hoard", func(answer http.ResponseWriter, _ *http.Request) {
		block := make([]byte, 4<<20)
		for i := range block {
			block[i] = 1
		}
		hoarded = append(hoarded, block)
		fmt.Fprintln(answer, "hoarded")
	})
	port := os.Getenv("PORT")
	if port == "" {
		port = "8080"
	}
	panic(http.ListenAndServe(":"+port, nil))
}
