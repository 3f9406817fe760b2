// Reads files with Rust's standard library.
use std::fs;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};

fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(5381, |sum: u64, byte| sum.wrapping_mul(33).wrapping_add(u64::from(*byte)))
}

fn facts(found: fs::Metadata) -> String {
    format!("inode {} size {} mode {:o} mtime {}.{}", found.ino(), found.size(), found.mode(),
            found.mtime(), found.mtime_nsec())
}

fn in_parts(path: &str) -> std::io::Result<String> {
    let mut file = fs::File::open(path)?;
    let inside = facts(file.metadata()?);
    let mut part = [0u8; 10];
    let count = file.read_at(&mut part, 100)?;
    file.seek(SeekFrom::Start(50))?;
    let mut rest = Vec::new();
    file.read_to_end(&mut rest)?;
    let lines = BufReader::new(fs::File::open(path)?).split(b'\n').count();
    Ok(format!("{} {} {} {}", inside, checksum(&part[..count]), checksum(&rest), lines))
}

fn copied(path: &str) -> std::io::Result<String> {
    let target = "copy";
    let count = fs::copy(path, target)?;
    let sum = checksum(&fs::read(target)?);
    fs::remove_file(target)?;
    Ok(format!("{} {}", count, sum))
}

fn main() {
    for path in std::env::args().skip(1) {
        println!("{}: {:?}", path, fs::read(&path).map(|bytes| (bytes.len(), checksum(&bytes))));
        println!("  {:?}", in_parts(&path));
        println!("  {:?} {:?}", fs::metadata(&path).map(facts),
                 fs::symlink_metadata(&path).map(facts));
        println!("  {:?}", copied(&path));
    }
}
