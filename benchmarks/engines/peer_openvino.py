#!/usr/bin/env python3
"""Measure OpenVINO GenAI, and print the compared fields of `inferno bench -o json`.

    peer_openvino.py MODEL.gguf [-p 512] [-n 64] [--batch 16] [--threads 2] [-r 2] [--precision PRECISION]

Requires openvino-genai, which reads GGUF files in Q8_0, Q4_0 and Q4_K_M of some architectures. Its defaults are used, except for
PRECISION (such as f32) if it is specified: where the processor supports bf16, it multiplies in bf16. Every run has other prompts,
since it caches prefixes. Sequences begin with prompts of 8 tokens. Depths are not measured.
"""
import argparse
import json
import sys
import time

import numpy
import openvino
import openvino_genai
import workload

# Ids below the first one may be special tokens.
FIRST_TOKEN, LAST_TOKEN = 1_000, 50_000


class Peer:
    """A pipeline, which computes the prompts of one call together."""

    def __init__(self, model, threads, precision):
        properties = {"INFERENCE_PRECISION_HINT": precision} if precision else {}
        self.pipeline = openvino_genai.LLMPipeline(model, "CPU", INFERENCE_NUM_THREADS=threads, **properties)
        self.random = numpy.random.RandomState(0)

    def seconds(self, prompt_tokens, new_tokens, sequences):
        """Returns the seconds until all sequences have their tokens."""
        config = openvino_genai.GenerationConfig()
        config.max_new_tokens = config.min_new_tokens = new_tokens
        config.ignore_eos, config.do_sample = True, False
        shape = (sequences, prompt_tokens)
        ids = self.random.randint(FIRST_TOKEN, LAST_TOKEN, shape).astype(numpy.int64)
        prompts = openvino_genai.TokenizedInputs(openvino.Tensor(ids), openvino.Tensor(numpy.ones_like(ids)))
        started = time.perf_counter()
        self.pipeline.generate(prompts, config)
        return time.perf_counter() - started

    def decode_rate(self, new_tokens, sequences):
        """The rate after the first token, which a run with one token measures."""
        self.seconds(8, 2, sequences)
        first = self.seconds(8, 1, sequences)
        return sequences * (new_tokens - 1) / (self.seconds(8, new_tokens, sequences) - first)


def measure(args):
    peer = Peer(args.model, args.threads, args.precision)
    peer.seconds(32, 4, 1)
    return workload.report(
        args,
        f"OpenVINO GenAI {openvino_genai.__version__}",
        lambda: args.prompt_tokens / peer.seconds(args.prompt_tokens, 1, 1),
        lambda sequences: [peer.decode_rate(args.decode_tokens, sequences) for _ in range(args.repetitions)],
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    workload.add_arguments(parser)
    parser.add_argument("--precision", help="precision of products")
    arguments = parser.parse_args()
    if arguments.depth:
        sys.exit("depths are not measured")
    print(json.dumps(measure(arguments)))
