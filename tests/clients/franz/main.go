// franz-go against a lab: `franz tour BOOTSTRAP` and `franz modern BOOTSTRAP` (groups of today) end with "done";
// `franz produce BOOTSTRAP TOPIC` produces with acks=all until standard input ends and prints each acked value.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	brokers := kgo.SeedBrokers(strings.Split(os.Args[2], ",")...)
	switch os.Args[1] {
	case "tour":
		tour(brokers)
	case "modern":
		modern(brokers)
	case "produce":
		produce(brokers, os.Args[3])
	}
}

func produce(brokers kgo.Opt, topic string) {
	client := must(kgo.NewClient(brokers, kgo.DefaultProduceTopic(topic), kgo.ProducerLinger(5*time.Millisecond)))
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	var printing sync.Mutex
	for number := 0; ; number++ {
		select {
		case <-ended:
			check(client.Flush(context.Background()))
			client.Close()
			return
		case <-time.After(2 * time.Millisecond):
		}
		record := kgo.StringRecord(strconv.Itoa(number))
		client.Produce(context.Background(), record, func(record *kgo.Record, err error) {
			if err == nil {
				printing.Lock()
				fmt.Println(string(record.Value))
				printing.Unlock()
			}
		})
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func assert(holds bool, what ...any) {
	if !holds {
		panic(fmt.Sprintln(what...))
	}
}
