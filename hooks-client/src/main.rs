fn main() -> std::process::ExitCode {
    hooks_client::main()
}
