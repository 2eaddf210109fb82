//! A stand-in for a service that makes embeddings, on the loopback interface. It speaks the wire formats of OpenAI and Gemini and
//! does whatever faults a test asks of it.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// What the stand-in was asked.
#[derive(Debug, Clone)]
pub struct Asked {
    /// As in the first line: a path, or through a proxy a whole address.
    pub target: String,
    /// Names are in small letters.
    pub headers: HashMap<String, String>,
    pub body: Value,
}

/// What the stand-in does with a request.
#[derive(Debug, Clone)]
pub enum Does {
    /// Answers with a vector for each text, as long as this.
    Embed(usize),
    /// Answers with a status, header lines and a body.
    Answer(u16, &'static str, String),
    /// Sends the beginning of an answer and hangs up.
    BreakOff,
    /// Sends the beginning of an answer and no more, for as long as the other side waits.
    Stall,
    /// Takes the request and says nothing, for as long as the other side waits.
    Silence,
}

/// A running stand-in; its thread ends with the process.
#[derive(Debug)]
pub struct ProviderStandIn {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl ProviderStandIn {
    /// Starts one; `does` is given the number of the request, counted from 0, and what was asked.
    pub fn start(does: impl Fn(usize, &Asked) -> Does + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port of the loopback interface");
        let address = listener.local_addr().expect("a bound socket has an address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (seen, does) = (Arc::clone(&asked), Arc::new(does));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (seen, does) = (Arc::clone(&seen), Arc::clone(&does));
                // A client that goes away in the middle is what some tests are about.
                thread::spawn(move || serve(&stream, &seen, &*does).ok());
            }
        });
        Self { address, asked }
    }

    /// One that makes vectors of so many dimensions.
    pub fn embedding(dims: usize) -> Self {
        Self::start(move |_, _| Does::Embed(dims))
    }

    /// Where it is, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All that it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no test panics while it holds this").clone()
    }
}

fn serve(stream: &TcpStream, seen: &Mutex<Vec<Asked>>, does: &dyn Fn(usize, &Asked) -> Does) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(asked) = read(&mut reader)? {
        let number = {
            let mut seen = seen.lock().expect("no test panics while it holds this");
            seen.push(asked.clone());
            seen.len() - 1
        };
        let mut stream = stream;
        match does(number, &asked) {
            Does::Embed(dims) => answer(stream, 200, "", &vectors(&asked, dims).to_string())?,
            Does::Answer(status, headers, body) => answer(stream, status, headers, &body)?,
            Does::BreakOff => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"data\": [{\"index\": 0, ")?;
                return Ok(());
            }
            Does::Stall => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"data\": [")?;
                return until_gone(&mut reader);
            }
            Does::Silence => return until_gone(&mut reader),
        }
    }
    Ok(())
}

fn until_gone(reader: &mut impl io::Read) -> io::Result<()> {
    io::copy(reader, &mut io::sink()).map(drop)
}

/// The next request, or `None` at the end of the connection.
fn read(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Asked>> {
    let mut first = String::new();
    if reader.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let target = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Ok(Some(Asked { target, headers, body }))
}

fn answer(mut stream: &TcpStream, status: u16, headers: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
}

/// Vectors in the words of whichever service was asked. Texts that share words are near each other.
fn vectors(asked: &Asked, dims: usize) -> Value {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if let Some(requests) = asked.body["requests"].as_array() {
        let texts = requests.iter().map(|request| text(&request["content"]["parts"][0]["text"]));
        let embeddings: Vec<Value> = texts.map(|text| json!({"values": vector(&text, dims)})).collect();
        return json!({"embeddings": embeddings});
    }
    let texts = asked.body["input"].as_array().into_iter().flatten().map(text).enumerate();
    let data: Vec<Value> = texts
        .map(|(index, text)| json!({"object": "embedding", "index": index, "embedding": vector(&text, dims)}))
        .collect();
    json!({"object": "list", "data": data, "model": asked.body["model"], "usage": {"prompt_tokens": 1, "total_tokens": 1}})
}

/// How many words of a text fall into each of the dimensions.
fn vector(text: &str, dims: usize) -> Vec<f32> {
    let mut vector = vec![0.0; dims];
    for word in
        text.to_lowercase().split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty())
    {
        let hash = word.bytes().fold(7usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(usize::from(byte)));
        vector[hash % dims] += 1.0;
    }
    vector
}
