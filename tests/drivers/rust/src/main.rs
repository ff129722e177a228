//! tokio-postgres: pipelining of what is polled at once, typed statements prepared by name, portals,
//! COPY, cancel, notifications.

use bytes::Bytes;
use futures_util::{future, pin_mut, stream, SinkExt, StreamExt, TryStreamExt};
use std::{env, time::Duration};
use tokio::time::timeout;
use tokio_postgres::{AsyncMessage, Client, Error, NoTls, SimpleQueryMessage, Statement};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

fn place(name: &str) -> String {
    format!(
        "host={} port={} dbname={} user={} application_name='{}'",
        variable("DRIVER_HOST"),
        variable("DRIVER_PORT"),
        variable("DRIVER_DATABASE"),
        variable("DRIVER_USER"),
        name
    )
}

async fn connect(name: &str) -> Result<Client, Error> {
    let (client, connection) = tokio_postgres::connect(&place(name), NoTls).await?;
    tokio::task::spawn_local(async move { connection.await.ok() });
    Ok(client)
}

fn same<T: PartialEq + std::fmt::Debug>(got: T, expected: T) -> Outcome {
    if got == expected {
        return Ok(());
    }
    Err(format!("{:?} is not {:?}", got, expected).into())
}

fn fails<T>(code: &str, result: Result<T, Error>) -> Outcome {
    match result {
        Ok(_) => Err(format!("no error where {} was due", code).into()),
        Err(error) => match error.code() {
            Some(state) => same(state.code(), code),
            None => Err(error.into()),
        },
    }
}

async fn count(client: &Client) -> Result<i64, Error> {
    Ok(client.query_one("select count(*) from t", &[]).await?.get(0))
}

async fn login() -> Outcome {
    let client = connect("before").await?;
    let row = client.query_one("show application_name", &[]).await?;
    same(row.get::<_, String>(0), "before".into())
}

async fn simple() -> Outcome {
    let client = connect("").await?;
    let messages = client.simple_query("select 1; select 2").await?;
    let rows = messages.iter().filter(|m| matches!(m, SimpleQueryMessage::Row(_))).count();
    same(rows, 2)
}

async fn prepared() -> Outcome {
    let mut client = connect("").await?;
    let plan = client.prepare("select $1::int4 + 1").await?;
    for number in 0..5i32 {
        same(client.query_one(&plan, &[&number]).await?.get::<_, i32>(0), number + 1)?;
        let block = client.transaction().await?;
        same(block.query_one(&plan, &[&number]).await?.get::<_, i32>(0), number + 1)?;
        block.commit().await?;
    }
    Ok(())
}

async fn commit() -> Outcome {
    let mut client = connect("").await?;
    let before = count(&client).await?;
    let block = client.transaction().await?;
    block.execute("insert into t values ($1, $2)", &[&1i32, &"rust"]).await?;
    block.commit().await?;
    same(count(&client).await?, before + 1)
}

async fn rollback() -> Outcome {
    let mut client = connect("").await?;
    let before = count(&client).await?;
    let mut block = client.transaction().await?;
    let point = block.transaction().await?;
    point.execute("insert into t values (1, 'away')", &[]).await?;
    point.rollback().await?;
    block.execute("insert into t values (2, 'away')", &[]).await?;
    drop(block);
    same(count(&client).await?, before)
}

async fn error() -> Outcome {
    let mut client = connect("").await?;
    fails("22012", client.query_one("select 1 / $1::int4", &[&0i32]).await)?;
    let block = client.transaction().await?;
    fails("42P01", block.query_one("select * from nowhere", &[]).await)?;
    fails("25P02", block.query_one("select 1 + 0", &[]).await)?;
    block.rollback().await?;
    same(client.query_one("select 1 + 0", &[]).await?.get::<_, i32>(0), 1)
}

async fn copy() -> Outcome {
    let client = connect("").await?;
    let before = count(&client).await?;
    let sink = client.copy_in("copy t from stdin").await?;
    pin_mut!(sink);
    let lines = (0..2000).map(|n| Ok::<_, Error>(Bytes::from(format!("{}\tcopied\n", n))));
    sink.send_all(&mut stream::iter(lines)).await?;
    same(sink.finish().await?, 2000)?;
    same(count(&client).await?, before + 2000)?;
    let source = client.copy_out("copy (select a from t where b = 'copied') to stdout").await?;
    same(source.try_collect::<Vec<Bytes>>().await?.len(), 2000)
}

async fn pipeline() -> Outcome {
    let client = connect("").await?;
    let plan = client.prepare("select $1::int4").await?;
    let numbers: Vec<i32> = (0..50).collect();
    let rows = future::try_join_all(numbers.iter().map(|number| {
        let (client, plan) = (&client, &plan);
        async move { client.query_one(plan, &[number]).await }
    }));
    let got: Vec<i32> = rows.await?.iter().map(|row| row.get(0)).collect();
    same(got, numbers)
}

async fn portal() -> Outcome {
    let mut client = connect("").await?;
    let block = client.transaction().await?;
    let portal = block.bind("select generate_series(1, 25)", &[]).await?;
    for size in [10, 10, 5] {
        same(block.query_portal(&portal, 10).await?.len(), size)?;
    }
    Ok(block.commit().await?)
}

async fn cancel() -> Outcome {
    let client = connect("").await?;
    let token = client.cancel_token();
    let sleeping = client.batch_execute("select pg_sleep(20)");
    pin_mut!(sleeping);
    if timeout(Duration::from_millis(300), &mut sleeping).await.is_ok() {
        return Err("it did not run".into());
    }
    token.cancel_query(NoTls).await?;
    fails("57014", timeout(Duration::from_secs(5), sleeping).await?)?;
    same(client.query_one("select 1 + 0", &[]).await?.get::<_, i32>(0), 1)
}

async fn notify() -> Outcome {
    let (client, mut connection) = tokio_postgres::connect(&place(""), NoTls).await?;
    let mut messages = stream::poll_fn(move |context| connection.poll_message(context));
    let (say, mut heard) = tokio::sync::mpsc::unbounded_channel();
    tokio::task::spawn_local(async move {
        while let Some(Ok(message)) = messages.next().await {
            if let AsyncMessage::Notification(note) = message {
                say.send(note.payload().to_string()).ok();
            }
        }
    });
    client.batch_execute("listen rust").await?;
    connect("").await?.batch_execute("notify rust, 'word'").await?;
    same(timeout(Duration::from_secs(5), heard.recv()).await?, Some("word".into()))
}

// The holder has the only permit; the client has prepared its statement before.
async fn held() -> Result<(Client, Client, Statement), Error> {
    let tight = variable("DRIVER_TIGHT");
    let (holder, client) = (connect(&tight).await?, connect(&tight).await?);
    let plan = client.prepare("select $1::int4").await?;
    holder.batch_execute("begin; select 1 + 0").await?;
    Ok((holder, client, plan))
}

async fn works_on(holder: Client, client: Client, plan: Statement) -> Outcome {
    holder.batch_execute("rollback").await?;
    same(client.query_one(&plan, &[&1i32]).await?.get::<_, i32>(0), 1)
}

async fn refusal_autocommit() -> Outcome {
    let (holder, client, plan) = held().await?;
    for _ in 0..3 {
        fails("40001", client.query_one(&plan, &[&1i32]).await)?;
        fails("40001", client.simple_query("select 1 + 0").await)?;
    }
    works_on(holder, client, plan).await
}

async fn refusal_block() -> Outcome {
    let (holder, mut client, plan) = held().await?;
    for _ in 0..3 {
        let block = client.transaction().await?;
        fails("40001", block.query_one(&plan, &[&1i32]).await)?;
        drop(block);
    }
    works_on(holder, client, plan).await
}

async fn refusal_pipeline() -> Outcome {
    let (holder, client, plan) = held().await?;
    let rows = future::join_all((0..20i32).map(|number| {
        let (client, plan) = (&client, &plan);
        async move { client.query_one(plan, &[&number]).await }
    }));
    for row in rows.await {
        fails("40001", row)?;
    }
    works_on(holder, client, plan).await
}

async fn check<F: std::future::Future<Output = Outcome>>(name: &str, body: F) {
    if name.starts_with("refusal") && variable("DRIVER_TIGHT").is_empty() {
        println!("skip {}", name);
        return;
    }
    match body.await {
        Ok(()) => println!("ok {}", name),
        Err(wrong) => println!("not ok {}: {}", name, wrong.to_string().replace('\n', " ")),
    }
}

async fn check_all() {
    check("login", login()).await;
    check("simple", simple()).await;
    check("prepared", prepared()).await;
    check("commit", commit()).await;
    check("rollback", rollback()).await;
    check("error", error()).await;
    check("copy", copy()).await;
    check("pipeline", pipeline()).await;
    check("portal", portal()).await;
    check("cancel", cancel()).await;
    check("notify", notify()).await;
    check("refusal_autocommit", refusal_autocommit()).await;
    check("refusal_block", refusal_block()).await;
    check("refusal_pipeline", refusal_pipeline()).await;
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    tokio::task::LocalSet::new().run_until(check_all()).await;
}
