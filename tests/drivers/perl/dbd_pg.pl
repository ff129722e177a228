# DBD::Pg: statements prepared in the server, COPY, asynchronous cancel, savepoints, ping.
use strict;
use warnings;
use DBI;
use DBD::Pg qw(:async);
use Time::HiRes ();

$| = 1;
my $tight = $ENV{DRIVER_TIGHT} // '';

sub connect_as {
    my $name = shift // '';
    my $place = "dbi:Pg:host=$ENV{DRIVER_HOST};port=$ENV{DRIVER_PORT};dbname=$ENV{DRIVER_DATABASE}";
    local $ENV{PGAPPNAME} = $name;
    return DBI->connect($place, $ENV{DRIVER_USER}, '', { RaiseError => 1, PrintError => 0, PrintWarn => 0 });
}

sub check {
    my ($name, $body) = @_;
    if ($name =~ /^refusal/ && $tight eq '') { print "skip $name\n"; return; }
    if (eval { $body->(); 1 }) { print "ok $name\n"; return; }
    my $why = $@ =~ s/\s+/ /gr;
    print "not ok $name: $why\n";
}

sub same {
    my ($got, $expected) = @_;
    die "$got is not $expected" if $got ne $expected;
}

sub fails {
    my ($code, $dbh, $body) = @_;
    die "no error where $code was due" if eval { $body->(); 1 };
    same($dbh->state, $code);
}

sub one {
    my ($dbh, $text, @values) = @_;
    return ($dbh->selectrow_array($text, undef, @values))[0];
}

sub count { return one(shift, 'select count(*) from t'); }

check(login => sub {
    same(one(connect_as('before'), 'show application_name'), 'before');
});
check(simple => sub {
    my $dbh = connect_as();
    $dbh->do('select 1; select 2');
    same(one($dbh, 'select 1 + 0'), 1);
    same($dbh->ping > 0, 1);
});
check(prepared => sub {
    my $dbh = connect_as();
    my $plan = $dbh->prepare('select ?::int + 1');
    for my $number (0 .. 4) {
        $dbh->begin_work;
        $plan->execute($number);
        same(($plan->fetchrow_array)[0], $number + 1);
        $plan->finish;
        $dbh->commit;
    }
});
check(commit => sub {
    my $dbh = connect_as();
    my $before = count($dbh);
    $dbh->begin_work;
    $dbh->do('insert into t values (?, ?)', undef, 1, 'perl');
    $dbh->commit;
    same(count($dbh), $before + 1);
});
check(rollback => sub {
    my $dbh = connect_as();
    my $before = count($dbh);
    $dbh->begin_work;
    $dbh->pg_savepoint('a');
    $dbh->do("insert into t values (1, 'away')");
    $dbh->pg_rollback_to('a');
    $dbh->rollback;
    same(count($dbh), $before);
});
check(error => sub {
    my $dbh = connect_as();
    fails('22012', $dbh, sub { one($dbh, 'select 1 / ?::int', 0) });
    $dbh->begin_work;
    fails('42P01', $dbh, sub { $dbh->do('select * from nowhere') });
    fails('25P02', $dbh, sub { $dbh->do('select 1 + 0') });
    $dbh->rollback;
    same(one($dbh, 'select 1 + 0'), 1);
});
check(copy => sub {
    my $dbh = connect_as();
    my $before = count($dbh);
    $dbh->do('copy t from stdin');
    $dbh->pg_putcopydata("$_\trow\n") for 1 .. 2000;
    $dbh->pg_putcopyend;
    same(count($dbh), $before + 2000);
    $dbh->do("copy (select a from t where b = 'row') to stdout");
    my ($line, $rows) = ('', 0);
    $rows++ while $dbh->pg_getcopydata($line) >= 0;
    same($rows, 2000);
});
check(cancel => sub {
    my $dbh = connect_as();
    $dbh->do('select pg_sleep(20)', { pg_async => PG_ASYNC });
    same($dbh->pg_ready ? 1 : 0, 0);
    my $running = "select count(*) from pg_stat_activity where query = 'select pg_sleep(20)'";
    my ($other, $end) = (connect_as(), Time::HiRes::time() + 5);
    until (one($other, $running)) { die 'it does not run' if Time::HiRes::time() > $end; }
    my $start = Time::HiRes::time();
    same($dbh->pg_cancel ? 1 : 0, 1);
    die 'the cancel came late' if Time::HiRes::time() - $start > 10;
    same(one($dbh, 'select 1 + 0'), 1);
});
check(notify => sub {
    my $listener = connect_as();
    $listener->do('listen perl');
    connect_as()->do("notify perl, 'word'");
    my ($note, $end) = (undef, Time::HiRes::time() + 5);
    until ($note = $listener->pg_notifies) {
        die 'nothing heard' if Time::HiRes::time() > $end;
        Time::HiRes::usleep(5000);
    }
    same($note->[2], 'word');
});
# The body, three times, while somebody holds the only permit; then the connection works.
sub refused {
    my $body = shift;
    my ($holder, $dbh) = (connect_as($tight), connect_as($tight));
    my $process = $dbh->{pg_pid};
    $holder->begin_work;
    one($holder, 'select 1 + 0');
    $body->($dbh) for 1 .. 3;
    $holder->rollback;
    same(one($dbh, 'select ?::int', 1), 1);
    same($dbh->{pg_pid}, $process);
}

check(refusal_autocommit => sub {
    refused(sub {
        my $dbh = shift;
        fails('40001', $dbh, sub { one($dbh, 'select ?::int', 1) });
    });
});
check(refusal_block => sub {
    refused(sub {
        my $dbh = shift;
        $dbh->begin_work;
        fails('40001', $dbh, sub { $dbh->do('select 1 + 0') });
        fails('25P02', $dbh, sub { $dbh->do('select 1 + 0') });
        $dbh->rollback;
    });
});
