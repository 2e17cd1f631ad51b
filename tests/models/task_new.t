#!/usr/bin/perl
# A task from words: the draft, its assumptions, its mark, and what is no task.
use strict;
use warnings;
use File::Basename;
use Cwd qw(abs_path);
use lib dirname(abs_path(__FILE__));
use Loop;

my $yaml = "name: scaled\ntitle: A row by its sum\ndims: { n: { min: 1, max: 100000 } }\ninputs:\n  x: { dtype: f32, shape: [n] }\noutputs:\n"
	. "  y: { dtype: f32, shape: [n] }\nreference:\n  expr: |\n    y = x * 2\nperf: [ { n: 65536 } ]\ncheck: [ { n: 7 } ]\n";
my $answer = "Here is the task.\n```yaml\n$yaml```\n- ASSUME: numbers have 32 bits\n- ASSUME: rows are contiguous\n";

my $m = 'replay:' . record('good', [specifier => $answer]);
is(kwright('task', 'new', 'multiply by two', '--model', $m), 0, 'a task from words');
like($out, qr/^scaled\.yaml: drafted by a-script, unconfirmed\n  assumes: numbers have 32 bits\n  assumes: rows are contiguous\n/, 'lists what it assumes');
like(slurp("$tmp/scaled.yaml"), qr/^unconfirmed: true$/m, 'the draft is marked');
is(kwright('task', 'show', 'scaled.yaml'), 0, 'it is a task');
like($out, qr/unconfirmed: drafted by a model/, 'and shown as a draft');
is(kwright('optimize', 'scaled.yaml', '--store', "$tmp/s", '--budget-evals', 1), 0, 'it can be worked on');
like($out, qr/the task is unconfirmed: a model drafted it/, 'and the report says what it is');
is(kwright('task', 'new', 'multiply by two', '--model', $m), 2, 'a file that is there is not overwritten');
like($err, qr/scaled\.yaml: is there already/, 'and it says so');
is(kwright('task', 'accept', 'scaled.yaml'), 0, 'the user accepts it');
ok(slurp("$tmp/scaled.yaml") !~ /unconfirmed/, 'and the mark is gone');
is(kwright('task', 'accept', 'scaled.yaml'), 2, 'what is no draft cannot be accepted');
is(kwright('task', 'accept', 'softmax'), 2, 'nor a task of the library');
is(kwright('task', 'new', 'multiply', '--out', 'other.yaml', '--json', '--model', 'replay:' . record('second', [specifier => 'I need more words.'],
	[specifier => $answer =~ s/name: scaled/name: scaled\nunconfirmed: false/r])), 0, 'what is no task is asked for once more');
like($out, qr/"file": "other\.yaml"/, 'the draft goes where it should');
ok(slurp("$tmp/other.yaml") =~ /unconfirmed: true/ && slurp("$tmp/other.yaml") !~ /false/, 'a model cannot confirm its own draft');
is(kwright('task', 'new', 'multiply', '--out', 'third.yaml', '--model', 'replay:' . record('bad', [specifier => $answer =~ s/y = x \* 2/y = z * 2/r],
	[specifier => $answer =~ s/y = x \* 2/y = sotfmax(x)/r])), 2, 'twice no task');
like($err, qr/the model gave no task: .*did you mean 'softmax'/, 'ends with what is wrong');
ok(!-e "$tmp/third.yaml", 'and writes nothing');
is(kwright('task', 'new', ' ', '--model', $m), 2, 'no words');
is(kwright('task', 'new', 'multiply'), 2, 'no model');
done();
