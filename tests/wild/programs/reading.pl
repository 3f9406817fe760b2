# Reads files with Perl.
use strict;
use warnings;
use Digest::MD5;

for my $path (@ARGV) {
    my @facts = stat $path;
    print "$path: @facts[0..5,7,9..12], readable ", (-r _ ? 1 : 0), "\n" if @facts;
    if (open my $file, "<:raw", $path) {
        print Digest::MD5->new->addfile($file)->hexdigest, "\n" unless -d $path;
    } else {
        print "$path: $!\n";
    }
}
