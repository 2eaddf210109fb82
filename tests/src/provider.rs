//! A fake embedding service on the loopback interface. It implements the formats of OpenAI and Gemini, and simulates
//! errors.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// A received request.
#[derive(Debug, Clone)]
pub struct ProviderRequest {
    /// The target of the request line: a path, or a full URL through a proxy.
    pub target: String,
    /// The headers, with names in lower case.
    pub headers: HashMap<String, String>,
    pub body: Value,
}

/// The fake's reaction to a request.
#[derive(Debug, Clone)]
pub enum ProviderBehaviour {
    /// Returns vectors of this length.
    Embed(usize),
    /// Returns a status, header lines and a body.
    Answer(u16, &'static str, String),
    /// Sends the start of a response and closes the connection.
    BreakOff,
    /// Sends the start of a response and waits.
    Stall,
    /// Reads the request and waits.
    Silence,
}

/// A running fake. Its thread ends with the process.
#[derive(Debug)]
pub struct ProviderStandIn {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<ProviderRequest>>>,
}

impl ProviderStandIn {
    /// Starts a fake. `does` gets the number of the request, from 0, and the request.
    pub fn start(does: impl Fn(usize, &ProviderRequest) -> ProviderBehaviour + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port of the loopback interface");
        let address = listener.local_addr().expect("a bound socket has an address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (seen, does) = (Arc::clone(&asked), Arc::new(does));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (seen, does) = (Arc::clone(&seen), Arc::clone(&does));
                // Some clients disconnect on purpose.
                thread::spawn(move || serve_connection(&stream, &seen, &*does).ok());
            }
        });
        Self { address, asked }
    }

    /// Starts a fake that returns vectors of this length.
    pub fn embedding(dims: usize) -> Self {
        Self::start(move |_, _| ProviderBehaviour::Embed(dims))
    }

    /// Returns its URL without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns all requests so far.
    pub fn asked(&self) -> Vec<ProviderRequest> {
        self.asked.lock().expect("no thread panics while holding it").clone()
    }
}

fn serve_connection(
    stream: &TcpStream,
    seen: &Mutex<Vec<ProviderRequest>>,
    does: &dyn Fn(usize, &ProviderRequest) -> ProviderBehaviour,
) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(asked) = read_request(&mut reader)? {
        let number = {
            let mut seen = seen.lock().expect("no thread panics while holding it");
            seen.push(asked.clone());
            seen.len() - 1
        };
        let mut stream = stream;
        match does(number, &asked) {
            ProviderBehaviour::Embed(dims) => {
                write_response(stream, 200, "", &response_vectors(&asked, dims).to_string())?;
            }
            ProviderBehaviour::Answer(status, headers, body) => write_response(stream, status, headers, &body)?,
            ProviderBehaviour::BreakOff => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"data\": [{\"index\": 0, ")?;
                return Ok(());
            }
            ProviderBehaviour::Stall => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"data\": [")?;
                return wait_for_hangup(&mut reader);
            }
            ProviderBehaviour::Silence => return wait_for_hangup(&mut reader),
        }
    }
    Ok(())
}

fn wait_for_hangup(reader: &mut impl io::Read) -> io::Result<()> {
    io::copy(reader, &mut io::sink()).map(drop)
}

/// Reads the next request, or returns `None` at the end of the connection.
fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<Option<ProviderRequest>> {
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
    Ok(Some(ProviderRequest { target, headers, body }))
}

fn write_response(mut stream: &TcpStream, status: u16, headers: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
}

/// Returns vectors in the format of the requested service. Texts with common words have near vectors.
fn response_vectors(asked: &ProviderRequest, dims: usize) -> Value {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if let Some(requests) = asked.body["requests"].as_array() {
        let texts = requests.iter().map(|request| text(&request["content"]["parts"][0]["text"]));
        let embeddings: Vec<Value> = texts.map(|text| json!({"values": text_vector(&text, dims)})).collect();
        return json!({"embeddings": embeddings});
    }
    let texts = asked.body["input"].as_array().into_iter().flatten().map(text).enumerate();
    let data: Vec<Value> = texts
        .map(|(index, text)| json!({"object": "embedding", "index": index, "embedding": text_vector(&text, dims)}))
        .collect();
    json!({"object": "list", "data": data, "model": asked.body["model"], "usage": {"prompt_tokens": 1, "total_tokens": 1}})
}

/// Counts the words that fall into each dimension.
fn text_vector(text: &str, dims: usize) -> Vec<f32> {
    let mut vector = vec![0.0; dims];
    for word in
        text.to_lowercase().split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty())
    {
        let hash = word.bytes().fold(7usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(usize::from(byte)));
        vector[hash % dims] += 1.0;
    }
    vector
}
