#!/usr/bin/perl
# A budget of money binds, or it is said at the start that it does not; and what a run's calls were is shown in the amount that the reader can
# take.
use strict;
use warnings;
use File::Basename;
use JSON::PP;
use POSIX ();
use Cwd qw(abs_path);
use lib dirname(abs_path(__FILE__));
use Loop;

my $right = "//\@ kernel twice args=(x, y, n:i64)\nvoid twice(const float *x, float *y, int64_t n)\n{\n\tfor (int64_t i = 0; i < n; i++)\n"
	. "\t\ty[i] = x[i] * 2;\n}\n";
my @all = ('optimize', $task, '--backend', 'c', '--baselines', 'none', '--seed', 7);

# A command says no model, so without a price of its own nothing is begun.
spew("$tmp/answer", fenced($right));
my @exec = (@all, '--model', "exec:cat $tmp/answer; touch $tmp/asked", '--budget-usd', 5, '--store', "$tmp/exec");
is(kwright(@exec), 2, 'exec and a budget of money are refused together');
like($err, qr/nobody can tell what an answer of exec:cat .* costs, .* give 'exec' a price in knowledge\/prices\.yaml .*--budget-tokens/, 'in a sentence that says how');
ok(!-e "$tmp/asked", 'before anybody is asked');
mkdir "$tmp/data"; mkdir "$tmp/data/knowledge";
spew("$tmp/data/knowledge/prices.yaml", "prices:\n  - { model: exec, in: 1000000, out: 1000000 }\n");
is(kwright(@exec, '--data', "$tmp/data"), 0, 'with a price it is asked');
my $r = run_json("$tmp/exec");
is($r->{state}, 'money budget spent', 'and the budget ends it');
is(scalar @{$r->{calls}}, 1, 'after the first answer');
is($r->{calls}[0]{cost_usd}, $r->{calls}[0]{tokens_in} + $r->{calls}[0]{tokens_out}, 'which cost what the price says');
is(kwright(@exec, '--role-model', 'planner=exec:true', '--model', 'replay:' . record('free', [coder => fenced($right)])), 2, 'the model of one role counts too');
like($err, qr/an answer of exec:true costs/, 'and is named');

# A folder's answers have a price where they name a model.
mkdir "$tmp/box";
my @box = (@all, '--model', "mailbox:$tmp/box", '--budget-usd', 0.001, '--store', "$tmp/mail");
my $pid = fork // die;
if (!$pid) {
	for (1 .. 600) { last if -e "$tmp/box/0001.prompt.md"; select undef, undef, undef, 0.1; }
	spew("$tmp/box/draft", "<!-- model: claude-opus-4-5 -->\n" . fenced($right));
	rename "$tmp/box/draft", "$tmp/box/0001.answer.md";
	POSIX::_exit(0);
}
is(kwright(@box), 0, 'a mailbox and a budget of money');
waitpid $pid, 0;
like($err, qr/the budget of 0\.001 USD binds only where an answer of mailbox:\S+ names a model/, 'it is said when the budget binds');
is(run_json("$tmp/mail")->{state}, 'money budget spent', 'and it does where the answer names a model');
is(kwright(@all, '--model', 'openai:a-model-nobody-knows', '--budget-usd', 5, '--base-url', 'http://127.0.0.1:9'), 2, 'a service without a price is refused');
like($err, qr/the price of openai:a-model-nobody-knows is not in/, 'by its name');

my $long = 'openai:' . "\xc3\xa9" x 400;
is(kwright(@all, '--model', $long, '--budget-usd', 5, '--base-url', 'http://127.0.0.1:9', '--json'), 2, 'a name that is cut in the middle of a character');
like(eval { JSON::PP->new->utf8->decode($out)->{error}{text} }, qr/^the price of openai:\x{e9}+\x{fffd}? is not in/, 'is text all the same, and the error JSON');

# Much to read: all of it for a file or a pipe, the beginning for a terminal.
my @long = map { [coder => fenced($right =~ s/\{\n/"{\n\t\/* " . 'x' x 50000 . " $_ *\/\n"/er)] } 1 .. 3;
is(kwright(@all, '--strategy', 'best_of', '--width', 3, '--budget-rounds', 1, '--model', 'replay:' . record('long', @long), '--store', "$tmp/long"), 0, 'a run with long answers');
my @show = ($kwright, 'runs', 'show', 1, '--store', "$tmp/long", '--calls');
my $text = `@show`;
my @lines = split /\n/, $text;
my @slots = map { JSON::PP->new->decode($_)->{slot} } @lines;
is(scalar @lines, 3, 'a pipe gets every call');
my $one = `@show --slot $slots[1]`;
is($one, "$lines[1]\n", '--slot picks one');
is(kwright(@show[1 .. $#show], '--slot', 'r9/coder'), 2, 'a slot that is not there');
like($err, qr{run 1 has no call 'r9/coder'; there is \Q$slots[0]\E}, 'is told, with one that is');
is(kwright('runs', 'show', 1, '--store', "$tmp/long", '--slot', $slots[0]), 2, '--slot without --calls');
like($err, qr/--slot goes with --calls/, 'is refused');
if (system('script -qec true /dev/null >/dev/null 2>&1 </dev/null') == 0) {
	my $seen = `script -qec "@show" /dev/null </dev/null`;
	is(scalar(() = $seen =~ /^\{/mg), 2, 'a terminal gets the first');
	like($seen, qr/2 of 3 calls are shown; kwright runs show 1 --calls > FILE writes all of them/, 'and a sentence');
} else {
	ok(1, 'a terminal gets the first # SKIP no script here') for 1 .. 2;
}
if (-e '/dev/full') {
	my $said = `@show 2>&1 >/dev/full`;
	is($? >> 8, 3, 'a full disk is no success');
	like($said, qr/standard output: No space left/, 'and is named');
}
done();
