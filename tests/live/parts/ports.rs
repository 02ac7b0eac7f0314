//! Ports of loopback that stay ours for as long as they are held.
//!
//! A socket that is bound and does not listen keeps its port from everybody but programs that share ports, which our servers are told
//! to. So there is no moment at which another run could be given the port.
//!
//! Not here: Gitea, which cannot share a port and takes one that was free a moment ago.

use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with, sockopt};

/// A port that nobody else is given.
pub(crate) struct HeldPort {
    number: u16,
    _socket: OwnedFd,
}

impl HeldPort {
    /// Takes a free port.
    pub(crate) fn take() -> Result<Self, String> {
        let attempt = |error: rustix::io::Errno| format!("hold a port: {error}");
        let socket =
            socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).map_err(attempt)?;
        sockopt::set_socket_reuseport(&socket, true).map_err(attempt)?;
        bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).map_err(attempt)?;
        let address = SocketAddrV4::try_from(getsockname(&socket).map_err(attempt)?).map_err(attempt)?;
        Ok(Self { number: address.port(), _socket: socket })
    }

    /// Returns its number.
    pub(crate) fn number(&self) -> u16 {
        self.number
    }
}

/// Returns a port that is free at this moment.
pub(crate) fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| format!("find a port: {error}"))?;
    listener.local_addr().map(|address| address.port()).map_err(|error| format!("find a port: {error}"))
}
