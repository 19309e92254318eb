import pytest

from kb_platform.net.addresses import InternalHosts, is_forbidden, is_public, parsed, read_hosts

INNER = [
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "100.64.0.1",
    "100.127.255.255",
    "169.254.169.254",
    "0.0.0.0",
    "0.1.2.3",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2001::1",
    "2001:db8::1",
    "fc00::1",
    "fd00::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "100::1",
]


@pytest.mark.parametrize("text", INNER)
def test_what_leads_inside_is_not_public(text):
    assert not is_public(parsed(text))


@pytest.mark.parametrize("text", ["93.184.216.34", "1.1.1.1", "2606:2800:220:1::1", "::ffff:93.184.216.34"])
def test_the_open_internet_is_public(text):
    assert is_public(parsed(text))


@pytest.mark.parametrize("text", ["169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254", "224.0.0.1"])
def test_the_places_of_machine_secrets_are_forbidden_whoever_allows_them(text):
    assert is_forbidden(parsed(text))


def test_allowed_hosts_are_those_very_hosts_and_ports():
    hosts = read_hosts("Search.example.LAN.:9200\n\n 10.0.0.5:8080 \n[fd00::1]:80")
    assert hosts.permit("search.EXAMPLE.lan", 9200)
    assert hosts.permit("10.0.0.5", 8080)
    assert hosts.permit("fd00::1", 80)
    assert not hosts.permit("search.example.lan", 9201)
    assert not InternalHosts().permit("10.0.0.5", 8080)


@pytest.mark.parametrize("line", ["host", "host:0", "host:65536", "http://host:80", "host:80/path", "a b:80"])
def test_a_line_that_is_no_host_and_port_is_named(line):
    with pytest.raises(ValueError, match=line.replace("[", "\\[")):
        read_hosts(f"good:80\n{line}")
