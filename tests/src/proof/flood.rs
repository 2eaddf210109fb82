//! Crowds of connections to a server over HTTP that are silent, slow or without the token: who has the token is answered all the while.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::http_server::HttpServer;
use crate::proof::{Pace, Tally};
use crate::sandbox::{Binaries, Sandbox};

const TOKEN: &str = "a-token-of-the-proofs-only";

/// Connections of the crowd that are open at once: this process may open a thousand files.
const AT_ONCE: usize = 500;

/// Makes so many connections, and asks in between.
pub fn run(binaries: &Binaries, connections: usize) -> Tally {
    let mut tally = Tally::new("http", "crowds without the token");
    let mut sandbox = Sandbox::new(binaries.clone());
    sandbox.set_variable("JIKIME_HTTP_TOKEN", TOKEN).set_variable("JIKIME_EMBEDDING_PROVIDER", "none");
    let mut server = HttpServer::start(&sandbox, &[]);
    let mut crowd: Vec<TcpStream> = Vec::new();
    let mut pace = Pace::default();
    for n in 0..connections {
        match join(&server, n) {
            Ok(stream) => crowd.push(stream),
            Err(error) => tally.findings.push(format!("connection {n} is not taken: {error}")),
        }
        tally.faults += 1;
        if crowd.len() > AT_ONCE {
            drop(crowd.drain(..AT_ONCE / 2));
        }
        if n % 50 == 49 {
            drip(&mut crowd);
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
    tally.measured = format!("{connections} connections, {AT_ONCE} at once; an answer took {}", pace.in_words());
    tally
}

/// One more of the crowd: silent, with half a head, with a wrong token, or with the head of a body that never comes.
fn join(server: &HttpServer, n: usize) -> std::io::Result<TcpStream> {
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
    // Who made way already is told by the next write.
    let _ = stream.write_all(said.as_bytes());
    Ok(stream)
}

/// A byte of each, so that none is silent.
fn drip(crowd: &mut [TcpStream]) {
    crowd.iter_mut().for_each(|stream| drop(stream.write_all(b"x")));
}
