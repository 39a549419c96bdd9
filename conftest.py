"""What pytest leaves out where PyTorch, an optional source of luck, is not installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["src/draftproof/audit/torch_luck.py"]
