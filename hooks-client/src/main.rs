fn main() {
    hooks_client::run();
}
