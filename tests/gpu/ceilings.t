#!/usr/bin/perl
# On a GPU: the ceilings that doctor measures are there, are kept, and are none that the data sheet rules out. How fast it is
# is no test.
use strict;
use warnings;
use File::Basename;
use lib dirname(__FILE__) . '/../cheats';
use Control;

Control::start(0);
if (my $why = Control::health('device', 'nvidia') // 'this version has no such device') {
	chdir "/";
	print "1..0 # SKIP $why\n";
	exit;
}
my $measured = Control::kwright('doctor', '--measure', '--json', '--store', "$Control::tmp/store");
my $doctor = eval { JSON::PP->new->decode($measured->{out}) } || {};
my %c = map { ($_->{name} => $_) } grep { $_->{part} eq 'ceiling' } @{$doctor->{facts} || []};
my %unit = (k => 1e3, M => 1e6, G => 1e9, T => 1e12, P => 1e15);

for my $kind (qw(read write copy)) {
	my $text = ($c{"nvidia $kind"} || {})->{text} // '';
	my @rates = map { /([\d.]+) ([kMGT])B\/s/ ? $1 * $unit{$2} : () } split /, /, $text;
	Control::ok(@rates == 7 ? '' : scalar(@rates) . ' sizes', "$kind: seven sizes", $text);
	Control::ok((grep { !($_ > 1e9 && $_ < 2e13) } @rates) ? 'out of bounds' : '', "$kind: each is possible", $text);
	Control::ok($rates[0] < $rates[-1] ? '' : 'not slower', "$kind: 64 KiB are slower than 4 GiB", $text);
}
for my $kind (qw(f32 f64 tf32_matrix f16_matrix bf16_matrix i8_matrix)) {
	my $text = ($c{"nvidia $kind"} || {})->{text} // 'none';
	Control::ok($text =~ /^[\d.]+ [GTP]FLOP\/s/ ? '' : 'none', "$kind", $text);
}
my ($f16, $f32) = map { ($c{"nvidia $_"}{text} // '') =~ /^([\d.]+) ([GTP])FLOP/ ? $1 * $unit{$2} : 0 } qw(f16_matrix f32);
Control::ok($f16 > 2 * $f32 ? '' : "$f16 and $f32", 'the matrix units multiply faster than the plain ones');
Control::ok(($c{'nvidia overheads'}{text} // '') =~ /events [\d.]+ us, a launch in a row [\d.]+ us/ ? '' : 'none', 'overheads',
	$c{'nvidia overheads'}{text} // '');
# Kept: the next one tells them without measuring.
my $again = eval { JSON::PP->new->decode(Control::kwright('doctor', '--json', '--store', "$Control::tmp/store")->{out}) } || {};
my ($kept) = grep { $_->{name} eq 'nvidia copy' } @{$again->{facts} || []};
Control::ok(($kept->{text} // '') eq ($c{'nvidia copy'}{text} // 'none') ? '' : 'another', 'they are kept', $kept->{text} // '');
Control::finish();
