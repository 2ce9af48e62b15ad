//! Questions to the kernel over netlink, and the frames of its answers (linux/netlink.h).

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with, sockopt,
};
use std::io;
use std::os::fd::OwnedFd;

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const HEADER: usize = 16;
/// `NLM_F_REQUEST`.
pub(crate) const REQUEST: u16 = 0x1;
/// `NLM_F_ACK`.
pub(crate) const ACK: u16 = 0x4;
/// `NLM_F_DUMP`.
pub(crate) const DUMP: u16 = 0x300;

/// A socket to ask through.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl Netlink {
    /// Of a netlink protocol; `None` is `NETLINK_ROUTE`.
    pub(crate) fn new(protocol: Option<Protocol>) -> io::Result<Self> {
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
        Ok(Self { socket, buffer: vec![0; 64 << 10] })
    }

    /// Lets so many bytes wait to be received, if the system grants it; otherwise as many as by default.
    pub(crate) fn make_room(&self, bytes: usize) {
        // Without CAP_NET_ADMIN messages that do not fit are lost, and the kernel reports that.
        let _ = sockopt::set_socket_recv_buffer_size_force(&self.socket, bytes);
    }

    /// Sends a message: its kind, flags, and what follows the header.
    pub(crate) fn send(&self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        let mut message = vec![0_u8; HEADER];
        let length = u32::try_from(HEADER + body.len()).unwrap_or(u32::MAX);
        message[..4].copy_from_slice(&length.to_ne_bytes());
        message[4..6].copy_from_slice(&kind.to_ne_bytes());
        message[6..8].copy_from_slice(&flags.to_ne_bytes());
        message.extend_from_slice(body);
        sendto(&self.socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        Ok(())
    }

    /// Sends a question and hands each answer of that kind (`None`: any), without its header, to `take`.
    pub(crate) fn ask(
        &mut self,
        (kind, flags): (u16, u16),
        body: &[u8],
        answer: Option<u16>,
        take: &mut dyn FnMut(&[u8]),
    ) -> io::Result<()> {
        self.send(kind, flags, body)?;
        loop {
            let (count, _) = recv(&self.socket, self.buffer.as_mut_slice(), RecvFlags::empty())?;
            if count == 0 || messages(&self.buffer[..count], answer, take)? {
                return Ok(());
            }
        }
    }

    /// Hands what has come without being asked for to `take`, until nothing is there. False: some of it was lost.
    pub(crate) fn drain(&mut self, take: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
        let mut is_whole = true;
        loop {
            match recv(&self.socket, self.buffer.as_mut_slice(), RecvFlags::DONTWAIT) {
                Ok((0, _)) | Err(rustix::io::Errno::AGAIN) => return Ok(is_whole),
                Ok((count, _)) => {
                    messages(&self.buffer[..count], None, take)?;
                }
                // The socket's buffer was full for a while.
                Err(rustix::io::Errno::NOBUFS) => is_whole = false,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Takes in the messages of one datagram; true at the end of the answer.
pub(crate) fn messages(mut data: &[u8], answer: Option<u16>, take: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
    while let (Some(length), Some(kind)) = (u32_at(data, 0), u16_at(data, 4)) {
        let Some(message) = data.get(..length as usize).filter(|message| message.len() >= HEADER) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a netlink message is longer than its datagram"));
        };
        match kind {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => {
                let code = u32_at(message, HEADER).map_or(0, u32::cast_signed);
                return if code == 0 { Ok(true) } else { Err(io::Error::from_raw_os_error(-code)) };
            }
            kind if answer.is_none_or(|answer| answer == kind) => take(&message[HEADER..]),
            _ => {}
        }
        data = data.get((length as usize).next_multiple_of(4)..).unwrap_or(&[]);
    }
    Ok(false)
}

/// An attribute as the kernel reads it.
pub(crate) fn put_attribute(out: &mut Vec<u8>, kind: u16, content: &[u8]) {
    let length = u16::try_from(4 + content.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&length.to_ne_bytes());
    out.extend_from_slice(&kind.to_ne_bytes());
    out.extend_from_slice(content);
    out.resize(out.len().next_multiple_of(4), 0);
}

/// The content of the first attribute of a kind.
pub(crate) fn attribute(mut data: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let (length, kind) = (usize::from(u16_at(data, 0)?), u16_at(data, 2)?);
        let content = data.get(4..length)?;
        // The top bits are flags (nested, byte order).
        if kind & 0x3fff == wanted {
            return Some(content);
        }
        data = data.get(length.next_multiple_of(4)..)?;
    }
}

pub(crate) fn u64_at(data: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(data.get(at..at + 8)?.try_into().ok()?))
}

pub(crate) fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(data.get(at..at + 4)?.try_into().ok()?))
}

pub(crate) fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(data.get(at..at + 2)?.try_into().ok()?))
}
