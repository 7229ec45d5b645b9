"""Program -> Program: forward mode, splitting, transposition, batching.  Each transform is memoised in the program it was asked of."""
