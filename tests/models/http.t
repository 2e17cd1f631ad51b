#!/usr/bin/perl
# The providers behind HTTP against a real server on a real socket that misbehaves in every way that servers do.
use strict;
use warnings;
use File::Basename;
use Cwd qw(abs_path);
use lib dirname(abs_path(__FILE__));
use JSON::PP;
use Loop;
use Server;

my $key = 'sk-very-secret-0123456789';
my $kernel = fenced("//\@ kernel twice args=(x, y, n:i64)\nvoid twice(const float *x, float *y, int64_t n)\n{\n"
	. "\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = x[i] * 2;\n}\n");
my $all = '';

# Asks once; the exit code and the answer as JSON.
sub ask {
	my ($server, @more) = @_;
	my $url = ref $server ? $server->url . '/v1' : $server;
	my $code = kwright('prompt', 'ask', 'coder', $task, '--model', 'openai:a-model', '--json', '--base-url', $url, @more);
	$all .= $out . $err;
	return ($code, eval { decode_json($out) } // {});
}

sub answers { my (@texts) = @_; return Server->new(sub { my ($n, $r, $c) = @_; print $c $texts[$n < @texts ? $n : -1]; }); }

$ENV{OPENAI_API_KEY} = $ENV{ANTHROPIC_API_KEY} = $key;

sub good {
	my $s = answers(Server::stream($kernel, reasoning => 'let me think'));
	my ($code, $r) = ask($s, '--temperature', '0.5', '--max-tokens', 1000);
	is($code, 0, 'a stream is read');
	is($r->{text}, $kernel, 'its text, with a comment in the middle');
	is($r->{reasoning}, 'let me think', 'its reasoning apart');
	is($r->{model}, 'served-model', 'who it was');
	ok($r->{tokens_in} == 100 && $r->{tokens_out} == 50 && $r->{counted}, 'the tokens as counted');
	is($r->{attempts}, 1, 'one request');
	is($r->{outcome}, 'source', 'it is a kernel');
	my ($q) = $s->requests;
	is($q->{path}, '/v1/chat/completions', 'the address');
	is($q->{headers}{authorization}, "Bearer $key", 'the key is where it belongs');
	ok($q->{body}{stream} && $q->{body}{max_tokens} == 1000 && $q->{body}{temperature} == 0.5, 'the request says what was asked');
	like($q->{body}{messages}[0]{content}, qr/y = x \* 2/, 'and holds the prompt');
	$s->stop;
	$s = answers(Server::stream($kernel));
	ask($s, '--temperature', '0.5', '--role-temperature', 'coder=0.25', '--role-temperature', 'planner=1');
	is((($s->requests)[0])->{body}{temperature}, 0.25, 'a role has a temperature of its own');
}

sub busy {
	for my $status ('429 Too Many Requests', '529 Overloaded', '503 Service Unavailable', '500 Internal Server Error') {
		my $s = answers(Server::error($status, 'busy', 'retry-after: 0'), Server::error($status, 'busy', 'retry-after-ms: 5',
			'retry-after: 100'), Server::stream($kernel));
		my ($code, $r) = ask($s);
		is($code, 0, "$status passes");
		ok($r->{attempts} == 3 && $r->{tokens_in} == 100, 'with the third request, counted once', "$r->{attempts} $r->{tokens_in}");
	}
	my $s = answers(Server::error('429 Too Many Requests', 'quota', 'retry-after: Wed, 21 Oct 2015 07:28:00 GMT'), Server::stream($kernel));
	is((ask($s))[0], 0, 'a pause that ends in the past');
	$s = answers(Server::error('429 Too Many Requests', 'quota', 'retry-after: 86400'));
	my ($code) = ask($s);
	is($code, 3, 'a pause of a day is not waited for');
	like($err, qr/wants to be asked again in 86400 s/, 'but told');
	is(scalar(my @r = $s->requests), 1, 'after one request');
	$s = answers(Server::error('500 Internal Server Error', 'still broken', 'retry-after: 0'));
	($code) = ask($s, '--model-retries', 2);
	is($code, 3, 'a server that stays broken');
	like($err, qr/says 500, again and again: still broken/, 'is given up');
	is(scalar(@r = $s->requests), 3, 'after two repetitions');
	$s = answers(Server::http('429 Too Many Requests', 'application/json',
		'{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}'));
	($code) = ask($s);
	is($code, 3, 'an account without money');
	like($err, qr/the account has nothing left: You exceeded/, 'is no busy server');
	is(scalar(@r = $s->requests), 1, 'and is not asked again');
}

sub half {
	my $cut = substr(Server::stream('half of it', finish => undef), 0, -60) =~ s/data: \{"choices":\[\{"delta":\{\},.*//sr;
	my $s = answers($cut, Server::stream($kernel));
	my ($code, $r) = ask($s);
	is($code, 0, 'a stream that is cut off is asked for again');
	is($r->{text}, $kernel, 'and nothing of the first half is left');
	ok($r->{attempts} == 2 && $r->{tokens_out} == 50, 'counted once');
	$s = answers("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 100000\r\n\r\n" . Server::chunk({content => 'x'}),
		Server::stream($kernel));
	is((ask($s))[0], 0, 'a length that is not true');
	$s = answers('', Server::stream($kernel));
	is((ask($s))[0], 0, 'a connection without an answer');
	$s = answers("\x00\x01\x02 this is no HTTP", Server::stream($kernel));
	is((ask($s))[0], 0, 'an answer that is no HTTP');
	$s = answers(Server::head() . "data: {\"choices\": [{\"delta\": {\"content\": \"\n\n", Server::stream($kernel));
	is((ask($s))[0], 0, 'an event that is no JSON');
	$s = answers($cut);
	my ($bad) = ask($s, '--model-retries', 1);
	is($bad, 3, 'one that always breaks off');
	like($err, qr/ended in the middle, again and again/, 'is given up');
}

sub in_stream {
	my $s = answers(Server::head() . Server::chunk({content => 'partial'}) . "data: {\"error\":{\"message\":\"queue full\",\"code\":429}}\n\n",
		Server::stream($kernel));
	my ($code, $r) = ask($s);
	is($code, 0, 'an error inside a stream passes');
	is($r->{text}, $kernel, 'and its part is thrown away');
	$s = answers(Server::head() . "data: {\"error\":{\"message\":\"bad thing\",\"code\":403}}\n\n");
	($code) = ask($s);
	is($code, 3, 'one that does not pass');
	like($err, qr/bad thing/, 'is told');
}

sub slow {
	my $s = Server->new(sub { my ($n, $r, $c) = @_; for (split //, Server::stream('ok: ' . chr(0xe2) . chr(0x9c) . chr(0x85)) =~ s/\n/\r\n/gr) {
		syswrite $c, $_; select undef, undef, undef, 0.0002; } });
	my ($code, $r) = ask($s);
	like($r->{finish}, qr/stop/, 'a stream that comes byte by byte, with CRLF');
	$s = Server->new(sub { my ($n, $r, $c) = @_; print $c Server::head(); sleep 60 if $n == 0; print $c Server::stream('x') =~ s/^.*?\r\n\r\n//sr; });
	($code, $r) = ask($s, '--model-timeout', '1s');
	is($r->{attempts}, 2, 'a server that says nothing for too long is asked again');
	$s = Server->new(sub { sleep 60 });
	($code) = ask($s, '--model-timeout', '1s', '--model-retries', 0);
	is($code, 3, 'one that never answers');
	like($err, qr/no byte came for too long/, 'is given up');
}

sub refused {
	my $s = answers(Server::http('401 Unauthorized', 'application/json',
		"{\"error\":{\"message\":\"Incorrect API key provided: $key. See the docs.\",\"type\":\"invalid_request_error\"}}"));
	my ($code) = ask($s);
	is($code, 3, 'a wrong key');
	like($err, qr/the key was refused \(status 401\): Incorrect API key provided: \*+\./, 'is told without the key');
	is(scalar(my @r = $s->requests), 1, 'and not tried again');
	$s = answers(Server::http('404 Not Found', 'text/html', "<html><head><title>404</title></head><body><h1>Not Found</h1>nginx</body></html>"));
	($code) = ask($s);
	is($code, 3, 'an unknown model, or a wrong address');
	like($err, qr{http://127.0.0.1:\d+/v1/chat/completions: there is no model a-model, or nothing at this address \(status 404\): .*Not Found},
		'names the address and the words of the page');
	$s = answers(Server::http('302 Found', 'text/html', '', 'location: http://127.0.0.1:1/'));
	is((ask($s))[0], 3, 'a redirect is not followed');
	$s = Server->new(sub { my ($n, $r, $c) = @_;
		print $c $r->{path} eq '/chat/completions' ? Server::stream($kernel) : Server::http('404 Not Found', 'text/plain', 'no such page'); });
	is((ask($s->url))[0], 0, 'an address without a version: both forms are tried');
	is(join(' ', map { $_->{path} } $s->requests), '/v1/chat/completions /chat/completions', 'in order');
}

sub otherwise {
	my $s = Server->new(sub { my ($n, $r, $c) = @_;
		print $c $r->{body}{max_tokens} ? Server::error('400 Bad Request', "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
			: $r->{body}{stream_options} ? Server::error('400 Bad Request', 'Extra inputs are not permitted: stream_options')
			: defined $r->{body}{temperature} ? Server::error('400 Bad Request', 'temperature is not supported') : Server::stream($kernel); });
	my ($code, $r) = ask($s, '--max-tokens', 500, '--temperature', 1);
	is($code, 0, 'fields that a server does not know are left out');
	is($r->{attempts}, 4, 'one after the other');
	is((($s->requests)[3])->{body}{max_completion_tokens}, 500, 'or have another name');
	$s = answers(Server::error('400 Bad Request', "This model's maximum context length is 8192 tokens"));
	($code, $r) = ask($s);
	is($code, 1, 'a prompt that is too long');
	is($r->{outcome}, 'too_long', 'is a result');
	is($r->{tokens_in}, 0, 'and costs nothing');
}

sub odd_answers {
	my %want = (content_filter => 'refused', tool_calls => 'tool', length => 'thinking');
	for my $finish (sort keys %want) {
		my ($code, $r) = ask(answers(Server::head() . Server::chunk({}, $finish) . "data: [DONE]\n\n"));
		is("$code $r->{outcome}", "1 $want{$finish}", "an empty answer that ended by $finish");
	}
	my ($code, $r) = ask(answers(Server::http('200 OK', 'application/json',
		encode_json({model => 'm', choices => [{message => {content => $kernel}, finish_reason => 'stop'}], usage => {prompt_tokens => 3,
			completion_tokens => 4}}))));
	ok($code == 0 && $r->{text} eq $kernel && $r->{tokens_in} == 3, 'a server that does not stream');
	($code, $r) = ask(Server->new(sub { my ($n, $r, $c) = @_; print $c Server::head();
		my $part = Server::chunk({content => 'x' x 100_000}); for (1 .. 100) { print $c $part or last } }));
	is("$code $r->{outcome}", '1 too_large', 'an answer of 10 MB');
	($code, $r) = ask(answers(Server::stream('')));
	is("$code $r->{outcome}", '1 empty', 'an empty answer');
}

sub anthropic {
	my $event = sub { my ($h) = @_; return "event: $h->{type}\ndata: " . encode_json($h) . "\n\n"; };
	my $stream = Server::head() . $event->({type => 'message_start', message => {model => 'claude-served', content => [], usage =>
		{input_tokens => 7, output_tokens => 1}}}) . $event->({type => 'ping'})
		. $event->({type => 'content_block_delta', index => 0, delta => {type => 'text_delta', text => $kernel}})
		. $event->({type => 'message_delta', delta => {stop_reason => 'end_turn'}, usage => {output_tokens => 9}})
		. $event->({type => 'message_stop'});
	my $s = answers(Server::head() . $event->({type => 'error', error => {type => 'overloaded_error', message => 'Overloaded'}}), $stream);
	my $code = kwright('prompt', 'ask', 'coder', $task, '--model', 'anthropic:claude-x', '--json', '--base-url', $s->url);
	$all .= $out . $err;
	my $r = eval { decode_json($out) } // {};
	is($code, 0, 'the other protocol');
	ok($r->{tokens_in} == 7 && $r->{tokens_out} == 9 && $r->{attempts} == 2 && $r->{model} eq 'claude-served', 'after an overload, counted once');
	my ($q) = $s->requests;
	ok($q->{path} eq '/v1/messages' && $q->{headers}{'x-api-key'} eq $key && $q->{headers}{'anthropic-version'} && $q->{body}{max_tokens},
		'its own address, header and fields');
}

sub ways {
	my ($code) = ask('http://127.0.0.1:1/v1', '--model-retries', 0);
	is($code, 3, 'no server there');
	like($err, qr/is the network there, and the address right/, 'is told');
	($code) = ask('https://127.0.0.1:1/v1', '--model-retries', 0);
	is($code, 3, 'nor there');
	($code) = ask('http://model.invalid/v1', '--model-retries', 0);
	is($code, 2, 'a key is not sent unencrypted to another machine');
	like($err, qr/a key would go unencrypted/, 'and it says so');
	is((ask('http://me:secret@127.0.0.1:1/v1'))[0], 2, 'no password in the address');
	is((ask('ftp://127.0.0.1/v1'))[0], 2, 'no other protocol');
	is((ask('https:///v1'))[0], 2, 'no address without a server');
	{
		local $ENV{OPENAI_API_KEY};
		($code) = kwright('prompt', 'ask', 'coder', $task, '--model', 'openai:m');
		is($code, 3, 'no key');
		like($err, qr/needs a key: set OPENAI_API_KEY, or give --key-file FILE/, 'says where it may be');
		my $s = answers(Server::stream($kernel));
		is((ask($s))[0], 0, 'a server of one\'s own may need none');
		ok(!(($s->requests)[0])->{headers}{authorization}, 'and gets none');
		local $ENV{http_proxy} = $s->url;
		is((ask('http://model.invalid/v1'))[0], 0, 'a proxy is used');
		is((($s->requests)[1])->{path}, 'http://model.invalid/v1/chat/completions', 'with the whole address');
		local $ENV{http_proxy} = 'http://127.0.0.1:1';
		is((ask('http://model.invalid/v1', '--model-retries', 0))[0], 3, 'a proxy that is not there');
	}
	local $ENV{OPENAI_API_KEY} = "sk-two\nlines";
	is((ask('https://127.0.0.1:1/v1'))[0], 2, 'a key that is none');
	local $ENV{OPENAI_API_KEY} = $key;
	spew("$tmp/keyfile", "$key\n");
	chmod 0644, "$tmp/keyfile";
	is((ask('https://127.0.0.1:1/v1', '--key-file', "$tmp/keyfile"))[0], 2, 'a key file that others can read');
	chmod 0600, "$tmp/keyfile";
	my $s = answers(Server::stream($kernel));
	is((ask($s, '--key-file', "$tmp/keyfile"))[0], 0, 'one that they cannot');
	is((($s->requests)[0])->{headers}{authorization}, "Bearer $key", 'has the key');
}

sub self_signed {
	my $made = system("openssl req -x509 -newkey rsa:2048 -nodes -keyout $tmp/tls.key -out $tmp/tls.crt -days 2 -subj /CN=127.0.0.1 "
		. "-addext subjectAltName=IP:127.0.0.1 > /dev/null 2>&1") == 0;
	return ok(1, 'a certificate that nobody knows # SKIP no openssl here') if !$made;
	my $free = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1', LocalPort => 0);
	my $port = $free->sockport;
	close $free;
	my $pid = fork // die;
	if (!$pid) {
		open STDOUT, '>', '/dev/null'; open STDERR, '>', '/dev/null'; open STDIN, '<', '/dev/null';
		exec 'openssl', 's_server', '-accept', "127.0.0.1:$port", '-cert', "$tmp/tls.crt", '-key', "$tmp/tls.key", '-www' or POSIX::_exit(1);
	}
	for (1 .. 100) { last if IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port"); select undef, undef, undef, 0.05; }
	my ($code) = ask("https://127.0.0.1:$port/v1");
	is($code, 3, 'a certificate that nobody knows');
	like($err, qr/certificate.*name its certificate by KWRIGHT_CA_FILE/s, 'says what to do');
	{
		local $ENV{KWRIGHT_CA_FILE} = "$tmp/tls.crt";
		($code) = ask("https://127.0.0.1:$port/v1", '--model-retries', 0, '--model-timeout', '1s');
		ok($code == 3 && $err !~ /certificate/, 'with its certificate it is spoken to', $err);
		local $ENV{KWRIGHT_CA_FILE} = "$tmp/none.crt";
		is((ask("https://127.0.0.1:$port/v1"))[0], 3, 'a file of certificates that is not there');
	}
	kill 'KILL', $pid;
	waitpid $pid, 0;
}

# A whole run: the key is in no file that it leaves, nor in what it prints.
sub a_run {
	my $s = answers(Server::error('429 Too Many Requests', "slow down, $key", 'retry-after: 0'), Server::stream($kernel),
		Server::stream("NOTHING: it is done.\n"));
	my $code = kwright('optimize', $task, '--model', 'openai:a-model', '--base-url', $s->url . '/v1', '--store', "$tmp/run", '--record',
		"$tmp/run.jsonl", '--seed', 7);
	$all .= $out . $err;
	is($code, 0, 'a run with a server');
	my $r = run_json("$tmp/run");
	ok($r->{calls}[0]{attempts} == 2 && $r->{calls}[0]{tokens_in} == 100, 'its calls are counted once') ;
	$all .= `$kwright runs show 1 --json --store $tmp/run` . `$kwright runs show 1 --calls --store $tmp/run`;
	my $found = `grep -rlF $key $tmp/run $tmp/run.jsonl $tmp/home 2>/dev/null`;
	is($found, '', 'the key is in no file');
	ok(index($all, $key) < 0, 'and in nothing that was printed in all these tests');
}

# A context that is too small for the first prompt, in a run: half of it is sent, and what was left out is said.
sub small_context {
	my $s = Server->new(sub { my ($n, $r, $c) = @_;
		print $c $n ? Server::stream($kernel) : Server::error('400 Bad Request', "This model's maximum context length is 2048 tokens"); });
	my $code = kwright('optimize', $task, '--model', 'openai:a-model', '--base-url', $s->url . '/v1', '--store', "$tmp/small", '--seed', 7,
		'--budget-rounds', 1);
	is($code, 0, 'a run whose first prompt is too long');
	my @sizes = map { length $_->{body}{messages}[0]{content} } $s->requests;
	ok(@sizes >= 2 && $sizes[1] < 0.8 * $sizes[0], 'sends a shorter one', "@sizes");
	my $calls = run_json("$tmp/small")->{calls};
	is(join(' ', map { $_->{outcome} } @$calls[0, 1]), 'too_long source', 'once');
	is($calls->[0]{tokens_in}, 0, 'the refused one costs nothing');
	like($calls->[1]{left_out}, qr/pattern/, 'what had no room is kept');
	like($out, qr/the prompt for the coder had no room for: .*pattern/, 'and told');
}

# An answer that has begun when the run's time is over: it ends there, and what came of it is paid.
sub out_of_time {
	my $s = Server->new(sub { my ($n, $r, $c) = @_; print $c Server::head(), Server::chunk({content => "```c\n"}); sleep 60; });
	kwright('optimize', $task, '--model', 'openai:a-model', '--base-url', $s->url . '/v1', '--store', "$tmp/late", '--budget-time', '3s');
	my $r = run_json("$tmp/late");
	is($r->{state}, 'budget spent', 'a run ends with its time, though its model talks on');
	# On a machine that was busy for all of that time it had not begun.
	for my $c (@{$r->{calls}}) {
		is("$c->{finish} $c->{outcome}", 'cut truncated', 'what was said by then is kept');
		ok($c->{tokens_in} > 100, 'and counted');
	}
}

my @tests = (small_context => \&small_context, good => \&good, busy => \&busy, half => \&half, in_stream => \&in_stream, slow => \&slow, refused => \&refused,
	otherwise => \&otherwise, odd_answers => \&odd_answers, anthropic => \&anthropic, ways => \&ways, self_signed => \&self_signed,
	a_run => \&a_run, out_of_time => \&out_of_time);
while (my ($name, $test) = splice @tests, 0, 2) { $test->() if !@ARGV || grep { $_ eq $name } @ARGV; }
done();
