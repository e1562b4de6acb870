// SPDX-License-Identifier: GPL-2.0-or-later
//! As much of the WebDriver protocol (W3C) as the test of `report.html` needs: a chromedriver of
//! our own on a free port, one headless session, plain HTTP over a socket.

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// The key under which an element's id is sent, fixed by the standard.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A session, ended with its browser and its driver when it is dropped.
pub struct Browser {
    driver: Child,
    /// Held open: the driver would be ended by writing to a closed pipe.
    _stdout: Lines<BufReader<ChildStdout>>,
    port: u16,
    session: String,
}

fn in_path(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
    names.iter().flat_map(|name| dirs.iter().map(move |dir| dir.join(name))).find(|p| p.is_file())
}

/// The browser and its driver, if both are installed.
pub fn installed() -> Option<(PathBuf, PathBuf)> {
    let browser = in_path(&["chromium", "chromium-browser", "google-chrome"])?;
    Some((browser, in_path(&["chromedriver"])?))
}

impl Browser {
    /// Start a driver and a headless session with an empty profile in `profile`.
    pub fn start(browser: &Path, driver: &Path, profile: &Path) -> Self {
        let mut child = Command::new(driver)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        let port = stdout
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| {
                line.split_once("successfully on port ")?.1.trim_end_matches('.').parse().ok()
            })
            .expect("chromedriver says its port");
        let mut this = Self { driver: child, _stdout: stdout, port, session: String::new() };
        let args = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1280,1600",
            &format!("--user-data-dir={}", profile.display()),
        ];
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "binary": browser, "args": args },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let session = this.call("POST", "/session", &wanted);
        let id = session["sessionId"].as_str().expect("a session has an id");
        id.clone_into(&mut this.session);
        this
    }

    fn try_call(&self, method: &str, path: &str, body: &Value) -> std::io::Result<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let body = if method == "POST" { body.to_string() } else { String::new() };
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.port,
            body.len()
        )?;
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        let mut line = String::new();
        while reader.read_line(&mut line)? > 2 {
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
            line.clear();
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer)?;
        Ok(serde_json::from_slice::<Value>(&answer)?["value"].take())
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let value = self.try_call(method, path, body).expect("chromedriver answers");
        assert!(value.get("error").is_none(), "{method} {path} {body}: {value}");
        value
    }

    fn post(&self, what: &str, body: &Value) -> Value {
        self.call("POST", &format!("/session/{}/{what}", self.session), body)
    }

    /// Open a local file and wait until it is loaded.
    pub fn open(&self, file: &Path) {
        self.post("url", &json!({ "url": format!("file://{}", file.display()) }));
    }

    /// What a script returns.
    pub fn run(&self, script: &str) -> Value {
        self.post("execute/sync", &json!({ "script": script, "args": [] }))
    }

    fn element(&self, selector: &str) -> String {
        let found = self.post("element", &json!({ "using": "css selector", "value": selector }));
        found[ELEMENT].as_str().expect("an element has an id").to_owned()
    }

    /// Click as a person does: scrolled into view, in the middle, not where something covers it.
    pub fn click(&self, selector: &str) {
        let id = self.element(selector);
        self.post(&format!("element/{id}/click"), &json!({}));
    }

    /// Type into an element.
    pub fn type_into(&self, selector: &str, text: &str) {
        let id = self.element(selector);
        self.post(&format!("element/{id}/value"), &json!({ "text": text }));
    }

    /// Press a key where the focus is.
    pub fn press(&self, key: char) {
        let keys = json!([{ "type": "keyDown", "value": key }, { "type": "keyUp", "value": key }]);
        let actions = json!([{ "type": "key", "id": "keyboard", "actions": keys }]);
        self.post("actions", &json!({ "actions": actions }));
    }

    /// Messages on the console since the last call, of every level.
    pub fn console(&self) -> Vec<Value> {
        self.post("se/log", &json!({ "type": "browser" })).as_array().cloned().unwrap_or_default()
    }

    /// Print to PDF; returns it in base64.
    pub fn print(&self) -> String {
        self.post("print", &json!({})).as_str().unwrap_or_default().to_owned()
    }

    /// Pretend that the person prefers a colour scheme.
    pub fn prefer(&self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        let params = json!({ "features": features });
        self.post(
            "goog/cdp/execute",
            &json!({ "cmd": "Emulation.setEmulatedMedia", "params": params }),
        );
    }

    /// A PNG of the whole page, base64.
    pub fn screenshot(&self) -> String {
        let params = json!({ "captureBeyondViewport": true });
        let command = json!({ "cmd": "Page.captureScreenshot", "params": params });
        let answer = self.post("goog/cdp/execute", &command);
        answer["data"].as_str().unwrap_or_default().to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver ends the browser; only then may it be ended itself.
        let _ = self.try_call("DELETE", &format!("/session/{}", self.session), &Value::Null);
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
