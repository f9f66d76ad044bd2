//! A Go program that counts what it is asked, and answers after a while.

use std::fs;
use std::path::Path;

/// A Go program that sleeps, counts its requests and, when it is stopped, writes how many they were.
const COUNTER: &str = r#"package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	var count atomic.Int64
	most, _ := strconv.ParseInt(os.Getenv("MOST"), 10, 64)
	server := &http.Server{Addr: os.Getenv("LISTEN"), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if number := count.Add(1); most > 0 && number >= most {
			fmt.Fprintln(os.Stderr, "enough")
			os.Exit(9)
		}
		pause, _ := time.ParseDuration(r.URL.Query().Get("sleep"))
		time.Sleep(pause)
		fmt.Fprint(w, "hello")
	})}
	stop := make(chan os.Signal, 1)
	done := make(chan struct{})
	signal.Notify(stop, syscall.SIGTERM)
	go func() {
		<-stop
		server.Shutdown(context.Background())
		if folder := os.Getenv("COUNTS"); folder != "" {
			name := strings.ReplaceAll(os.Getenv("LISTEN"), ":", "-")
			os.WriteFile(folder+"/"+name, []byte(strconv.FormatInt(count.Load(), 10)), 0o644)
		}
		close(done)
	}()
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	<-done
}
"#;

/// A Go application in a folder.
pub(crate) fn go_app(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("main.go"), COUNTER).unwrap();
    fs::write(folder.join("go.mod"), "module counter\n\ngo 1.19\n").unwrap();
}
