"""Takes files out of a wheel: python3 -I -c SCRIPT WHEEL SHA256 DIRECTORY FILE...

Each FILE is a path in the wheel; it is written under its last component. The wheel must have the SHA-256 told, so that nothing
else is ever unpacked. Errors are one line on standard error and exit status 1.
"""

import hashlib
import pathlib
import shutil
import sys
import zipfile


def digest(path):
    checksum = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            checksum.update(block)
    return checksum.hexdigest()


def unpack(wheel, sha256, directory, names):
    found = digest(wheel)
    if found != sha256:
        sys.exit(f"{wheel} is not the expected wheel: its SHA-256 is {found} instead of {sha256}")
    with zipfile.ZipFile(wheel) as archive:
        for name in names:
            # Only the last component: where a file goes is never the archive's choice.
            target = pathlib.Path(directory) / pathlib.PurePosixPath(name).name
            with archive.open(name) as source, open(target, "xb") as file:
                shutil.copyfileobj(source, file, 1 << 20)


try:
    unpack(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
except KeyError as error:
    sys.exit(f"{sys.argv[1]}: {error.args[0]}")
except (OSError, zipfile.BadZipFile, RuntimeError) as error:
    sys.exit(f"{sys.argv[1]} cannot be unpacked: {error}")
