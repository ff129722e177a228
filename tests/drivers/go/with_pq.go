// lib/pq under database/sql: its pool, statements prepared by name, COPY, LISTEN, contexts.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/lib/pq"

	"retry"
)

// A pool of one connection: when a check spoils it, the next statement of the check shows it.
func open(name string) *sql.DB {
	pool, err := sql.Open("postgres", place(name))
	must(err)
	pool.SetMaxOpenConns(1)
	return pool
}

func fails(code string, err error) {
	var told *pq.Error
	if !errors.As(err, &told) {
		panic(fmt.Sprintf("%v instead of %s", err, code))
	}
	same(string(told.Code), code)
}

type querier interface {
	QueryRow(text string, values ...interface{}) *sql.Row
}

func one(from querier, text string, values ...interface{}) string {
	var value string
	must(from.QueryRow(text, values...).Scan(&value))
	return value
}

func attempt(from querier, text string, values ...interface{}) error {
	var value string
	return from.QueryRow(text, values...).Scan(&value)
}

func login() {
	pool := open("before")
	defer pool.Close()
	same(one(pool, "show application_name"), "before")
}

func simple() {
	pool := open("")
	defer pool.Close()
	must(pool.Ping())
	same(one(pool, "select 1 + 0"), "1")
	_, err := pool.Exec("select 1; select 2")
	must(err)
}

func prepared() {
	pool := open("")
	defer pool.Close()
	plan, err := pool.Prepare("select $1::int + 1")
	must(err)
	for number := 0; number < 5; number++ {
		var got int
		must(plan.QueryRow(number).Scan(&got))
		same(got, number+1)
		block, err := pool.Begin()
		must(err)
		must(block.Stmt(plan).QueryRow(number).Scan(&got))
		same(got, number+1)
		must(block.Commit())
	}
	must(plan.Close())
}

func commit() {
	pool := open("")
	defer pool.Close()
	block, err := pool.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelSerializable})
	must(err)
	_, err = block.Exec("insert into t values ($1, $2)", 1, "go")
	must(err)
	must(block.Commit())
	same(one(pool, "select count(*) from t where b = 'go'"), "1")
}

func rollback() {
	pool := open("")
	defer pool.Close()
	block, err := pool.Begin()
	must(err)
	_, err = block.Exec("insert into t values (1, 'away')")
	must(err)
	must(block.Rollback())
	same(one(pool, "select count(*) from t where b = 'away'"), "0")
}

func failure() {
	pool := open("")
	defer pool.Close()
	fails("22012", attempt(pool, "select 1 / $1::int", 0))
	block, err := pool.Begin()
	must(err)
	fails("42P01", attempt(block, "select * from nowhere"))
	fails("25P02", attempt(block, "select 1 + 0"))
	must(block.Rollback())
	same(one(pool, "select 1 + 0"), "1")
}

func bulk() {
	pool := open("")
	defer pool.Close()
	block, err := pool.Begin()
	must(err)
	rows, err := block.Prepare(pq.CopyIn("t", "a", "b"))
	must(err)
	for number := 0; number < 2000; number++ {
		_, err = rows.Exec(number, "copied")
		must(err)
	}
	_, err = rows.Exec()
	must(err)
	must(rows.Close())
	must(block.Commit())
	same(one(pool, "select count(*) from t where b = 'copied'"), "2000")
}

func cancel() {
	pool := open("")
	defer pool.Close()
	short, stop := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer stop()
	start := time.Now()
	_, err := pool.ExecContext(short, "select pg_sleep(20)")
	if err == nil || time.Since(start) > 10*time.Second {
		panic(fmt.Sprintf("not cancelled: %v", err))
	}
	same(one(pool, "select 1 + 0"), "1")
}

func notify() {
	listener := pq.NewListener(place(""), time.Second, time.Second, nil)
	defer listener.Close()
	must(listener.Listen("go"))
	pool := open("")
	defer pool.Close()
	_, err := pool.Exec("select pg_notify('go', $1)", "word")
	must(err)
	select {
	case note := <-listener.Notify:
		same(note.Extra, "word")
	case <-time.After(5 * time.Second):
		panic("nothing heard")
	}
	must(listener.UnlistenAll())
}

// The body, three times, on a pool of one connection while somebody holds the only permit; then
// that connection works.
func refused(body func(pool *sql.DB)) {
	holders, pool := open(tight), open(tight)
	defer holders.Close()
	defer pool.Close()
	// lib/pq does not say the process of its server; a name that the session has tells it apart.
	_, err := pool.Exec("set application_name = '" + tight + "'; set work_mem = '7MB'")
	must(err)
	holder, err := holders.Begin()
	must(err)
	same(one(holder, "select 1 + 0"), "1")
	for round := 0; round < 3; round++ {
		body(pool)
	}
	must(holder.Rollback())
	same(one(pool, "show work_mem"), "7MB")
	same(pool.Stats().OpenConnections, 1)
}

func refusalAutocommit() {
	refused(func(pool *sql.DB) {
		fails("40001", attempt(pool, "select $1::int", 1))
		fails("40001", attempt(pool, "select 1 + 0"))
	})
}

func refusalBlock() {
	refused(func(pool *sql.DB) {
		block, err := pool.Begin()
		must(err)
		fails("40001", attempt(block, "select $1::int", 1))
		fails("25P02", attempt(block, "select 1 + 0"))
		must(block.Rollback())
	})
}

// A transaction that counts its calls, while somebody holds the only permit until the third.
func recipe(body func(work func() error, calls *int)) {
	holders, pool := open(tight), open(tight)
	defer holders.Close()
	defer pool.Close()
	holder, err := holders.Begin()
	must(err)
	same(one(holder, "select 1 + 0"), "1")
	defer holder.Rollback()
	calls := 0
	body(func() error {
		if calls++; calls == 3 {
			must(holder.Rollback())
		}
		block, err := pool.Begin()
		must(err)
		defer block.Rollback()
		if err := attempt(block, "select 7"); err != nil {
			return err
		}
		return block.Commit()
	}, &calls)
}

func recipeSucceeds() {
	recipe(func(work func() error, calls *int) {
		must(retry.New(0.1, 10, 5).Run(context.Background(), work))
		same(*calls, 3)
	})
}

func recipeGivesUp() {
	recipe(func(work func() error, calls *int) {
		budget := retry.New(0.1, 1, 5)
		fails("40001", budget.Run(context.Background(), work))
		same(*calls, 2)
		*calls = 0
		fails("40001", budget.Run(context.Background(), work))
		same(*calls, 1)
	})
}

func recipeUnknown() {
	pool := open("")
	defer pool.Close()
	calls := 0
	fails("08007", retry.New(0.1, 10, 5).Run(context.Background(), func() error {
		calls++
		_, err := pool.Exec("select pg_terminate_backend(pg_backend_pid()), pg_sleep(30)")
		return err
	}))
	same(calls, 1)
}

func main() {
	check("login", login)
	check("simple", simple)
	check("prepared", prepared)
	check("commit", commit)
	check("rollback", rollback)
	check("error", failure)
	check("copy", bulk)
	check("cancel", cancel)
	check("notify", notify)
	check("refusal_autocommit", refusalAutocommit)
	check("refusal_block", refusalBlock)
	check("refusal_recipe_succeeds", recipeSucceeds)
	check("refusal_recipe_gives_up", recipeGivesUp)
	check("refusal_recipe_unknown", recipeUnknown)
}
