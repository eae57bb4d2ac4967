"""Files of configuration for tests."""

import json
import os
from tempfile import mkdtemp

SECRET = "s3cr3t-v4lu3"
ENVIRON = {
    "TOKEN": SECRET,
    "EMPTY": "",
    "LINES": f"{SECRET}\n",
    "NUL": f"{SECRET}\0",
    "DOLLAR": "${TOKEN}",
    "BYTES": "\udcff" * 40,
}

GOOD = """{
  "$schema": "https://louver.dev/schemas/config.schema.json",
  "mcpServers": {
    "memory": {
      "command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"],
      "env": {"MEMORY": "${EMPTY:-memory}.json"}, "cwd": "data"
    },
    "off": {"command": "${NOT_SET}", "disabled": true},
    "tracker": {
      "type": "http", "url": "http://127.0.0.1:9000/mcp",
      "headers": {"Authorization": "Bearer ${TOKEN}"},
      "louver": {
        "views": "views", "schemas": "schemas", "isolation": "session",
        "onChange": "block", "timeoutSeconds": 2.5
      }
    }
  },
  "louver": {"argument": "all", "listing": "omit"}
}"""


def write(folder, content, stamp=1):
    """A file with an explicit time, so that a change is one without waiting."""
    path = folder / "mcp.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    os.utime(path, ns=(stamp, stamp))
    return path


def mount(folder, **files):
    """Files as Kubernetes mounts a Secret: links through `..data`, which is replaced when they change."""
    folder.mkdir(exist_ok=True)
    version = mkdtemp(prefix="..2026_", dir=folder)
    for name, content in files.items():
        with open(os.path.join(version, name), "w", encoding="utf-8") as file:
            file.write(content)
    (folder / "..data_tmp").symlink_to(os.path.basename(version))
    os.replace(folder / "..data_tmp", folder / "..data")
    for name in files:
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")


def of(**servers):
    return json.dumps({"mcpServers": servers})
