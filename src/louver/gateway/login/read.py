"""Read the section `oauth` of a server that already fits its schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from louver.gateway.auth.read import secure_url
from louver.gateway.login.settings import OAuthSettings

if TYPE_CHECKING:
    from louver.catalogue.files.line_numbers import Place
    from louver.gateway.auth.read import SettingReader

_TEXTS: Final = ("clientId", "clientSecret", "audience")


def read_oauth(written: dict[str, Any], at: Place, source: SettingReader) -> OAuthSettings:
    texts = {name: source.string((*at, name), written[name]) for name in _TEXTS if name in written}
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
