// A server that ends at once.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "the configuration has no heart")
	os.Exit(7)
}
