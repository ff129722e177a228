"""A certificate authority of a test's own, by the openssl program."""

import subprocess


def _openssl(*args):
    done = subprocess.run(["/usr/bin/openssl", *map(str, args)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class Authority:
    """`directory` must exist; `.root` is its certificate, issue() gives (certificate, key)."""

    def __init__(self, directory, name="ca"):
        self._directory = directory
        self.root, self._key = directory / f"{name}.crt", directory / f"{name}.key"
        _openssl(
            *("req", "-new", "-x509", "-nodes", "-newkey", "rsa:2048", "-days", 2),
            *("-subj", f"/CN={name}", "-keyout", self._key, "-out", self.root),
        )

    def issue(self, name):
        paths = [self._directory / f"{name}.{ending}" for ending in ("crt", "key", "csr", "ext")]
        certificate, key, request, extensions = paths
        extensions.write_text(f"subjectAltName=DNS:{name}\n")
        _openssl(
            *("req", "-new", "-nodes", "-newkey", "rsa:2048", "-subj", f"/CN={name}"),
            *("-keyout", key, "-out", request),
        )
        _openssl(
            *("x509", "-req", "-in", request, "-CA", self.root, "-CAkey", self._key),
            *("-CAcreateserial", "-days", 2, "-extfile", extensions, "-out", certificate),
        )
        key.chmod(0o600)
        return certificate, key
