//! What a command works with: its surroundings, its flags, its streams and the way to the daemon.
//!
//! Not here: finding the daemon (`locate.rs`), waiting for operations (`wait.rs`).

use std::time::Duration;

use serde_json::Value;

use super::arguments::{DryRun, Flags, Format};
use super::client::{Call, Client};
use super::environment::Surroundings;
use super::error::CommandError;
use super::format::harmless;
use super::locate::{Place, locate, repository_around};
use super::output::Output;
use crate::base::{Timestamp, parse_duration};

/// Longest wait for an operation unless a flag says otherwise: images may have to be pulled.
const WAIT_DEADLINE: Duration = Duration::from_secs(600);

/// One command at work.
pub(super) struct Session<'a> {
    /// Surroundings.
    pub(super) environment: &'a Surroundings,
    /// Flags.
    pub(super) flags: Flags,
    /// Streams.
    pub(super) out: &'a mut dyn Output,
    place: Option<Place>,
}

impl<'a> Session<'a> {
    /// Begins a command.
    pub(super) fn new(environment: &'a Surroundings, flags: Flags, out: &'a mut dyn Output) -> Self {
        Self { environment, flags, out, place: None }
    }

    /// Ends the command: stops what it started.
    pub(super) async fn close(&mut self) {
        if let Some(place) = self.place.take() {
            place.client.close().await;
        }
    }

    /// Returns the name of the instance.
    pub(super) async fn instance(&mut self) -> Result<String, CommandError> {
        Ok(self.place().await?.instance.clone())
    }

    /// Calls a route of the instance, such as `GET /apps`.
    pub(super) async fn call(
        &mut self,
        method: &str,
        below: &str,
        body: Option<&Value>,
    ) -> Result<Value, CommandError> {
        let instance = self.instance().await?;
        self.call_root(method, &format!("/api/v1/instances/{instance}{below}"), body).await
    }

    /// Calls a route by its whole path.
    pub(super) async fn call_root(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, CommandError> {
        if self.flags.verbose > 1 {
            self.out.note(&format!("{method} {path}"));
        }
        let actor = self.environment.actor(repository_around(&self.environment.directory).as_deref());
        self.place().await?.client.call(Call { method, path, body, actor: &actor }).await
    }

    /// Reads a route of the instance.
    pub(super) async fn get(&mut self, below: &str) -> Result<Value, CommandError> {
        self.call("GET", below, None).await
    }

    /// Reads a route of the instance that answers one JSON value per line, and hands each over as it comes.
    pub(super) async fn stream(
        &mut self,
        below: &str,
        each: &mut (dyn FnMut(Value, &mut dyn Output) + Send),
    ) -> Result<(), CommandError> {
        let instance = self.instance().await?;
        let path = format!("/api/v1/instances/{instance}{below}");
        let actor = self.environment.actor(repository_around(&self.environment.directory).as_deref());
        let call = Call { method: "GET", path: &path, body: None, actor: &actor };
        // Not through `place`, which would lend all of the session.
        self.place().await?;
        let Some(place) = &self.place else { return Ok(()) };
        let out = &mut *self.out;
        place.client.stream(call, &mut |value| each(value, out)).await
    }

    async fn place(&mut self) -> Result<&Place, CommandError> {
        let place = match self.place.take() {
            Some(place) => place,
            None => locate(self.environment, &self.flags).await?,
        };
        Ok(self.place.insert(place))
    }

    /// Returns whether nobody but this command works on the instance.
    pub(super) async fn is_alone(&mut self) -> Result<bool, CommandError> {
        Ok(matches!(self.place().await?.client, Client::Direct { own: Some(_), .. }))
    }

    /// Returns the format that flag or variable asks for.
    pub(super) fn format(&self) -> Format {
        self.flags.output.unwrap_or_else(|| match self.environment.variable("WILD_OUTPUT") {
            Some("json") => Format::Json,
            Some("yaml") => Format::Yaml,
            Some("name") => Format::Name,
            Some("wide") => Format::Wide,
            _ => Format::Table,
        })
    }

    /// Returns whether people read the output.
    pub(super) fn is_for_people(&self) -> bool {
        matches!(self.format(), Format::Table | Format::Wide)
    }

    /// Returns whether nothing is to be changed.
    pub(super) fn is_dry_run(&self) -> bool {
        matches!(self.flags.dry_run, Some(DryRun::Client | DryRun::Server))
    }

    /// Writes a line for people, unless they asked for errors only.
    pub(super) fn note(&mut self, line: &str) {
        if !self.flags.quiet {
            self.out.note(&harmless(line));
        }
    }

    /// Returns the present.
    pub(super) fn now(&self) -> Timestamp {
        (self.environment.clock)()
    }

    /// Returns the longest time to wait for an operation.
    pub(super) fn timeout(&self) -> Result<Duration, CommandError> {
        let given = self.flags.timeout.as_deref().or_else(|| self.environment.variable("WILD_TIMEOUT"));
        match given {
            None => Ok(WAIT_DEADLINE),
            Some(text) => parse_duration(text)
                .ok_or_else(|| CommandError::new("read --timeout", format!("{text:?} is no duration"), "--timeout 5m")),
        }
    }

    /// Returns whether a person can be asked.
    pub(super) fn may_ask(&self) -> bool {
        self.environment.is_interactive() && !self.flags.no_input && !self.flags.yes
    }
}
