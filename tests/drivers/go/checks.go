// What the Go programs share: where to connect, and one line per check.
package main

import (
	"fmt"
	"os"
	"strings"
)

// The application_name of a workload with one permit and a short wait; empty when there is no proxy.
var tight = os.Getenv("DRIVER_TIGHT")

func place(name string) string {
	return fmt.Sprintf("host=%s port=%s dbname=%s user=%s sslmode=disable application_name='%s'",
		os.Getenv("DRIVER_HOST"), os.Getenv("DRIVER_PORT"), os.Getenv("DRIVER_DATABASE"),
		os.Getenv("DRIVER_USER"), name)
}

func check(name string, body func()) {
	if strings.HasPrefix(name, "refusal") && tight == "" {
		fmt.Println("skip", name)
		return
	}
	defer func() {
		if wrong := recover(); wrong != nil {
			words := strings.Join(strings.Fields(fmt.Sprint(wrong)), " ")
			fmt.Printf("not ok %s: %s\n", name, words)
			return
		}
		fmt.Println("ok", name)
	}()
	body()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func same(got, expected interface{}) {
	if got != expected {
		panic(fmt.Sprintf("%v is not %v", got, expected))
	}
}
