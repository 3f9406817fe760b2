// Reads files with std::ifstream and std::filesystem.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

namespace fs = std::filesystem;

static unsigned long checksum(const std::string &bytes)
{
    unsigned long sum = 5381;
    for (unsigned char byte : bytes) {
        sum = sum * 33 + byte;
    }
    return sum;
}

static std::string read(const char *path)
{
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        return "no stream";
    }
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    return std::to_string(bytes.size()) + " bytes, " + std::to_string(checksum(bytes));
}

static std::string facts(const char *path)
{
    std::error_code error;
    auto status = fs::status(path, error);
    auto size = fs::file_size(path, error);
    return "type " + std::to_string(static_cast<int>(status.type())) + ", mode " +
           std::to_string(static_cast<int>(status.permissions())) +
           (error ? ", " + error.message() : ", size " + std::to_string(size));
}

static std::string copied(const char *path)
{
    std::error_code error;
    const fs::path target = "copy";
    fs::copy_file(path, target, fs::copy_options::overwrite_existing, error);
    if (error) {
        return error.message();
    }
    auto said = read(target.c_str());
    fs::remove(target);
    return said;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        std::cout << argv[i] << ": " << read(argv[i]) << "; " << facts(argv[i]) << "; "
                  << copied(argv[i]) << "\n";
    }
}
