"""The tools of the command line, and how each is used on the data set that wildset.py makes."""

import platform

from commands import NEVER, OPENS, STATS, Command

FILES = "data/text.txt data/bytes.bin 'data/with space' data/sub/deep/three.bin"
ODD = "data/missing data/closed data/sub data/empty"  # what a tool complains about

TOOLS = [
    Command("cat", f"cat {FILES} {ODD} | md5sum; cat <data/text.txt"),
    Command("cp", f"cp {FILES} {ODD} ."),
    Command("cp -a", "cp -a data/sub data/text.txt data/link ."),
    Command("cp -r --preserve=all", "cp -rL --preserve=all data/sub copied"),
    Command("cp --reflink=auto --sparse=always", "cp --reflink=auto --sparse=always "
            "data/bytes.bin ."),
    Command("cp -u, and onto itself", "cp data/text.txt . && cp -u data/text.txt . && "
            "cp data/text.txt data/link"),
    Command("install", f"install -D -m 640 data/text.txt a/b/text.txt; install {FILES} {ODD} ."),
    Command("dd", "dd if=data/bytes.bin of=part bs=1000 skip=3 count=20 status=none; "
            "dd if=data/bytes.bin bs=7K status=none iflag=fullblock | md5sum; "
            "dd if=data/missing status=none"),
    Command("dd iflag=direct", "dd if=data/bytes.bin of=part bs=4096 iflag=direct status=none; "
            "md5sum part", sees=OPENS),
    Command("tar", "tar -c --sort=name -f made.tar -C data sub text.txt link empty && "
            "tar -tvf made.tar && mkdir x && tar -xpf made.tar -C x"),
    Command("tar -x", "tar -xvf data/archive.tar && tar -tzf data/archive.tar.gz; "
            "tar -xf data/bytes.bin", needs="tar gzip"),
    Command("tar -d", "tar -cf made.tar -C data sub text.txt && tar -df made.tar -C data"),
    Command("cpio", "cd data && find sub text.txt | sort | cpio -o --quiet --reproducible "
            "-H newc | md5sum", needs="cpio"),
    Command("rsync -a", "rsync -a --exclude=repository --exclude=closed data/ copied && "
            "rsync -ani --exclude=repository --exclude=closed data/ copied"),
    Command("rsync --checksum", "rsync -a data/sub . && rsync -aci data/sub ."),
    Command("md5sum", f"md5sum {FILES} {ODD}; sha256sum {FILES}; b2sum {FILES}; cksum {FILES}; "
            "sum data/text.txt"),
    Command("md5sum --check", f"md5sum {FILES} >sums && md5sum --check sums"),
    Command("find", "find data/ -not -path '*/repository*' -printf '%p %y %m %s %n %u %i %T@ %b "
            "%l\\n' | sort; find data/ -newer data/text.txt -not -path '*/repository*' | sort; "
            "find data/sub -type f -readable -size +1k; find data/missing", sees=STATS),
    Command("find -exec", "find data/sub -type f -exec md5sum {} + | sort; "
            "find data/sub -type f -print0 | sort -z | xargs -0 -n1 -P2 wc -c | sort"),
    Command("grep", f"grep -c line {FILES} {ODD}; grep -rlF 'line 7' data/sub data/text.txt | "
            "sort; grep -n 'line 99.$' data/text.txt; grep -abo line data/bytes.bin"),
    Command("ls -lR", "ls -lRi --time-style=full-iso -I repository data/; ls -laL data/link; "
            "ls -l data/missing", sees=STATS),
    Command("stat", f"stat -c '%n %a %A %b %B %d %f %F %g %h %i %o %s %t %u %W %Y %y %z' {FILES} "
            f"{ODD} data/link; stat -L -c '%n %s %i %F' data/link; stat -f -c %T data/text.txt",
            sees=STATS),
    Command("du", "du -a --exclude=repository data/ | sort; du -b data/text.txt data/sub",
            sees=STATS),
    Command("test", "for one in data/* ; do for how in e f d r w x s L O G N; do "
            "test -$how \"$one\" && echo \"$one $how\"; done; done; "
            "test data/text.txt -nt data/bytes.bin; echo $?; "
            "test data/text.txt -ef data/link; echo $?", needs="sh", sees=STATS),
    Command("readlink, realpath", "readlink data/link; realpath data/link data/missing; "
            "readlink -f data/sub/deep", needs="readlink realpath", sees=OPENS),
    Command("gzip", f"gzip -kc {FILES} {ODD} | gzip -d | md5sum; gzip -t data/archive.tar.gz; "
            "zcat data/archive.tar.gz | md5sum; gzip -d <data/bytes.bin"),
    Command("bzip2, xz", "bzip2 -kc data/text.txt | md5sum; xz -T1 -kc data/text.txt | md5sum",
            needs="bzip2 xz"),
    Command("zstd", f"zstd -qc {FILES} | zstd -qdc | md5sum", needs="zstd", main=False),
    Command("unzip", "unzip -q data/archive.zip; unzip -l data/archive.zip; unzip -t "
            "data/bytes.bin", needs="unzip", main=False),
    Command("zip", "zip -qrX made.zip data/text.txt data/sub && unzip -Z1 made.zip && "
            "unzip -p made.zip | md5sum; rm made.zip", needs="zip unzip", main=False),
    Command("sort", "sort -k2 data/text.txt | md5sum; sort -u data/text.txt data/with\\ space | "
            "md5sum; sort -m data/text.txt data/text.txt | md5sum; sort data/missing"),
    Command("head, tail, tac", "head -n 5 data/text.txt; head -c 100 data/bytes.bin | od -c; "
            "tail -n 5 data/text.txt; tail -c +59990 data/bytes.bin | od -c; tac data/text.txt | "
            f"md5sum; head -n 1 {ODD}"),
    Command("wc", f"wc {FILES} {ODD}; wc -c <data/bytes.bin"),
    Command("cut, paste, join, uniq", "cut -f2 data/text.txt | md5sum; paste data/text.txt "
            "data/text.txt | md5sum; uniq -c data/text.txt | md5sum; join -1 2 -2 2 "
            "data/text.txt data/text.txt 2>&1 | md5sum", needs="cut paste uniq join"),
    Command("split, csplit", "split -b 10000 data/bytes.bin; csplit -s -z data/text.txt 100 '{3}'",
            needs="split csplit"),
    Command("shuf", "shuf --random-source=data/bytes.bin data/text.txt | md5sum"),
    Command("od, base64, nl, fold", "od -A d -t x2 data/bytes.bin | md5sum; base64 data/bytes.bin "
            "| md5sum; nl data/text.txt | md5sum; fold -w 5 data/text.txt | md5sum",
            needs="od base64 nl fold"),
    Command("sed, awk", "sed -n '5,9p;s/line/row/p' data/text.txt | md5sum; sed n data/missing; "
            "awk '{ s += $2 } END { print s }' data/text.txt; awk 1 data/missing",
            needs="sed awk"),
    Command("sed -i, of a copy", "cp data/text.txt . && sed -i s/line/row/ text.txt", needs="sed"),
    Command("tee", "tee one two <data/text.txt | md5sum"),
    Command("diff, cmp, comm", "diff -r data/sub data/sub; diff data/text.txt 'data/with space' | "
            "md5sum; cmp data/bytes.bin data/sub/deep/three.bin; cmp data/text.txt data/bytes.bin; "
            "comm -12 data/text.txt data/text.txt 2>&1 | md5sum", needs="diff cmp comm"),
    Command("patch", "cp data/text.txt . && sed 's/line 5$/other/' data/text.txt >new && "
            "diff -u data/text.txt new >made.diff; patch -s text.txt made.diff; rm made.diff",
            needs="patch", main=False),
    Command("file", f"file -b {FILES} data/sub data/archive.tar.gz data/repository/.git/index "
            "data/missing", needs="file"),
    Command("strings, nm, objdump", "strings data/bytes.bin | md5sum; nm data/object.o; "
            "objdump -d data/object.o; size data/object.o; readelf -S data/object.o | md5sum",
            needs="strings nm objdump"),
    Command("gcc of sources", "gcc -c -I data -o made.o data/source.c && nm made.o; gcc -c "
            "data/missing.c; rm -f made.o", needs="gcc"),
    Command("ar, ld", "ar rcD made.a data/object.o && nm -A made.a && ld -r data/object.o -o "
            "linked.o", needs="ar ld"),
    Command("make", "make -s -f data/Makefile D=data one.txt && "
            "make -q -f data/Makefile D=data one.txt",
            needs="make"),
    Command("git fsck", "git -C data/repository fsck --full --strict --no-progress && "
            "git -C data/repository cat-file --batch-all-objects --batch-check | md5sum",
            needs="git"),
    Command("git log, show, diff", "cd data/repository && git log --format=%H%s -p && "
            "git show HEAD:text.txt | md5sum && git grep -c line HEAD; git blame -s text.txt | "
            "md5sum", needs="git"),
    Command("git clone, archive", "git clone -q --no-hardlinks data/repository cloned && "
            "git -C cloned log --format=%H && rm -rf cloned && "
            "git -C data/repository archive HEAD | tar -t", needs="git"),
    Command("git status, of a covered tree", "GIT_OPTIONAL_LOCKS=0 git -C data/repository status "
            "--porcelain=v2 && GIT_OPTIONAL_LOCKS=0 git -C data/repository diff --stat",
            needs="git", sees=OPENS),
    Command("sh", "while read -r line; do set -- $line; done <data/text.txt; echo \"$@\"; "
            ". data/script.sh; sh data/script.sh; sh data/missing",
            needs="sh"),
    Command("bash", "bash -c 'x=$(<data/text.txt); echo ${#x}; mapfile -t y <data/text.txt; "
            "echo ${#y[@]}; exec 5<data/text.txt; read -u 5 z; echo $z; source data/script.sh'",
            needs="bash"),
    Command("perl", f"perl bin/reading.pl {FILES} {ODD} data/link; perl -ne 'print if /7$/' "
            "data/text.txt | md5sum", needs="perl"),
    Command("sqlite3", "sqlite3 -readonly data/base.db 'select sum(n) from samples'",
            needs="sqlite3", sees=NEVER, main=False),
    Command("openssl dgst", f"openssl dgst -sha256 {FILES}", needs="openssl"),
    Command("curl file://", "curl -s \"file://$(realpath data)/text.txt\" | md5sum",
            needs="curl", main=False),
    Command("busybox", "busybox cat data/text.txt | md5sum; busybox md5sum data/bytes.bin",
            needs="busybox", sees=OPENS, main=False),
    Command("sox", "sox data/sound.wav -n stat; sox data/sound.wav made.wav reverse; "
            "sox data/bytes.bin -n stat", needs="sox"),
    Command("ffmpeg", "ffmpeg -v error -i data/sound.wav -f s16le - | md5sum; ffprobe -v error "
            "-show_streams data/sound.wav; ffmpeg -v error -i data/photo.jpg -f rawvideo - | "
            "md5sum", needs="ffmpeg ffprobe", main=False),
    Command("vips", "vips avg data/photo.jpg; vips copy data/photo.jpg made.png; vipsheader -a "
            "data/photo.jpg; vips avg data/bytes.bin", needs="vips vipsheader", main=False),
    Command("gdalinfo", "gdalinfo -checksum data/photo.jpg; "
            "gdal_translate -q data/photo.jpg made.tif", needs="gdalinfo", main=False),
    Command("node", f"node bin/reading.js {FILES} {ODD}", needs="node"),
]

FILES_AND_ODD = f"{FILES} {ODD}"
PROGRAMS = [
    Command("C, open and stdio", f"bin/plain {FILES_AND_ODD}", needs="gcc"),
    Command("C, _FILE_OFFSET_BITS=64", f"bin/large {FILES_AND_ODD}", needs="gcc"),
    Command("C, _FORTIFY_SOURCE=2", f"bin/fortified {FILES_AND_ODD}", needs="gcc"),
    Command("C, the next library", f"bin/loading plain bin/libplain.so {FILES_AND_ODD}",
            needs="gcc"),
    Command("C, RTLD_DEEPBIND", f"bin/loading deepbind bin/libplain.so {FILES_AND_ODD}",
            needs="gcc", sees=NEVER),
    Command("C, dlmopen", f"bin/loading dlmopen bin/libplain.so {FILES_AND_ODD}", needs="gcc",
            sees=NEVER),
    Command("C, static", f"bin/static {FILES_AND_ODD}", needs="gcc", sees=NEVER),
    Command("C, syscall()", f"bin/syscall {FILES_AND_ODD}", needs="gcc"),
    *([Command("C, system calls of its own", f"bin/raw {FILES_AND_ODD}", needs="gcc", sees=NEVER)]
      if platform.machine() == "x86_64" else []),
    Command("C, musl", f"bin/musl {FILES_AND_ODD}", needs="musl-gcc"),
    Command("C++, std::ifstream and std::filesystem", f"bin/streams {FILES_AND_ODD}",
            needs="g++"),
    Command("Rust, std::fs", f"bin/rust {FILES_AND_ODD}", needs="rustc", main=False),
    Command("Go, os.ReadFile", f"bin/go {FILES_AND_ODD}", needs="go", sees=NEVER, main=False),
]
