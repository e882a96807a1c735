//! `wasi:sockets`: linked for every plugin, and nothing can be made with it.
//!
//! The denial is at the creation of a socket or a lookup, so that no descriptor of this machine is
//! ever spent on one.

use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::p2::bindings::sockets::network::{
    ErrorCode, IpAddress, IpAddressFamily, Network,
};
use wasmtime_wasi::p2::bindings::sockets::{
    ip_name_lookup, network, tcp_create_socket, udp_create_socket,
};
use wasmtime_wasi::p2::{DynPollable, SocketError, SocketResult, TcpSocket, UdpSocket};

use super::denied::Denials;

/// Names this view to the linker.
pub(crate) struct DeniedSockets;

impl HasData for DeniedSockets {
    type Data<'a> = DeniedSocketsView<'a>;
}

/// Denies, and notes what was tried.
pub(crate) struct DeniedSocketsView<'a> {
    pub(crate) denials: &'a Denials,
    pub(crate) table: &'a mut ResourceTable,
}

impl DeniedSocketsView<'_> {
    fn deny<T>(&self, tried: &str) -> SocketResult<T> {
        self.denials.note("sockets", tried, None);
        Err(ErrorCode::AccessDenied.into())
    }
}

impl network::Host for DeniedSocketsView<'_> {
    fn convert_error_code(&mut self, error: SocketError) -> wasmtime::Result<ErrorCode> {
        error.downcast()
    }

    fn network_error_code(
        &mut self,
        _error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        // Errors of streams: there are none without a socket.
        Ok(None)
    }
}

impl network::HostNetwork for DeniedSocketsView<'_> {
    fn drop(&mut self, network: Resource<Network>) -> wasmtime::Result<()> {
        self.table.delete(network)?;
        Ok(())
    }
}

impl tcp_create_socket::Host for DeniedSocketsView<'_> {
    fn create_tcp_socket(&mut self, _family: IpAddressFamily) -> SocketResult<Resource<TcpSocket>> {
        self.deny("to make a TCP socket")
    }
}

impl udp_create_socket::Host for DeniedSocketsView<'_> {
    async fn create_udp_socket(
        &mut self,
        _family: IpAddressFamily,
    ) -> SocketResult<Resource<UdpSocket>> {
        self.deny("to make a UDP socket")
    }
}

type Lookup = ip_name_lookup::ResolveAddressStream;

impl ip_name_lookup::Host for DeniedSocketsView<'_> {
    fn resolve_addresses(
        &mut self,
        _network: Resource<Network>,
        name: String,
    ) -> SocketResult<Resource<Lookup>> {
        self.deny(&format!("to look up `{name}`"))
    }
}

impl ip_name_lookup::HostResolveAddressStream for DeniedSocketsView<'_> {
    fn resolve_next_address(
        &mut self,
        _lookup: Resource<Lookup>,
    ) -> SocketResult<Option<IpAddress>> {
        Err(ErrorCode::AccessDenied.into())
    }

    fn subscribe(&mut self, lookup: Resource<Lookup>) -> wasmtime::Result<Resource<DynPollable>> {
        wasmtime_wasi::p2::subscribe(self.table, lookup)
    }

    fn drop(&mut self, lookup: Resource<Lookup>) -> wasmtime::Result<()> {
        self.table.delete(lookup)?;
        Ok(())
    }
}
