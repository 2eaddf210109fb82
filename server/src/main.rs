fn main() -> std::process::ExitCode {
    server::main()
}
