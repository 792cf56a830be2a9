// Command queuebench runs the workloads of works/queue.ts on one of the Go queues, and prints one line of JSON.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

const (
	low = -100
	// Number of keys of the steady workload.
	steadyKeys = 10_000
)

type queue interface {
	add(key ctrl.Request, priority int)
	workqueue.TypedRateLimitingInterface[ctrl.Request]
}

type fifo struct {
	workqueue.TypedRateLimitingInterface[ctrl.Request]
}

func (q fifo) add(key ctrl.Request, _ int) { q.Add(key) }

type byPriority struct {
	priorityqueue.PriorityQueue[ctrl.Request]
}

func (q byPriority) add(key ctrl.Request, priority int) {
	q.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, key)
}

func main() {
	name := flag.String("queue", "workqueue", "workqueue | priorityqueue")
	workload := flag.String("workload", "burst", "burst | steady")
	n := flag.Int("n", 1_000_000, "turns")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())

	var q queue
	switch *name {
	case "workqueue":
		q = fifo{workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())}
	case "priorityqueue":
		q = byPriority{priorityqueue.New[ctrl.Request]("bench")}
	default:
		fmt.Fprintln(os.Stderr, "no such queue:", *name)
		os.Exit(2)
	}

	var took time.Duration
	switch *workload {
	case "burst":
		took = burst(q, *n)
	case "steady":
		took = steady(q, *n)
	default:
		fmt.Fprintln(os.Stderr, "no such workload:", *workload)
		os.Exit(2)
	}
	line, err := json.Marshal(map[string]any{"queue": *name, "workload": *workload, "perSecond": float64(*n) / took.Seconds()})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

func requests(n int) []ctrl.Request {
	keys := make([]ctrl.Request, n)
	for i := range keys {
		keys[i].Namespace, keys[i].Name = "default", fmt.Sprintf("object-%d", i)
	}
	return keys
}

// burst adds an initial list, a tenth of it as live events, and processes it.
func burst(q queue, n int) time.Duration {
	keys := requests(n)
	began := time.Now()
	for i, key := range keys {
		q.add(key, priorityOf(i))
	}
	for range keys {
		key, _ := q.Get()
		q.Forget(key)
		q.Done(key)
	}
	return time.Since(began)
}

// steady keeps the queue filled: each turn adds its key again, and an event for another key.
func steady(q queue, n int) time.Duration {
	keys := requests(steadyKeys)
	for i, key := range keys {
		q.add(key, priorityOf(i))
	}
	began := time.Now()
	for i := range n {
		key, _ := q.Get()
		q.add(key, priorityOf(i))
		q.add(keys[i*7%steadyKeys], 0)
		q.Forget(key)
		q.Done(key)
	}
	return time.Since(began)
}

func priorityOf(i int) int {
	if i%10 == 0 {
		return 0
	}
	return low
}
