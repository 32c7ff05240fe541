// Asks a program or an HTTP address for the result of each vector, and compares. Needs rustc and nothing else.
//
//     rustc -O run.rs && ./run FOLDER http://127.0.0.1:8080
//     rustc -O run.rs && ./run FOLDER COMMAND ARGUMENT…
//
// The program reads a line of JSON with `kind` and `given`, and writes a line with the result; an address gets the same by
// POST. A result {"cannot": "why"} skips the vector. Exit code 1 if a result is wrong.
use std::io::{BufRead, BufReader, Read, Write};
use std::{collections::BTreeMap, env, fmt, fs, net::TcpStream, process};

#[derive(Clone)]
enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(BTreeMap<String, Json>),
}
use Json::*;

/// Reads JSON that is known to be well-formed.
struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&mut self) -> u8 {
        while self.text[self.at].is_ascii_whitespace() || matches!(self.text[self.at], b',' | b':') {
            self.at += 1;
        }
        self.text[self.at]
    }

    fn value(&mut self) -> Json {
        match self.peek() {
            b'"' => Text(self.string()),
            b'{' => {
                let mut all = BTreeMap::new();
                self.at += 1;
                while self.peek() != b'}' {
                    let name = self.string();
                    all.insert(name, self.value());
                }
                self.at += 1;
                Object(all)
            }
            b'[' => {
                let mut all = vec![];
                self.at += 1;
                while self.peek() != b']' {
                    all.push(self.value());
                }
                self.at += 1;
                List(all)
            }
            _ => {
                let start = self.at;
                while self.at < self.text.len() && !b",]} \n\r\t".contains(&self.text[self.at]) {
                    self.at += 1;
                }
                match std::str::from_utf8(&self.text[start..self.at]).unwrap() {
                    "null" => Null,
                    "true" => Bool(true),
                    "false" => Bool(false),
                    number => Number(number.parse().expect("a number")),
                }
            }
        }
    }

    fn unit(&mut self) -> u16 {
        self.at += 4;
        u16::from_str_radix(std::str::from_utf8(&self.text[self.at - 4..self.at]).unwrap(), 16).unwrap()
    }

    fn string(&mut self) -> String {
        let mut bytes = vec![];
        self.peek();
        self.at += 1;
        while self.text[self.at] != b'"' {
            let byte = self.text[self.at];
            self.at += 1;
            if byte != b'\\' {
                bytes.push(byte);
                continue;
            }
            let escaped = self.text[self.at];
            self.at += 1;
            match escaped {
                b'u' => {
                    let mut units = vec![self.unit()];
                    if (0xd800..0xdc00).contains(&units[0]) && self.text[self.at..].starts_with(b"\\u") {
                        self.at += 2;
                        units.push(self.unit());
                    }
                    bytes.extend(String::from_utf16_lossy(&units).bytes());
                }
                other => bytes.push("ntrbf".find(other as char).map_or(other, |n| b"\n\t\r\x08\x0c"[n])),
            }
        }
        self.at += 1;
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

fn parse(text: &str) -> Json {
    Reader { text: text.as_bytes(), at: 0 }.value()
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for each in text.chars() {
        match each {
            '"' | '\\' => out.extend(['\\', each]),
            control if control < ' ' => out += &format!("\\u{:04x}", control as u32),
            other => out.push(other),
        }
    }
    out + "\""
}

impl fmt::Display for Json {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Null => write!(out, "null"),
            Bool(value) => write!(out, "{value}"),
            Number(value) => write!(out, "{value}"),
            Text(value) => write!(out, "{}", quoted(value)),
            List(all) => write!(out, "[{}]", all.iter().map(Json::to_string).collect::<Vec<_>>().join(",")),
            Object(all) => {
                write!(out, "{{{}}}", all.iter().map(|(name, each)| format!("{}:{each}", quoted(name))).collect::<Vec<_>>().join(","))
            }
        }
    }
}

impl Json {
    /// Returns the value at a JSON Pointer.
    fn at(&self, pointer: &str) -> Option<&Json> {
        pointer[1..].split('/').try_fold(self, |value, part| match value {
            Object(all) => all.get(&part.replace("~1", "/").replace("~0", "~")),
            List(all) => part.parse::<usize>().ok().and_then(|index| all.get(index)),
            _ => None,
        })
    }

    fn list(&self) -> &[Json] {
        if let List(all) = self { all } else { &[] }
    }

    fn text(&self) -> String {
        if let Text(text) = self { text.clone() } else { self.to_string() }
    }
}

/// Compares two values; numbers with a relative tolerance of 1e-9.
fn is_equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Null, Null) => true,
        (Bool(a), Bool(b)) => a == b,
        (Number(a), Number(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-9),
        (Text(a), Text(b)) => a == b,
        (List(a), List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b)),
        (Object(a), Object(b)) => a.len() == b.len() && a.iter().all(|(name, each)| b.get(name).is_some_and(|other| is_equal(each, other))),
        _ => false,
    }
}

/// Returns None if a check holds, an empty text if the result does not have its first name, else why it does not hold.
fn wrong(result: &Json, check: &[Json]) -> Option<String> {
    let (kind, path, value) = (check[0].text(), check[1].text(), check.get(2).unwrap_or(&Null));
    if result.at(&format!("/{}", path.split('/').nth(1)?)).is_none() {
        return Some(String::new());
    }
    let found = result.at(&path);
    let holds = match kind.as_str() {
        "absent" => found.is_none(),
        "count" => is_equal(found.filter(|each| !matches!(each, Null)).unwrap_or(&Number(0.0)), value),
        "one" => found.is_some_and(|found| value.list().iter().any(|each| is_equal(found, each))),
        "has" => found.is_some_and(|found| found.text().contains(&value.text())),
        "same" => found.zip(result.at(&value.text())).is_some_and(|(a, b)| is_equal(a, b)),
        _ => found.is_some_and(|found| is_equal(found, value)),
    };
    let shown = found.map_or("nothing".into(), Json::text);
    (!holds).then(|| format!("{path}: {shown}, expected {kind} {}", value.text()))
}

/// Returns pass, untold or fail, and the reason of a failure.
fn judge(result: &Json, expect: &[Json]) -> (&'static str, String) {
    let found: Vec<Vec<String>> =
        expect.iter().map(|checks| checks.list().iter().filter_map(|check| wrong(result, check.list())).collect()).collect();
    let reasons: Vec<String> = found.iter().filter_map(|all| all.iter().find(|each| !each.is_empty()).cloned()).collect();
    match found {
        all if all.iter().any(Vec::is_empty) => ("pass", String::new()),
        all if reasons.len() < all.len() => ("untold", String::new()),
        _ => ("fail", reasons.join("; or ")),
    }
}

/// Sends a text to an address by POST, and returns the answer.
fn post(url: &str, text: &str) -> String {
    let host = url.trim_start_matches("http://").split('/').next().unwrap();
    let mut socket = TcpStream::connect(host).expect("the address answers");
    write!(socket, "POST / HTTP/1.0\r\nhost: {host}\r\ncontent-length: {}\r\n\r\n{text}", text.len()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").expect("an answer").1.to_string()
}

fn main() {
    let given: Vec<String> = env::args().skip(1).collect();
    let (folder, command) = (&given[0], &given[1..]);
    let is_address = command[0].starts_with("http://");
    let mut program = (!is_address).then(|| {
        let [input, output] = [(); 2].map(|()| process::Stdio::piped());
        let mut child = process::Command::new(&command[0]).args(&command[1..]).stdin(input).stdout(output).spawn().expect("the program starts");
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        (child.stdin.take().unwrap(), lines)
    });
    let mut failed = 0;
    for name in ["answers", "requests", "models", "costs", "refusals"] {
        let file = parse(&fs::read_to_string(format!("{folder}/{name}.json")).expect("the folder of the vectors"));
        let mut counts = BTreeMap::from([("pass", 0), ("fail", 0), ("untold", 0), ("cannot", 0)]);
        for vector in file.at("/vectors").unwrap().list() {
            let Object(mut given) = vector.at("/given").unwrap().clone() else { continue };
            if let Some(Object(answers)) = file.at("/answers") {
                given.insert("answer".into(), answers[&given["answer"].text()].clone());
            }
            let question = format!("{{\"kind\":{},\"given\":{}}}", file.at("/kind").unwrap(), Object(given));
            let answer = match &mut program {
                None => post(&command[0], &question),
                Some((input, lines)) => {
                    writeln!(input, "{question}").unwrap();
                    lines.next().expect("an answer of the program").unwrap()
                }
            };
            let result = parse(&answer);
            let (verdict, why) = if result.at("/cannot").is_some() { ("cannot", String::new()) } else { judge(&result, vector.at("/expect").unwrap().list()) };
            *counts.get_mut(verdict).unwrap() += 1;
            if verdict == "fail" {
                println!("{} {}: {why}", vector.at("/rule").unwrap().text(), vector.at("/id").unwrap().text());
            }
        }
        failed += counts["fail"];
        println!("{name}: {} pass, {} fail, {} untold, {} cannot", counts["pass"], counts["fail"], counts["untold"], counts["cannot"]);
    }
    process::exit(i32::from(failed > 0));
}
