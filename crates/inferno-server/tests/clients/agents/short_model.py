"""Derives a model for scripted answers from a GGUF file.

Answers are prescribed, so the model needs no quality: only its first layer is kept, which reads the agents' long prompts
quickly, and its context length is raised.
"""

import re
import struct

# Bytes of the fixed-size values of metadata, by type number.
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
UINT32, STRING, ARRAY = 4, 8, 9
ALIGNMENT = 32


class Reader:
    """Reads the header of a GGUF file."""

    def __init__(self, data):
        self.data, self.position = data, 0

    def number(self, form):
        (value,) = struct.unpack_from(form, self.data, self.position)
        self.position += struct.calcsize(form)
        return value

    def string(self):
        length = self.number("<Q")
        self.position += length
        return bytes(self.data[self.position - length:self.position])

    def skip_value(self, kind):
        if kind == STRING:
            self.string()
        elif kind == ARRAY:
            kind, count = self.number("<I"), self.number("<Q")
            for _ in range(count):
                self.skip_value(kind)
        else:
            self.position += SIZES[kind]


def short_model(data, context):
    """Returns the GGUF file `data` with one layer and the given context length."""
    data = bytearray(data)
    reader = Reader(data)
    reader.position = 8
    count_at = reader.position
    num_tensors, num_entries = reader.number("<Q"), reader.number("<Q")
    for _ in range(num_entries):
        key, kind = reader.string(), reader.number("<I")
        for name, value in ((b".context_length", context), (b".block_count", 1)):
            if key.endswith(name):
                assert kind == UINT32, f"{key} is not an unsigned 32-bit integer"
                struct.pack_into("<I", data, reader.position, value)
        reader.skip_value(kind)
    tensors = []
    header_end = reader.position
    for _ in range(num_tensors):
        start = reader.position
        name = reader.string()
        num_dimensions = reader.number("<I")
        reader.position += num_dimensions * 8 + 4 + 8
        if not re.match(rb"blk\.[1-9]", name):
            tensors.append(data[start:reader.position])
    payload = data[-(-reader.position // ALIGNMENT) * ALIGNMENT:]
    struct.pack_into("<Q", data, count_at, len(tensors))
    header = data[:header_end] + b"".join(tensors)
    return header + bytes(-len(header) % ALIGNMENT) + payload
