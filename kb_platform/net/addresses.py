"""Which network addresses may be called: public ones, and inner ones only where the very host and port are allowed. Pure.

What Python calls private is not all that leads inside (NAT64, 6to4, IPv4-compatible and more), hence the list below.
"""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_INNER: tuple[Network, ...] = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4", "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32",
        "2002::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
    )
)  # fmt: skip
# Where machines are told their secrets (cloud metadata), and what is no single machine: never, whoever allows it.
_NEVER: tuple[Network, ...] = tuple(
    ipaddress.ip_network(text)
    for text in ("0.0.0.0/32", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4", "::/128", "fe80::/10", "ff00::/8",
                 "fd00:ec2::254/128", "100.100.100.200/32")
)  # fmt: skip
_ALLOWED = re.compile(r"\[?(?P<host>[A-Za-z0-9._:-]+?)\]?:(?P<port>[0-9]{1,5})")
MOST_ALLOWED = 100
ORDINARY_PORTS = (80, 443)
FIRST_FREE_PORT = 1024


def parsed(text: str) -> Address:
    """The address behind a literal as the resolver writes it; one that wraps an IPv4 address becomes that.

    Raises ValueError.
    """
    address = ipaddress.ip_address(text)
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped or address


def is_public(address: Address) -> bool:
    """Whether the address belongs to the open internet."""
    return address.is_global and not _within(address, _INNER)


def is_forbidden(address: Address) -> bool:
    """Whether the address may not be called even where its host is allowed."""
    return _within(address, _NEVER)


def _within(address: Address, networks: Iterable[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


def host_key(host: str) -> str:
    """A host name as it is compared: lower case, without the dot at its end."""
    return host.lower().rstrip(".").strip("[]")


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalHosts:
    """Hosts of the inner network that an administrator allowed, each with its port."""

    allowed: frozenset[tuple[str, int]] = frozenset()

    def permit(self, host: str, port: int) -> bool:
        return (host_key(host), port) in self.allowed


def read_hosts(text: str) -> InternalHosts:
    """`host:port` on each line. Raises ValueError that names the first line at fault."""
    allowed: set[tuple[str, int]] = set()
    for line in filter(None, (line.strip() for line in text.splitlines())):
        found = _ALLOWED.fullmatch(line)
        if found is None or not 1 <= int(found["port"]) <= 65_535 or len(allowed) == MOST_ALLOWED:
            raise ValueError(line)
        allowed.add((host_key(found["host"]), int(found["port"])))
    return InternalHosts(allowed=frozenset(allowed))
