// The speed of llama.cpp's llama_decode on a GPU, to compare with `inferno bench`: a prompt, then single tokens of 1, 16
// and 64 sequences, three runs of each. All layers are on the GPU, logits of the last tokens are computed, and nothing is sampled.
//
//     cc -O2 llama_decode.c -I llama.cpp/include -I llama.cpp/ggml/include -lllama -lggml -lggml-base -o llama_decode
//     llama_decode MODEL.gguf PROMPT_TOKENS DECODE_TOKENS
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ggml-backend.h"
#include "llama.h"

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static void set(struct llama_batch *batch, int at, int token, int position, int sequence, int has_logits) {
    batch->token[at] = token;
    batch->pos[at] = position;
    batch->n_seq_id[at] = 1;
    batch->seq_id[at][0] = sequence;
    batch->logits[at] = has_logits;
}

int main(int count, char **arguments) {
    if (count != 4) return 1;
    int prompt_tokens = atoi(arguments[2]), decode_tokens = atoi(arguments[3]);
    ggml_backend_load_all();
    llama_backend_init();
    struct llama_model_params model_params = llama_model_default_params();
    model_params.n_gpu_layers = 999;
    struct llama_model *model = llama_model_load_from_file(arguments[1], model_params);
    if (!model) return 1;
    int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
    for (int sequences = 1; sequences <= 64; sequences *= sequences == 1 ? 16 : 4) {
        struct llama_context_params params = llama_context_default_params();
        params.n_ctx = sequences == 1 ? prompt_tokens + 64 : sequences * (decode_tokens + 64);
        params.n_batch = params.n_ubatch = prompt_tokens > 64 ? prompt_tokens : 64;
        params.n_seq_max = sequences;
        struct llama_context *context = llama_init_from_model(model, params);
        if (!context) return 1;
        struct llama_batch batch = llama_batch_init(params.n_batch, 0, 1);
        for (int run = 0; run < 3 && sequences == 1; run++) {
            llama_memory_clear(llama_get_memory(context), true);
            batch.n_tokens = prompt_tokens;
            for (int i = 0; i < prompt_tokens; i++) {
                set(&batch, i, (i * 7919 + run) % vocabulary, i, 0, i == prompt_tokens - 1);
            }
            double started = seconds();
            if (llama_decode(context, batch)) return 1;
            llama_synchronize(context);
            printf("prefill %d: %.1f tokens/s\n", prompt_tokens, prompt_tokens / (seconds() - started));
        }
        for (int run = 0; run < 3; run++) {
            llama_memory_clear(llama_get_memory(context), true);
            batch.n_tokens = sequences;
            double started = seconds();
            for (int step = 0; step < decode_tokens; step++) {
                for (int i = 0; i < sequences; i++) {
                    set(&batch, i, (step * 31 + i * 17 + run) % vocabulary, step, i, 1);
                }
                if (llama_decode(context, batch)) return 1;
                llama_synchronize(context);
            }
            double rate = decode_tokens * sequences / (seconds() - started);
            printf("decode %d x %d: %.1f tokens/s\n", sequences, decode_tokens, rate);
        }
        llama_batch_free(batch);
        llama_free(context);
    }
    return 0;
}
