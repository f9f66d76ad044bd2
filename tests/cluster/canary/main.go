// What vegeta, by which Knative's own canaries send their load, sees of an address: `canary URL RATE SECONDS` prints one line of JSON.
package main

import (
	"encoding/json"
	"os"
	"strconv"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	rate, err := strconv.Atoi(os.Args[2])
	must(err)
	seconds, err := strconv.Atoi(os.Args[3])
	must(err)
	targeter := vegeta.NewStaticTargeter(vegeta.Target{Method: "GET", URL: os.Args[1]})
	attacker := vegeta.NewAttacker()
	var metrics vegeta.Metrics
	pace := vegeta.Rate{Freq: rate, Per: time.Second}
	for result := range attacker.Attack(targeter, pace, time.Duration(seconds)*time.Second, "canary") {
		metrics.Add(result)
	}
	metrics.Close()
	must(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"requests": metrics.Requests,
		"success":  metrics.Success,
		"p50_ms":   float64(metrics.Latencies.P50.Microseconds()) / 1e3,
		"p95_ms":   float64(metrics.Latencies.P95.Microseconds()) / 1e3,
		"p99_ms":   float64(metrics.Latencies.P99.Microseconds()) / 1e3,
	}))
}
