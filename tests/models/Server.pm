# Server.pm - a model server that misbehaves as it is told: loopback only, one process, at most so many seconds.
#
#     my $s = Server->new(sub { my ($n, $request, $c) = @_; print $c Server::stream('hello'); });
#     $s->url; $s->requests; $s->stop;
#
# The function answers the n-th request (from 0) on the socket $c; it is closed afterwards. A request is a hash: method, path,
# headers (lower case), body (decoded JSON).
package Server;
use strict;
use warnings;
use IO::Socket::INET;
use JSON::PP;
use POSIX ();

my $json = JSON::PP->new->canonical->utf8;
my $serial = 0;

sub new {
	my ($class, $answer, $limit) = @_;
	my $listen = IO::Socket::INET->new(Listen => 64, LocalAddr => '127.0.0.1', LocalPort => 0, ReuseAddr => 1) or die "listen: $!";
	my $self = bless {port => $listen->sockport, log => "$Loop::tmp/server" . ++$serial . ".log", owner => $$}, $class;
	$self->{pid} = fork // die "fork: $!";
	return $self if $self->{pid};
	open STDOUT, '>', '/dev/null'; # nobody waits for what a sleeping answer holds open
	open STDERR, '>', '/dev/null';
	$SIG{PIPE} = 'IGNORE';
	$SIG{CHLD} = 'IGNORE';
	alarm($limit // 300);
	my $n = 0;
	while (my $c = $listen->accept) {
		my $request = read_request($c) // next;
		open my $log, '>>', $self->{log}; print $log $json->encode($request) . "\n"; close $log;
		my $number = $n++;
		my $child = fork // 1;
		next if $child;
		close $listen;
		binmode $c;
		$c->autoflush(1);
		$answer->($number, $request, $c);
		shutdown $c, 1;
		close $c;
		POSIX::_exit(0);
	}
	POSIX::_exit(0);
}

sub read_request {
	my ($c) = @_;
	my ($text, $body) = ('', '');
	while ($text !~ /\r\n\r\n/) { sysread($c, my $part, 65536) or return undef; $text .= $part; }
	(my $head, $body) = split /\r\n\r\n/, $text, 2;
	my ($first, @lines) = split /\r\n/, $head;
	my ($method, $path) = split / /, $first;
	my %headers = map { my ($k, $v) = split /:\s*/, $_, 2; (lc $k => $v) } @lines;
	print $c "HTTP/1.1 100 Continue\r\n\r\n" if ($headers{expect} // '') =~ /100/;
	while (length $body < ($headers{'content-length'} // 0)) { sysread($c, my $part, 65536) or last; $body .= $part; }
	return {method => $method, path => $path, headers => \%headers, body => eval { $json->decode($body) }};
}

sub url { return "http://127.0.0.1:$_[0]{port}" }

sub requests {
	my ($self) = @_;
	return map { $json->decode($_) } split /\n/, Loop::slurp($self->{log});
}

sub stop {
	my ($self) = @_;
	kill 'KILL', $self->{pid};
	waitpid $self->{pid}, 0;
}

sub DESTROY { my ($self) = @_; $self->stop if $self->{owner} == $$ && $self->{pid}; }

# ---- answers ----

sub http {
	my ($status, $type, $body, @headers) = @_;
	return "HTTP/1.1 $status\r\ncontent-type: $type\r\ncontent-length: " . length($body) . "\r\nconnection: close\r\n"
		. join('', map { "$_\r\n" } @headers) . "\r\n$body";
}

sub chunk {
	my ($delta, $finish) = @_;
	return 'data: ' . $json->encode({id => 'c', object => 'chat.completion.chunk', model => 'served-model',
		choices => [{index => 0, delta => $delta, finish_reason => $finish}]}) . "\n\n";
}

# A stream of chat completions; its length is not told, the end of the connection ends it.
sub head { return "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"; }

sub stream {
	my ($text, %more) = @_;
	my $out = head() . chunk({role => 'assistant', content => ''});
	my $half = int(length($text) / 2);
	$out .= chunk({reasoning_content => $more{reasoning}}) if $more{reasoning};
	$out .= chunk({content => substr $text, 0, $half}) . ": keep-alive\n\n" . chunk({content => substr $text, $half});
	$out .= chunk({}, $more{finish} // 'stop');
	$out .= 'data: ' . $json->encode({choices => [], usage => {prompt_tokens => $more{in} // 100, completion_tokens => $more{out} // 50}})
		. "\n\ndata: [DONE]\n\n";
	return $out;
}

sub error { my ($status, $message, @headers) = @_;
	return http($status, 'application/json', $json->encode({error => {message => $message, type => 'x'}}), @headers); }

1;
