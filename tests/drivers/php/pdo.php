<?php
// PDO: statements prepared in the server and emulated, COPY, NOTIFY.

$tight = getenv('DRIVER_TIGHT') ?: '';

function connect(string $name = '', array $options = []): PDO {
    $place = sprintf('pgsql:host=%s;port=%s;dbname=%s;application_name=\'%s\'', getenv('DRIVER_HOST'),
        getenv('DRIVER_PORT'), getenv('DRIVER_DATABASE'), $name);
    $options += [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION];
    return new PDO($place, getenv('DRIVER_USER'), null, $options);
}

function check(string $name, callable $body): void {
    global $tight;
    if (str_starts_with($name, 'refusal') && $tight === '') {
        echo "skip $name\n";
        return;
    }
    try {
        $body();
        echo "ok $name\n";
    } catch (Throwable $error) {
        echo "not ok $name: ", preg_replace('/\s+/', ' ', $error->getMessage()), "\n";
    }
}

function same($got, $expected): void {
    if ($got !== $expected) {
        throw new Exception(var_export($got, true) . ' is not ' . var_export($expected, true));
    }
}

function fails(string $code, callable $body): void {
    try {
        $body();
    } catch (PDOException $error) {
        same($error->errorInfo[0], $code);
        return;
    }
    throw new Exception("no error where $code was due");
}

function one(PDO $pdo, string $text, array $values = []) {
    $statement = $pdo->prepare($text);
    $statement->execute($values);
    return $statement->fetchColumn();
}

function rows(PDO $pdo): int {
    return (int) one($pdo, 'select count(*) from t');
}

check('login', fn() => same(one(connect('before'), 'show application_name'), 'before'));
check('simple', function () {
    $pdo = connect();
    same($pdo->query("select 1, 'two'")->fetch(PDO::FETCH_NUM), [1, 'two']);
    same($pdo->exec('select 1; insert into t values (1, null), (2, null)'), 2);
});
check('prepared', function () {
    $kinds = [[], [PDO::ATTR_EMULATE_PREPARES => true], [PDO::PGSQL_ATTR_DISABLE_PREPARES => true]];
    foreach ($kinds as $options) {
        $pdo = connect('', $options);
        $plan = $pdo->prepare('select cast(? as int) + 1');
        for ($number = 0; $number < 5; $number++) {
            $pdo->beginTransaction();
            $plan->execute([$number]);
            same((int) $plan->fetchColumn(), $number + 1);
            $pdo->commit();
        }
        $plan = null;
        same((int) one($pdo, 'select 1 + 0'), 1);
    }
});
check('commit', function () {
    $pdo = connect();
    $before = rows($pdo);
    $pdo->beginTransaction();
    $pdo->prepare('insert into t values (?, ?)')->execute([1, 'php']);
    $pdo->commit();
    same(rows($pdo), $before + 1);
});
check('rollback', function () {
    $pdo = connect();
    $before = rows($pdo);
    $pdo->beginTransaction();
    $pdo->exec("insert into t values (1, 'away')");
    $pdo->rollBack();
    same(rows($pdo), $before);
});
check('error', function () {
    $pdo = connect();
    fails('22012', fn() => one($pdo, 'select 1 / cast(? as int)', [0]));
    $pdo->beginTransaction();
    fails('42P01', fn() => $pdo->query('select * from nowhere'));
    fails('25P02', fn() => $pdo->query('select 1 + 0'));
    $pdo->rollBack();
    same((int) one($pdo, 'select 1 + 0'), 1);
});
check('copy', function () {
    $pdo = connect();
    $before = rows($pdo);
    same($pdo->pgsqlCopyFromArray('t', array_map(fn($n) => "$n\trow", range(1, 2000))), true);
    same(rows($pdo), $before + 2000);
    same(count($pdo->pgsqlCopyToArray("(select 1 from t where b = 'row')")), 2000);
});
check('cancel', function () {
    // PDO has no call for it; a timeout of the server's comes the same way.
    $pdo = connect();
    $pdo->exec("set statement_timeout = '200ms'");
    fails('57014', fn() => $pdo->query('select pg_sleep(20)'));
    $pdo->exec('reset statement_timeout');
    same((int) one($pdo, 'select 1 + 0'), 1);
});
check('notify', function () {
    $listener = connect();
    $listener->exec('listen php');
    connect()->exec("notify php, 'word'");
    same($listener->pgsqlGetNotify(PDO::FETCH_ASSOC, 5000)['payload'], 'word');
});
// The body, three times, while somebody holds the only permit; then the connection works.
function refused(callable $body): void {
    global $tight;
    $holder = connect($tight);
    $holder->beginTransaction();
    $holder->query('select 1 + 0');
    $pdo = connect($tight);
    $process = $pdo->pgsqlGetPid();
    for ($round = 0; $round < 3; $round++) {
        $body($pdo);
    }
    $holder->rollBack();
    same((int) one($pdo, 'select cast(? as int)', [1]), 1);
    same($pdo->pgsqlGetPid(), $process);
}

check('refusal_autocommit', fn() => refused(function (PDO $pdo) {
    fails('40001', fn() => one($pdo, 'select cast(? as int)', [1]));
    fails('40001', fn() => $pdo->query('select 1 + 0'));
}));
check('refusal_block', fn() => refused(function (PDO $pdo) {
    $pdo->beginTransaction();
    fails('40001', fn() => $pdo->query('select 1 + 0'));
    fails('25P02', fn() => $pdo->query('select 1 + 0'));
    $pdo->rollBack();
}));
