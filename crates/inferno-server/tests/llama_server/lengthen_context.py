"""Copies a Llama model with a context length of 8192 tokens, whatever it was trained with.

Usage: lengthen_context.py INPUT OUTPUT
"""

import struct
import sys
from pathlib import Path

KEY = b"llama.context_length"
UINT32 = 4


def main():
    source, copy = map(Path, sys.argv[1:])
    data = bytearray(source.read_bytes())
    place = data.index(struct.pack("<Q", len(KEY)) + KEY) + 8 + len(KEY)
    (kind,) = struct.unpack_from("<I", data, place)
    assert kind == UINT32, f"the context length is of type {kind}"
    struct.pack_into("<I", data, place + 4, 8192)
    copy.write_bytes(data)


main()
