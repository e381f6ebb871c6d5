#!/usr/bin/env python3
"""Measure llama.cpp, and print the compared fields of `inferno bench -o json`.

    peer_llama_cpp.py MODEL.gguf [-p 512] [-n 64] [-d 0] [--batch 16] [--threads 2] [-r 2]

Requires llama-cpp-python. The model is loaded and warmed up before. Settings are llama.cpp's defaults otherwise: the KV cache is
float16, and a pass has up to 512 tokens.
"""
import argparse
import json
import os
import random
import sys
import time

import workload

PEER_UBATCH = 512
WARM_UP_TOKENS = 32
FLOAT16 = 1  # GGML_TYPE_F16


class Peer:
    """llama.cpp on the CPU, through its C API."""

    def __init__(self, model, context_tokens, threads, sequences):
        import llama_cpp

        self.api = llama_cpp
        self.log = llama_cpp.llama_log_callback(lambda level, text, data: None)
        llama_cpp.llama_log_set(self.log, None)
        llama_cpp.llama_backend_init()
        self.model = llama_cpp.llama_model_load_from_file(
            os.fsencode(model), llama_cpp.llama_model_default_params())
        if not self.model:
            sys.exit(f"llama.cpp cannot load {model}")
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = context_tokens
        params.n_batch = max(PEER_UBATCH, sequences)
        params.n_ubatch = PEER_UBATCH
        params.n_seq_max = sequences
        params.n_threads = params.n_threads_batch = threads
        params.type_k = params.type_v = FLOAT16
        self.context = llama_cpp.llama_init_from_model(self.model, params)
        if not self.context:
            sys.exit("llama.cpp failed to create a context")
        self.vocab_size = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))
        self.batch = llama_cpp.llama_batch_init(params.n_batch, 0, 1)
        self.random = random.Random(0)

    def run(self, rows):
        """Run one pass over rows of (position, sequence, whether logits are needed) with random tokens."""
        batch = self.batch
        batch.n_tokens = len(rows)
        for index, (position, sequence, wants_logits) in enumerate(rows):
            batch.token[index] = self.random.randrange(self.vocab_size)
            batch.pos[index] = position
            batch.n_seq_id[index] = 1
            batch.seq_id[index][0] = sequence
            batch.logits[index] = wants_logits
        status = self.api.llama_decode(self.context, batch)
        if status != 0:
            sys.exit(f"llama.cpp failed with status {status}")
        self.api.llama_synchronize(self.context)

    def prefill(self, tokens, sequence=0):
        """Process a prompt of `tokens` tokens."""
        for start in range(0, tokens, PEER_UBATCH):
            end = min(tokens, start + PEER_UBATCH)
            self.run([(position, sequence, position == tokens - 1) for position in range(start, end)])

    def truncate(self, start=0):
        """Remove everything from position `start` on from every sequence."""
        memory = self.api.llama_get_memory(self.context)
        if start == 0:
            self.api.llama_memory_clear(memory, True)
        elif not self.api.llama_memory_seq_rm(memory, -1, start, -1):
            sys.exit("llama.cpp failed to truncate its cache")

    def prefill_rate(self, tokens):
        self.truncate()
        started = time.perf_counter()
        self.prefill(tokens)
        return tokens / (time.perf_counter() - started)

    def decode_rates(self, steps, depth, sequences, repetitions):
        self.truncate()
        for sequence in range(sequences):
            self.prefill(depth, sequence)
        for _ in range(repetitions):
            self.truncate(depth)
            started = time.perf_counter()
            for step in range(steps):
                self.run([(depth + step, sequence, True) for sequence in range(sequences)])
            yield sequences * steps / (time.perf_counter() - started)


def measure(args):
    batches = workload.batch_sizes(args)
    sequence_tokens = args.depth + args.decode_tokens
    # The context is divided among the sequences, and llama.cpp pads the cache of each.
    context_tokens = max([1, *batches]) * (max(args.prompt_tokens, sequence_tokens) + 64)
    peer = Peer(args.model, context_tokens, args.threads, max([1, *batches]))
    peer.prefill(WARM_UP_TOKENS)
    return workload.report(
        args,
        f"llama-cpp-python {peer.api.__version__}",
        lambda: peer.prefill_rate(args.prompt_tokens),
        lambda sequences: peer.decode_rates(args.decode_tokens, args.depth, sequences, args.repetitions),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    workload.add_arguments(parser)
    print(json.dumps(measure(parser.parse_args())))
