#!/usr/bin/perl
# A run with a model that is killed at any moment: what was answered is not asked again, what was judged is not judged again, and the
# end is the same as without kills.
use strict;
use warnings;
use File::Basename;
use Cwd qw(abs_path);
use lib dirname(abs_path(__FILE__));
use POSIX ();
use Time::HiRes qw(sleep);
use Loop;

my $head = "//\@ kernel twice args=(x, y, n:i64)\nvoid twice(const float *x, float *y, int64_t n)\n{\n";
my $store = "$tmp/store";

# The command answers by slot, and writes down who was asked.
mkdir "$tmp/answers";
my %answers = ('r1/coder' => 'no code here', 'r1/coder/again' => fenced("$head\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = x[i] * 3;\n}\n"),
	'r1/debugger' => fenced("$head\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = x[i] * 2;\n}\n"),
	'r2/planner' => "STEP: Add instead of multiplying. EXPECT: 0.9\nSTEP: Vectorise. EXPECT: 0.5\n",
	'r2/coder' => fenced("$head\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = x[i] + x[i];\n}\n"),
	'r3/coder' => fenced("$head#pragma omp simd\n\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = x[i] * 2;\n}\n"));
spew("$tmp/answers/" . s{/}{-}gr, $answers{$_}) for keys %answers;
spew("$tmp/model.sh", "echo \"\$KWRIGHT_SLOT\" >> $tmp/asked\nsleep 0.1\nf=$tmp/answers/\$(echo \"\$KWRIGHT_SLOT\" | tr / -)\n"
	. "if [ -e \"\$f\" ]; then cat \"\$f\"; else echo 'NOTHING: enough.'; fi\n");
my @model = ('--model', "exec:sh $tmp/model.sh", '--seed', 7, '--store', $store);

sub asked { return split /\n/, slurp("$tmp/asked"); }
sub stored { my $r = run_json($store) or return (); return map { $_->{slot} } @{$r->{calls}}; }
sub judged { my $r = run_json($store) or return (); return map { join '|', @$_{qw(candidate tune effort)} } @{$r->{verdicts}}; }
sub twice { my %n; $n{$_}++ for @_; return grep { $n{$_} > 1 } sort keys %n; }

my (@again, $kills);
for my $i (1 .. 8) {
	my %paid = map { $_ => 1 } stored();
	my $before = () = asked();
	my $pid = start(run_json($store) ? ('runs', 'resume', 1, '--store', $store) : ('optimize', $task, @model));
	sleep(0.15 + rand($i < 5 ? 0.6 : 2.5));
	$kills += kill 'KILL', -$pid;
	waitpid $pid, 0;
	my @all = asked();
	push @again, grep { $paid{$_} } @all[$before .. $#all];
}
ok($kills >= 4, 'the run was killed several times', "$kills kills");
ok(!@again, 'no answer that was stored is asked for again', @again);
my %paid = map { $_ => 1 } stored();
my $before = () = asked();
my $code = kwright(run_json($store) ? ('runs', 'resume', 1, '--store', $store) : ('optimize', $task, @model));
is($code, 0, 'the run ends well');
my @all = asked();
ok(!(grep { $paid{$_} } @all[$before .. $#all]), 'and its last part asks nothing again');
ok(!twice(stored()), 'each call is stored once', twice(stored()));
ok(!twice(judged()), 'each point was judged once', twice(judged()));
my $r = run_json($store);
is($r->{best}{verdict}, 'ok', 'what is handed over is right');
like(join(' ', stored()), qr{^r1/coder r1/coder/again r1/debugger r2/planner r2/coder}, 'the calls are those of a run without kills');
my $sum = 0;
$sum += $_->{tokens_in} + $_->{tokens_out} for @{$r->{calls}};
$code = kwright('runs', 'resume', 1, '--store', $store);
is($code, 0, 'a run that is over is only reported');
is(scalar(() = asked()), scalar @all, 'nobody is asked for that');

# A budget that was spent, and a larger one.
spew("$tmp/asked", '');
$code = kwright('optimize', $task, @model[0 .. 3], '--store', "$tmp/small", '--budget-tokens', 10);
is($code, 1, 'a budget that ends before anything was right');
is(run_json("$tmp/small")->{state}, 'token budget spent', 'says so');
is(join(' ', asked()), 'r1/coder', 'after one call');
$code = kwright('runs', 'resume', 1, '--store', "$tmp/small", '--budget-tokens', 1000000);
is($code, 0, 'goes on with a larger one');
like(join(' ', asked()), qr{^r1/coder r1/coder/again r1/debugger}, 'where it was');

# An interrupt while a model is asked.
spew("$tmp/slow.sh", "touch $tmp/waiting\nsleep 100\n");
my $pid = start('optimize', $task, '--model', "exec:sh $tmp/slow.sh", '--store', "$tmp/slow");
for (1 .. 400) { last if -e "$tmp/waiting"; sleep 0.05; }
kill 'INT', $pid;
waitpid $pid, 0;
is($? >> 8, 4, 'an interrupt while a model is asked ends the run');
like(slurp("$tmp/err"), qr/resume with kwright runs resume 1/, 'and says how to go on');
done();
