fn main() {
    server::run();
}
