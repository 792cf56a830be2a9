// Command protobuf writes the numbers of protobuf fields for lib/apiserver/model, and the fixtures of tests of protobuf.
package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "numbers":
		writeNumbers(os.Stdout)
	case len(os.Args) == 2 && os.Args[1] == "fixtures":
		out := bufio.NewWriter(os.Stdout)
		writeFixtures(out)
		check(out.Flush())
	default:
		fmt.Fprintln(os.Stderr, "usage: protobuf numbers|fixtures")
		os.Exit(2)
	}
}
