// pgx: its cache of statements, batches, binary COPY, WaitForNotification, contexts, pgxpool.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgconn"
	"github.com/jackc/pgconn/stmtcache"
	"github.com/jackc/pgx/v4"
	"github.com/jackc/pgx/v4/pgxpool"
)

var always = context.Background()

func open(name string) *pgx.Conn {
	conn, err := pgx.Connect(always, place(name))
	must(err)
	return conn
}

func fails(code string, err error) {
	var told *pgconn.PgError
	if !errors.As(err, &told) {
		panic(fmt.Sprintf("%v instead of %s", err, code))
	}
	same(told.Code, code)
}

type querier interface {
	QueryRow(ctx context.Context, text string, values ...interface{}) pgx.Row
}

func one(from querier, text string, values ...interface{}) int {
	var value int
	must(from.QueryRow(always, text, values...).Scan(&value))
	return value
}

func attempt(from querier, text string, values ...interface{}) error {
	var value int
	return from.QueryRow(always, text, values...).Scan(&value)
}

func login() {
	conn := open("before")
	defer conn.Close(always)
	var name string
	must(conn.QueryRow(always, "show application_name").Scan(&name))
	same(name, "before")
}

func simple() {
	conn := open("")
	defer conn.Close(always)
	must(conn.Ping(always))
	same(one(conn, "select $1::int", pgx.QuerySimpleProtocol(true), 7), 7)
	results, err := conn.PgConn().Exec(always, "select 1; select 2").ReadAll()
	must(err)
	same(len(results), 2)
}

// Whatever was not prepared by name, the driver prepares by itself and keeps.
func prepared() {
	conn := open("")
	defer conn.Close(always)
	_, err := conn.Prepare(always, "plan", "select $1::int + 1")
	must(err)
	for number := 0; number < 5; number++ {
		same(one(conn, "plan", number), number+1)
		same(one(conn, "select $1::int + 2", number), number+2)
		block, err := conn.Begin(always)
		must(err)
		same(one(block, "plan", number), number+1)
		same(one(block, "select $1::int + 2", number), number+2)
		must(block.Commit(always))
	}
	must(conn.Deallocate(always, "plan"))
	fails("26000", conn.PgConn().ExecPrepared(always, "plan", nil, nil, nil).Read().Err)
	same(one(conn, "select 1 + 0"), 1)
}

func commit() {
	conn := open("")
	defer conn.Close(always)
	must(conn.BeginTxFunc(always, pgx.TxOptions{IsoLevel: pgx.Serializable}, func(block pgx.Tx) error {
		_, err := block.Exec(always, "insert into t values ($1, $2)", 1, "pgx")
		return err
	}))
	same(one(conn, "select count(*) from t where b = 'pgx'"), 1)
}

func rollback() {
	conn := open("")
	defer conn.Close(always)
	block, err := conn.Begin(always)
	must(err)
	point, err := block.Begin(always)
	must(err)
	_, err = point.Exec(always, "insert into t values (1, 'away')")
	must(err)
	must(point.Rollback(always))
	same(one(block, "select count(*) from t where b = 'away'"), 0)
	_, err = block.Exec(always, "insert into t values (2, 'away')")
	must(err)
	must(block.Rollback(always))
	same(one(conn, "select count(*) from t where b = 'away'"), 0)
}

func failure() {
	conn := open("")
	defer conn.Close(always)
	fails("22012", attempt(conn, "select 1 / $1::int", 0))
	block, err := conn.Begin(always)
	must(err)
	fails("42P01", attempt(block, "select * from nowhere"))
	fails("25P02", attempt(block, "select 1 + 0"))
	must(block.Rollback(always))
	same(one(conn, "select 1 + 0"), 1)
}

func bulk() {
	conn := open("")
	defer conn.Close(always)
	rows := make([][]interface{}, 2000)
	for number := range rows {
		rows[number] = []interface{}{int32(number), "copied"}
	}
	stored, err := conn.CopyFrom(always, pgx.Identifier{"t"}, []string{"a", "b"}, pgx.CopyFromRows(rows))
	must(err)
	same(stored, int64(2000))
	var text bytes.Buffer
	_, err = conn.PgConn().CopyTo(always, &text, "copy (select a from t where b = 'copied') to stdout")
	must(err)
	same(bytes.Count(text.Bytes(), []byte("\n")), 2000)
	_, err = conn.PgConn().CopyFrom(always, bytes.NewBufferString("no number\tx\n"), "copy t from stdin")
	fails("22P02", err)
	same(one(conn, "select 1 + 0"), 1)
}

// At the end of its context the driver closes the connection and sends a cancel.
func cancel() {
	pool := pooled("", 1)
	defer pool.Close()
	short, stop := context.WithTimeout(always, 300*time.Millisecond)
	defer stop()
	start := time.Now()
	_, err := pool.Exec(short, "select pg_sleep(20)")
	if err == nil || time.Since(start) > 10*time.Second {
		panic(fmt.Sprintf("not cancelled: %v", err))
	}
	same(one(pool, "select 1 + 0"), 1)
}

// The connection lives on when the cancel is sent by hand.
func cancel_by_hand() {
	conn := open("")
	defer conn.Close(always)
	ended := make(chan error)
	go func() {
		_, err := conn.Exec(always, "select pg_sleep(20)")
		ended <- err
	}()
	for {
		must(conn.PgConn().CancelRequest(always))
		select {
		case err := <-ended:
			fails("57014", err)
			same(one(conn, "select 1 + 0"), 1)
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func notify() {
	conn, other := open(""), open("")
	defer conn.Close(always)
	defer other.Close(always)
	_, err := conn.Exec(always, "listen pgx")
	must(err)
	_, err = other.Exec(always, "select pg_notify('pgx', $1)", "word")
	must(err)
	patient, stop := context.WithTimeout(always, 5*time.Second)
	defer stop()
	note, err := conn.WaitForNotification(patient)
	must(err)
	same(note.Payload, "word")
	_, err = conn.Exec(always, "unlisten *")
	must(err)
}

// All statements of a batch go in one write with one Sync: they are one transaction.
func batch() {
	conn := open("")
	defer conn.Close(always)
	var many pgx.Batch
	for number := 0; number < 50; number++ {
		many.Queue("select $1::int", number)
		many.Queue("insert into t values ($1, 'batch')", number)
	}
	results := conn.SendBatch(always, &many)
	for number := 0; number < 50; number++ {
		var got int
		must(results.QueryRow().Scan(&got))
		same(got, number)
		_, err := results.Exec()
		must(err)
	}
	must(results.Close())
	same(one(conn, "select count(*) from t where b = 'batch'"), 50)

	var bad pgx.Batch
	bad.Queue("insert into t values (1, 'never')")
	bad.Queue("select 1 / $1::int", 0)
	bad.Queue("insert into t values (2, 'never')")
	fails("22012", conn.SendBatch(always, &bad).Close())
	same(one(conn, "select count(*) from t where b = 'never'"), 0)
}

// The statement cache that only describes: what is executed is the unnamed statement.
func describe_cache() {
	config, err := pgx.ParseConfig(place(""))
	must(err)
	config.BuildStatementCache = func(conn *pgconn.PgConn) stmtcache.Cache {
		return stmtcache.New(conn, stmtcache.ModeDescribe, 8)
	}
	conn, err := pgx.ConnectConfig(always, config)
	must(err)
	defer conn.Close(always)
	for number := 0; number < 30; number++ {
		text := fmt.Sprintf("select $1::int + %d", number%10)
		same(one(conn, text, number), number+number%10)
	}
}

// More texts than the cache holds: each that goes is deallocated and prepared again.
func small_cache() {
	conn, err := pgx.Connect(always, place("")+" statement_cache_capacity=3")
	must(err)
	defer conn.Close(always)
	for number := 0; number < 30; number++ {
		same(one(conn, fmt.Sprintf("select $1::int + %d", number%7), number), number+number%7)
	}
}

func large_object() {
	conn := open("")
	defer conn.Close(always)
	must(conn.BeginFunc(always, func(block pgx.Tx) error {
		objects := block.LargeObjects()
		id, err := objects.Create(always, 0)
		must(err)
		object, err := objects.Open(always, id, pgx.LargeObjectModeRead|pgx.LargeObjectModeWrite)
		must(err)
		written := bytes.Repeat([]byte("0123456789"), 5000)
		_, err = object.Write(written)
		must(err)
		_, err = object.Seek(0, io.SeekStart)
		must(err)
		read, err := io.ReadAll(object)
		must(err)
		same(bytes.Equal(read, written), true)
		return objects.Unlink(always, id)
	}))
}

func pooled(name string, size int32) *pgxpool.Pool {
	config, err := pgxpool.ParseConfig(place(name))
	must(err)
	config.MaxConns = size
	pool, err := pgxpool.ConnectConfig(always, config)
	must(err)
	return pool
}

func pool() {
	pool := pooled("", 4)
	defer pool.Close()
	ended := make(chan error)
	for client := 0; client < 12; client++ {
		go func(client int) {
			var got int
			err := pool.QueryRow(always, "select $1::int", client).Scan(&got)
			if err == nil && got != client {
				err = fmt.Errorf("%d is not %d", got, client)
			}
			ended <- err
		}(client)
	}
	for client := 0; client < 12; client++ {
		must(<-ended)
	}
}

// Which connection the pool has: the session's process id.
func connection(pool *pgxpool.Pool) (id uint32) {
	must(pool.AcquireFunc(always, func(conn *pgxpool.Conn) error {
		id = conn.Conn().PgConn().PID()
		return nil
	}))
	return id
}

func refusal() {
	holders, pool := open(tight), pooled(tight, 1)
	defer holders.Close(always)
	defer pool.Close()
	same(one(pool, "select 1 + 0"), 1)
	before := connection(pool)
	holder, err := holders.Begin(always)
	must(err)
	same(one(holder, "select 1 + 0"), 1)
	for round := 0; round < 3; round++ {
		fails("40001", attempt(pool, "select $1::int", round))
		fails("40001", attempt(pool, "select $1::int", pgx.QuerySimpleProtocol(true), round))
		block, err := pool.Begin(always)
		must(err)
		fails("40001", attempt(block, "select $1::int", round))
		must(block.Rollback(always))
	}
	must(holder.Rollback(always))
	same(one(pool, "select $1::int", 1), 1)
	same(connection(pool), before)
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
	check("cancel_by_hand", cancel_by_hand)
	check("notify", notify)
	check("batch", batch)
	check("describe_cache", describe_cache)
	check("small_cache", small_cache)
	check("large_object", large_object)
	check("pool", pool)
	check("refusal", refusal)
}
