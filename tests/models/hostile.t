#!/usr/bin/perl
# Around a run with a model: killed, hung up on, its folder taken away, its answers without an end. Nothing that was answered is asked
# again, nobody is left behind, and each is told in a sentence.
use strict;
use warnings;
use File::Basename;
use POSIX ();
use Time::HiRes qw(sleep time);
use Cwd qw(abs_path);
use lib dirname(abs_path(__FILE__));
use Loop;

my $right = "//\@ kernel twice args=(x, y, n:i64)\nvoid twice(const float *x, float *y, int64_t n)\n{\n\tfor (int64_t i = 0; i < n; i++)\n"
	. "\t\ty[i] = x[i] * 2;\n}\n";
my @all = ('optimize', $task, '--backend', 'c', '--baselines', 'none', '--seed', 7, '--budget-rounds', 1);

sub wait_for {
	my ($what) = @_;
	for (my $end = time + 60; time < $end; sleep 0.05) { return 1 if $what->(); }
	return 0;
}

# A command that starts another one, which says who it is. Killed, hung up on, or asked to end: the other one ends too.
sub nobody_left {
	my ($signal, $want) = @_;
	unlink "$tmp/who";
	my $pid = start(@all, '--model', "exec:sh -c 'echo \$\$ >$tmp/who; exec sleep 600'; cat $tmp/answer", '--store', "$tmp/left_$signal");
	ok(wait_for(sub { -s "$tmp/who" }), "$signal: a model is asked");
	my $model = slurp("$tmp/who") + 0;
	kill $signal, $pid;
	my $code = finish($pid);
	ok($code == $want, "$signal: the run ends", "code $code", slurp("$tmp/err"));
	ok(wait_for(sub { !kill 0, $model }), "$signal: and so does what the model's command had started", "process $model");
	return if $want < 0;
	like(slurp("$tmp/err"), qr/resume with kwright runs resume 1/, "$signal: it is said how to go on");
}

sub nohup {
	unlink "$tmp/who";
	my $pid = fork // die;
	if (!$pid) {
		$SIG{HUP} = 'IGNORE';
		open STDOUT, '>', "$tmp/out"; open STDERR, '>', "$tmp/err"; open STDIN, '<', '/dev/null';
		exec $kwright, @all, '--model', "exec:touch $tmp/who; sleep 1; cat $tmp/answer", '--store', "$tmp/nohup" or POSIX::_exit(127);
	}
	wait_for(sub { -e "$tmp/who" });
	kill 'HUP', $pid;
	my $code = finish($pid);
	ok($code == 0, 'under nohup a closed terminal is no matter', "code $code", slurp("$tmp/err"));
}

# What was measured of the machine is in the prompt, and is measured anew where it was not kept: the call is the same one.
sub mailbox_killed {
	my ($box, $store) = ("$tmp/box", "$tmp/mailed");
	my $pid = start(@all, '--model', "mailbox:$box", '--store', $store);
	ok(wait_for(sub { -e "$box/0001.prompt.md" }), 'mailbox: a prompt is laid down');
	kill 'KILL', $pid;
	finish($pid);
	my $first = slurp("$box/0001.prompt.md");
	like($first, qr/^- memory bandwidth: /m, 'mailbox: with what the machine can do');
	spew("$box/0001.prompt.md", $first =~ s/^(- memory bandwidth: ).*/${1}1 GB\/s/mr);
	spew("$box/0001.answer.md", fenced($right));
	my $code = kwright('runs', 'resume', 1, '--store', $store);
	is($code, 0, 'mailbox: resumed after kill -9, with the answer to the first prompt');
	ok(!-e "$box/0002.prompt.md", 'mailbox: which is not asked once more');
}

sub mailbox_gone {
	my ($box, $store) = ("$tmp/gone", "$tmp/goes");
	mkdir $box;
	POSIX::mkfifo("$box/0001.prompt.md", 0600); # none of ours, and nobody writes into it
	my $pid = start(@all, '--model', "mailbox:$box", '--store', $store);
	ok(wait_for(sub { -e "$box/0002.prompt.md" }), "a pipe in a mailbox is passed by");
	rename $box, "$box.away";
	my $code = finish($pid);
	ok($code == 3, 'a mailbox that is taken away ends the run', "code $code");
	like(slurp("$tmp/err"), qr/the mailbox is gone, so no answer can come .*`kwright runs resume 1` goes on/, 'in a sentence');
	rename "$box.away", $box;
	spew("$box/0002.answer.md", fenced($right));
	is(kwright('runs', 'resume', 1, '--store', $store), 0, 'and it goes on when it is back');
}

sub two_at_once {
	my $store = "$tmp/two";
	my @pids = map { start(@all, '--model', "exec:cat $tmp/answer", '--store', $store) } 1 .. 2;
	my @codes = map { finish($_) } @pids;
	is("@codes", '0 0', 'two runs on one store both end well');
	my $text = `$kwright runs verify --store $store`;
	like($text, qr/^4 records, each as it was recorded/, 'and each has its records');
}

sub store_removed {
	my $store = "$tmp/removed";
	my $pid = start(@all, '--model', "exec:mv $store $store.away; cat $tmp/answer", '--store', $store);
	my $code = finish($pid);
	ok($code == 3, 'a store that is moved away ends the run', "code $code");
	like(slurp("$tmp/err"), qr/the store was moved or removed while it was used/, 'in a sentence');
	rename "$store.away", $store;
	is(kwright('runs', 'resume', 1, '--store', $store, '--budget-rounds', 1), 3, 'it is still so when the model does it again');
	rename "$store.away", $store;
	like(scalar `$kwright runs verify --store $store`, qr/each as it was recorded/, 'what was in it is whole');
}

sub another_task {
	my $other = $right =~ s/args=\(x, y, n:i64\)/args=(a, b, rows:i64)/r;
	is(kwright(@all, '--model', 'replay:' . record('other', map { [coder => fenced($other)] } 1 .. 3), '--store', "$tmp/other"), 1, 'a kernel of another task');
	like($out, qr/unknown argument 'a'; did you mean 'x'\?$/m, 'is named, without a mark that points nowhere');
}

spew("$tmp/answer", fenced($right));
store_removed();
another_task();
nobody_left(KILL => -9);
nobody_left(HUP => 4);
nobody_left(TERM => 4);
nohup();
mailbox_killed();
mailbox_gone();
two_at_once();
is(kwright(@all, '--model', 'exec:yes', '--store', "$tmp/yes"), 1, 'an answer without an end');
like($out, qr/it is larger than any kernel/, 'is named');
done();
