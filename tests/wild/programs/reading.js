// Reads files with Node's fs, at once and in its pool of threads.
const fs = require("fs");
const crypto = require("crypto");

const checksum = (bytes) => crypto.createHash("md5").update(bytes).digest("hex");
const facts = (found) => [found.ino, found.size, found.mode, found.mtimeMs].join(" ");

function attempt(what) {
    try {
        return what();
    } catch (error) {
        return `${error.code} ${error.message}`;
    }
}

function stream(path) {
    return new Promise((resolve) => {
        const hash = crypto.createHash("md5");
        fs.createReadStream(path)
            .on("data", (block) => hash.update(block))
            .on("error", (error) => resolve(error.code))
            .on("end", () => resolve(hash.digest("hex")));
    });
}

function copied(path) {
    fs.copyFileSync(path, "copy");
    const sum = checksum(fs.readFileSync("copy"));
    fs.unlinkSync("copy");
    return sum;
}

async function main() {
    for (const path of process.argv.slice(2)) {
        console.log(path, attempt(() => checksum(fs.readFileSync(path))));
        console.log(attempt(() => facts(fs.statSync(path))), attempt(() => copied(path)));
        console.log(await fs.promises.readFile(path).then(checksum, (error) => error.code));
        console.log(await fs.promises.stat(path).then(facts, (error) => error.code));
        console.log(await stream(path));
    }
}

main();
