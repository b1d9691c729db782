"""TLS with certificates of a certificate authority of its own."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
import ssl
from tempfile import TemporaryDirectory

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


class Certificates:
    """A certificate authority, and a server's certificate for one name."""

    def __init__(self, name: str) -> None:
        """Make certificates for a host name or an IP address, which need not be the server's."""
        authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        authority = _certificate("Access point tests", authority_key, "Access point tests", authority_key)
        try:
            subject: x509.GeneralName = x509.IPAddress(ip_address(name))
        except ValueError:
            subject = x509.DNSName(name)
        certificate = _certificate("Access point tests", authority_key, name, key, subject)
        self.authority_pem = authority.public_bytes(Encoding.PEM).decode()
        """The authority's certificate, which a client can be told to trust."""
        self.server_pem = key.private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        ) + certificate.public_bytes(Encoding.PEM)
        """The server's key and certificate."""
        self.server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "server.pem"
            path.write_bytes(self.server_pem)
            self.server_context.load_cert_chain(path)

    def client_context(self) -> ssl.SSLContext:
        """Return the context of a client that trusts this authority only."""
        return ssl.create_default_context(cadata=self.authority_pem)


def _certificate(
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    name: str,
    key: ec.EllipticCurvePrivateKey,
    subject: x509.GeneralName | None = None,
) -> x509.Certificate:
    now = datetime.now(UTC)
    public = key.public_key()
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(_name(issuer))
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=400))
        .not_valid_after(now + timedelta(days=400))
        .add_extension(x509.BasicConstraints(ca=subject is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False
        )
    )
    if subject is None:
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        builder = builder.add_extension(usage, critical=True)
    else:
        builder = builder.add_extension(x509.SubjectAlternativeName([subject]), critical=False)
    return builder.sign(issuer_key, SHA256())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
