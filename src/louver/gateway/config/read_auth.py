"""Read the sections `auth`, `principal`, `audit`, and `oauth` of a server; they already fit their schema."""

from __future__ import annotations

import os
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

from louver.core.secret_key import derived_key
from louver.gateway.config.auth import Auth, Jwks, OAuthSettings, SignInClient, Tokens
from louver.gateway.config.model import AuditSettings
from louver.limits import AUDIT_DAYS
from louver.policy.principal import Principal
from louver.wire.uris import is_url

if TYPE_CHECKING:
    from pathlib import Path

    from louver.catalogue.files.line_numbers import Place
    from louver.errors import InvalidConfig

_AUTH: Final = ("louver", "auth")
_AUDIT: Final = ("louver", "audit")
_OAUTH_TEXTS: Final = ("clientId", "clientSecret", "audience")


class SettingReader(Protocol):
    """The configuration file."""

    def string(self, place: Place, written: str) -> str:
        """Return a text with its environment variables expanded."""
        ...

    def file(self, place: Place, written: str) -> Path:
        """Return a path, after checking that its folder exists."""
        ...

    def error_at(self, place: Place, message: str) -> InvalidConfig: ...


def read_auth(written: dict[str, Any], source: SettingReader) -> Auth:
    """Read the authentication settings; an audience is required except for a token file."""
    issuer, resource = (secure_url(written, name, source) for name in ("issuer", "resource"))
    audience = source.string((*_AUTH, "audience"), written["audience"]) if "audience" in written else resource
    if audience is None and "tokens" not in written:
        message = "'auth': expected 'audience' or 'resource': without them tokens for other servers would be taken"
        raise source.error_at(_AUTH, message)
    auth = Auth(
        _read_method(written, source),
        required_scopes=tuple(written.get("requiredScopes", ())),
        resource=resource,
        issuer=issuer,
        audience=audience,
        sign_in=_read_sign_in(written["signIn"], source) if "signIn" in written else None,
    )
    if auth.sign_in is not None and (issuer is None or "jwks" not in written or auth.public_url is None):
        message = "'signIn' needs 'jwks', 'issuer', and a 'resource' that ends with /mcp"
        raise source.error_at((*_AUTH, "signIn"), message)
    return auth


def _read_sign_in(written: dict[str, Any], source: SettingReader) -> SignInClient:
    at = (*_AUTH, "signIn")
    texts = {
        name: source.string((*at, name), written[name]) for name in ("clientId", "clientSecret") if name in written
    }
    return SignInClient(texts["clientId"], texts.get("clientSecret"), tuple(written.get("scopes", ())))


def read_principal(written: dict[str, Any], source: SettingReader) -> Principal:
    """Read the principal of the stdio client."""
    at = ("louver", "principal")
    names = {name: source.string((*at, name), written[name]) for name in ("subject", "client") if name in written}
    words = [frozenset[str](written.get(name, ())) for name in ("scopes", "roles")]
    return Principal(names.get("subject"), names.get("client"), *words)


def read_audit(written: dict[str, Any], source: SettingReader, pseudonym_key: bytes) -> AuditSettings:
    file = source.file((*_AUDIT, "file"), written["file"])
    retention_days = written.get("retentionDays", AUDIT_DAYS)
    if "shipTo" not in written:
        return AuditSettings(file, retention_days)
    if not pseudonym_key:
        message = "'shipTo' needs 'pseudonymKey' under 'louver': all replicas give a principal the same digest by it"
        raise source.error_at((*_AUDIT, "shipTo"), message)
    return AuditSettings(
        file, retention_days, _destination(written["shipTo"], source), derived_key(pseudonym_key, b"louver audit")
    )


def read_oauth(written: dict[str, Any], at: Place, source: SettingReader) -> OAuthSettings:
    texts = {name: source.string((*at, name), written[name]) for name in _OAUTH_TEXTS if name in written}
    metadata = secure_url(written, "clientMetadataUrl", source, at)
    if metadata is not None and not (metadata.startswith("https://") and urlsplit(metadata).path.strip("/")):
        place = (*at, "clientMetadataUrl")
        raise source.error_at(place, "'clientMetadataUrl': expected a URL that begins with https:// and has a path")
    grant, belongs_to = written.get("grant", "authorization_code"), written.get("for", "gateway")
    if (grant, belongs_to) == ("client_credentials", "principal"):
        raise source.error_at((*at, "for"), "'for': a service account logs in by itself, for no principal")
    if grant == "token_exchange" and belongs_to != "principal":
        raise source.error_at((*at, "grant"), "'grant': tokens are exchanged with 'for': 'principal', for each caller")
    if "audience" in written and grant != "token_exchange":
        raise source.error_at((*at, "audience"), "'audience' goes with 'grant': 'token_exchange'")
    return OAuthSettings(
        client_id=texts.get("clientId"),
        client_secret=texts.get("clientSecret"),
        issuer=secure_url(written, "issuer", source, at),
        client_metadata_url=metadata,
        scopes=tuple(written.get("scopes", ())),
        callback_port=written.get("callbackPort", 0),
        audience=texts.get("audience"),
        grant=grant,
        belongs_to=belongs_to,
    )


def _destination(written: str, source: SettingReader) -> Path:
    place = (*_AUDIT, "shipTo")
    if "://" in source.string(place, written):
        message = "records are shipped to no database any more: expected the path of a file, for any shipper of logs"
        raise source.error_at(place, f"'shipTo': {message}")
    return source.file(place, written)


def _read_method(written: dict[str, Any], source: SettingReader) -> Jwks | Tokens:
    if "tokens" in written:
        return Tokens(_existing_file("tokens", written["tokens"], source))
    place = source.string((*_AUTH, "jwks"), written["jwks"])
    keys = secure_url(written, "jwks", source) if "://" in place else _existing_file("jwks", written["jwks"], source)
    assert keys is not None, "the schema wants it"
    return Jwks(keys)


def _existing_file(name: str, written: str, source: SettingReader) -> Path:
    found = source.file((*_AUTH, name), written)
    if not os.path.isfile(found):
        raise source.error_at((*_AUTH, name), f"{name!r}: there is no such file")
    return found


def secure_url(written: dict[str, Any], name: str, source: SettingReader, at: Place = _AUTH) -> str | None:
    """Read a URL that is safe from eavesdropping and tampering: https, or http to the loopback."""
    if name not in written:
        return None
    url = source.string((*at, name), written[name])
    if not is_url(url) or "#" in url or not _is_secure(url):
        message = f"{name!r}: expected a URL that begins with https://, without '#'; http:// is for the loopback alone"
        raise source.error_at((*at, name), message)
    return url


def _is_secure(url: str) -> bool:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "https" or host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
