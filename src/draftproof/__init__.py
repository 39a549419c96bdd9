"""draftproof: speculative decoding you can check."""
