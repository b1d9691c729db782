"""Tokens of access points: signed ones of the cloud, encrypted ones of self-hosted servers."""

from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from functools import cached_property
from hashlib import md5
import json
from typing import Any, Final
from urllib.parse import quote

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.padding import PKCS7

type Json = dict[str, Any]

YEAR: Final = 31_557_600
"""Seconds for which a token of the cloud is valid since about September 2025."""

_HALF = 32


class TokenError(ValueError):
    """This is not a token of this server."""


class CloudKey:
    """Signs and reads the cloud's tokens: JWT with ES256."""

    @cached_property
    def _key(self) -> ec.EllipticCurvePrivateKey:
        return ec.generate_private_key(ec.SECP256R1())

    def sign(self, payload: Json) -> str:
        """Return a token with this payload."""
        text = ".".join(
            _encode(json.dumps(part).encode()) for part in ({"alg": "ES256", "typ": "JWT"}, payload)
        )
        r, s = decode_dss_signature(self._key.sign(text.encode(), ec.ECDSA(SHA256())))
        return f"{text}.{_encode(r.to_bytes(_HALF) + s.to_bytes(_HALF))}"

    def read(self, token: str) -> Json:
        """Return the payload of a token that was signed here, whatever its age. Raises `TokenError`."""
        try:
            text, _, signature = token.rpartition(".")
            raw = _decode(signature)
            pair = encode_dss_signature(int.from_bytes(raw[:_HALF]), int.from_bytes(raw[_HALF:]))
            self._key.public_key().verify(pair, text.encode(), ec.ECDSA(SHA256()))
            payload: Json = json.loads(_decode(text.split(".")[1]))
        except (ValueError, IndexError, InvalidSignature) as err:
            raise TokenError("not a token of this cloud") from err
        return payload


class EndpointKey:
    """Makes and reads the tokens of a self-hosted server: AES-ECB over the agent's id, in base64."""

    def __init__(self, text: str) -> None:
        """Take the server's key as its configuration gives it; it is padded or cut to 32 bytes."""
        self.text = text
        key = text.encode()[:32].ljust(32, b"\0")
        self._cipher = Cipher(algorithms.AES(key), modes.ECB())  # noqa: S305 - what the real server uses

    def token(self, agent: str) -> str:
        """Return the token of an agent, as it stands in an address: `+`, `/` and `=` are percent-encoded."""
        identity = agent if agent == "single_module" else md5(agent.encode()).hexdigest()  # noqa: S324
        return quote(self.encrypt(json.dumps({"agentId": identity})), safe="")

    def encrypt(self, text: str) -> str:
        """Encrypt a text."""
        padder = PKCS7(128).padder()
        encryptor = self._cipher.encryptor()
        padded = padder.update(text.encode()) + padder.finalize()
        return b64encode(encryptor.update(padded) + encryptor.finalize()).decode()

    def decrypt(self, token: str) -> str:
        """Return what a token holds, after percent-decoding. Raises `TokenError`."""
        try:
            decryptor = self._cipher.decryptor()
            padded = decryptor.update(b64decode(token, validate=True)) + decryptor.finalize()
            unpadder = PKCS7(128).unpadder()
            return (unpadder.update(padded) + unpadder.finalize()).decode()
        except ValueError as err:
            raise TokenError("not a token of this server") from err


def _encode(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
