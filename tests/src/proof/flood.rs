//! Floods an HTTP server with silent, slow or unauthorised connections. A client with the token must always be answered.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::http_server::HttpServer;
use crate::proof::{Durations, ProofResult};
use crate::sandbox::{Binaries, Sandbox};

const TOKEN: &str = "a-token-of-the-proofs-only";

/// The number of open connections. This process may open a thousand files.
const AT_ONCE: usize = 500;

/// Opens connections and sends valid requests in between.
pub fn run(binaries: &Binaries, connections: usize) -> ProofResult {
    let mut tally = ProofResult::new("http", "crowds without the token");
    let mut sandbox = Sandbox::new(binaries.clone());
    sandbox.set_variable("JIKIME_HTTP_TOKEN", TOKEN).set_variable("JIKIME_EMBEDDING_PROVIDER", "none");
    let mut server = HttpServer::start(&sandbox, &[]);
    let mut crowd: Vec<TcpStream> = Vec::new();
    let mut pace = Durations::default();
    for n in 0..connections {
        match open_connection(&server, n) {
            Ok(stream) => crowd.push(stream),
            Err(error) => tally.findings.push(format!("connection {n} failed: {error}")),
        }
        tally.faults += 1;
        if crowd.len() > AT_ONCE {
            drop(crowd.drain(..AT_ONCE / 2));
        }
        if n % 50 == 49 {
            send_byte_each(&mut crowd);
            let start = Instant::now();
            let answer = server.ask(TOKEN, "tools/call", json!({ "name": "memory_stats", "arguments": {} }));
            pace.add(start.elapsed());
            tally.rounds += 1;
            if answer.status != 200 {
                tally.findings.push(format!("after {n} connections the answer is {}: {}", answer.status, answer.body));
            }
        }
        if let Some(status) = server.try_wait() {
            tally.findings.push(format!("after {n} connections the server ended with {status}"));
            break;
        }
    }
    tally.measured = format!("{connections} connections, {AT_ONCE} at once; an answer took {}", pace.summary());
    tally
}

/// Adds a connection: silent, with half a head, with a wrong token, or with a head whose body never comes.
fn open_connection(server: &HttpServer, n: usize) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(server.authority())?;
    stream.set_write_timeout(Some(Duration::from_secs(5)))?;
    let host = server.authority();
    let said = match n % 4 {
        0 => String::new(),
        1 => "POST /mcp HTTP/1.1\r\nHo".to_owned(),
        2 => format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer wrong\r\nContent-Length: 2\r\n\r\n{{}}"
        ),
        _ => format!("POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4000000\r\n\r\n{{"),
    };
    // The next write notices a closed connection.
    let _ = stream.write_all(said.as_bytes());
    Ok(stream)
}

/// Sends a byte on each connection, so that none is silent.
fn send_byte_each(crowd: &mut [TcpStream]) {
    crowd.iter_mut().for_each(|stream| drop(stream.write_all(b"x")));
}
