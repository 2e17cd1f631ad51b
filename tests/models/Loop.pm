# Loop.pm - what the tests of the loop with models share: a place of their own, recordings, runs. The answers in these tests are
# scripted: written by hand for what models seldom do, and marked so in every recording ("note": "scripted").
package Loop;
use strict;
use warnings;
use Cwd qw(abs_path);
use Exporter qw(import);
use File::Basename;
use File::Temp qw(tempdir);
use JSON::PP;
use POSIX qw(setpgid);
our @EXPORT = qw(ok is like done slurp spew record start finish kwright run_json class_of fenced $top $tmp $task $kwright $out $err $ended);

our $top = abs_path(dirname(__FILE__) . '/../..');
our $kwright = $ENV{KWRIGHT} || "$top/build/kwright";
our $task = "$top/tests/cli/data/twice.yaml";
our $tmp = tempdir(CLEANUP => 1);
our ($out, $err) = ('', '');
my $count = 0;
my $json = JSON::PP->new->canonical->utf8;

mkdir "$tmp/$_" for qw(home tmp);
@ENV{qw(HOME XDG_DATA_HOME XDG_CACHE_HOME TMPDIR LC_ALL)} = ("$tmp/home", "$tmp/home/data", "$tmp/home/cache", "$tmp/tmp", 'C');
delete @ENV{qw(KW_FAIL_ALLOC KW_FAIL_WRITE KW_FAIL_EXEC ANTHROPIC_API_KEY OPENAI_API_KEY http_proxy https_proxy HTTP_PROXY HTTPS_PROXY
	ALL_PROXY all_proxy NO_PROXY no_proxy)};
chdir $tmp or die;
if (!-x $kwright) {
	print "1..1\nnot ok 1 - $kwright is not there\n";
	exit;
}

sub ok {
	my ($good, $name, @notes) = @_;
	printf "%s %d - %s\n", $good ? 'ok' : 'not ok', ++$count, $name;
	print map { "# $_\n" } map { split /\n/ } @notes unless $good;
	return $good;
}

sub is {
	my ($got, $want, $name) = @_;
	return ok(defined $got && $got eq $want, $name, 'got ' . ($got // 'undef'), "want $want", $err);
}

sub like {
	my ($got, $want, $name) = @_;
	# In a list a match that fails would be no value at all.
	return ok(scalar(($got // '') =~ $want), $name, 'got ' . ($got // 'undef'), "want $want");
}

sub done { print "1..$count\n"; exit; }

sub slurp { local $/; open my $in, '<:raw', $_[0] or return ''; return <$in> // ''; }

sub spew { my ($path, $text) = @_; open my $f, '>:raw', $path or die "$path: $!"; print $f $text; close $f or die; return $path; }

sub fenced { my ($code) = @_; return "Here is the kernel.\n```c\n$code```\n"; }

# A recording: calls are [role, text] or a hash.
sub record {
	my ($name, @calls) = @_;
	my $text = $json->encode({recording => 1, note => 'scripted'}) . "\n";
	for my $c (@calls) {
		my %call = ref $c eq 'HASH' ? %$c : (role => $c->[0], text => $c->[1]);
		$call{model} //= 'a-script';
		$text .= $json->encode(\%call) . "\n";
	}
	return spew("$tmp/$name.jsonl", $text);
}

# In a process group of its own, so that all of it can be killed; $tmp/out and $tmp/err have what it says.
sub start {
	my (@args) = @_;
	my $pid = fork // die "fork: $!";
	if (!$pid) {
		setpgid(0, 0);
		open STDOUT, '>', "$tmp/out"; open STDERR, '>', "$tmp/err"; open STDIN, '<', '/dev/null';
		exec $kwright, @args or POSIX::_exit(127);
	}
	setpgid($pid, $pid);
	return $pid;
}

# The exit code, or the signal below 0.
sub finish { my ($pid) = @_; waitpid $pid, 0; return $? & 127 ? -($? & 127) : $? >> 8; }

# Runs it in a folder of its own store; returns the exit code, fills $out and $err.
our $ended; # the exit code as it was
our $slower = qr/^  right, but slower than |"slower": ?true/m;

sub kwright {
	my $code = finish(start(@_));
	($out, $err) = (slurp("$tmp/out"), slurp("$tmp/err"));
	$ended = $? >> 8;
	return 0 if $ended == 1 && $out =~ /$slower/; # how fast this machine is at the moment is no matter of these tests
	return $code;
}

sub run_json {
	my ($store) = @_;
	my $text = `$kwright report --json --store $store 2>/dev/null`;
	return $? ? undef : $json->decode($text);
}

# What became of an answer: the judge's class where it was judged, else why it was not. A part's verdicts are in its own run.
sub class_of {
	my ($run, $slot) = @_;
	my ($call) = grep { $_->{slot} eq $slot } @{$run->{calls}};
	return 'not asked' unless $call;
	return $call->{outcome} if $call->{outcome} ne 'source' || $call->{role} =~ /^(?:manager|planner|reviewer)$/;
	my $name = $slot =~ s{^part\d+/|/again$}{}gr =~ s{/}{-}gr;
	my @of = grep { $_->{candidate} eq $name } @{$run->{verdicts}};
	my ($full) = grep { $_->{effort} eq 'full' } @of;
	return ($full // $of[0] // {verdict => 'not judged'})->{verdict};
}

1;
