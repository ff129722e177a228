// Package retry runs a transaction again when it was refused, on lib/pq: after the time that the
// refusal names, and as long as there is a budget for retries. See ../README.md.
//
//	budget := retry.New(0.1, 10, 5)
//	err := budget.Run(ctx, func() error {
//		block, err := pool.BeginTx(ctx, nil)
//		if err != nil {
//			return err
//		}
//		defer block.Rollback()
//		...
//		return block.Commit()
//	})
package retry

import (
	"context"
	"errors"
	"math/rand"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lib/pq"
)

// Budget is what all transactions of a program on one database share.
type Budget struct {
	share, burst, tokens float64
	attempts             int
	lock                 sync.Mutex
}

// New makes a full budget: each transaction earns a share of a retry, at most burst are kept.
func New(share, burst float64, attempts int) *Budget {
	return &Budget{share: share, burst: burst, tokens: burst, attempts: attempts}
}

// Run calls the transaction, which must be the whole of it, with its own BEGIN and COMMIT.
func (budget *Budget) Run(ctx context.Context, transaction func() error) error {
	budget.earn()
	for attempt := 1; ; attempt++ {
		err := transaction()
		var told *pq.Error
		// 40001 and 40P01: nothing took effect. 08007 is not among them: it may have been stored.
		if !errors.As(err, &told) || (told.Code != "40001" && told.Code != "40P01") ||
			attempt == budget.attempts || !budget.take() {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(after(told, attempt)):
		}
	}
}

func (budget *Budget) earn() {
	budget.lock.Lock()
	defer budget.lock.Unlock()
	budget.tokens += budget.share
	if budget.tokens > budget.burst {
		budget.tokens = budget.burst
	}
}

func (budget *Budget) take() bool {
	budget.lock.Lock()
	defer budget.lock.Unlock()
	if budget.tokens < 1 {
		return false
	}
	budget.tokens--
	return true
}

// What the refusal says, never less, and up to twice that by chance.
func after(told *pq.Error, attempt int) time.Duration {
	milliseconds := 10 << attempt
	for _, word := range strings.Fields(told.Hint) {
		if named, err := strconv.Atoi(strings.TrimPrefix(word, "retry_after_ms=")); err == nil {
			milliseconds = named
		}
	}
	return time.Duration(float64(milliseconds) * (1 + rand.Float64()) * float64(time.Millisecond))
}
