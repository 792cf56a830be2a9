// Command protobuf writes the table of protobuf messages for lib/apiserver/protobuf, and the fixtures of its tests.
//
// tests/tools/protobuf.ts runs it.
package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "table":
		writeTable(os.Stdout)
	case len(os.Args) == 2 && os.Args[1] == "fixtures":
		out := bufio.NewWriter(os.Stdout)
		writeFixtures(out)
		check(out.Flush())
	default:
		fmt.Fprintln(os.Stderr, "usage: protobuf table|fixtures")
		os.Exit(2)
	}
}
