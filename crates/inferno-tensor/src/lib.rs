//! Shapes, strided tensors and views, and the block formats that weights are stored in.
