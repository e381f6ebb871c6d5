// Where a sequence of a batch has its rows and its state. The kernel declares the buffer `batch`.
struct SequenceState {
    first_row: u32,
    num_rows: u32,
    // Whether the first row is the first position, which has no state.
    is_new: bool,
    slot: u32,
    // Number of rows that the checkpoint includes; 0 without one.
    checkpoint_rows: u32,
    checkpoint_slot: u32,
}

// The first index of each array.
struct BatchArrays {
    positions: u32,
    first_rows: u32,
    states: u32,
    padding: u32,
}

fn sequence_state(arrays: BatchArrays, sequence: u32) -> SequenceState {
    var result: SequenceState;
    result.first_row = batch[arrays.first_rows + sequence];
    result.num_rows = batch[arrays.first_rows + sequence + 1u] - result.first_row;
    result.is_new = batch[arrays.positions + result.first_row] == 0u;
    let values = arrays.states + 3u * sequence;
    result.slot = batch[values];
    result.checkpoint_rows = batch[values + 1u];
    result.checkpoint_slot = batch[values + 2u];
    return result;
}

