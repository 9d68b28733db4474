"""Programs as Python source, as LLVM assembly and as machine code, which is cached on disk."""
