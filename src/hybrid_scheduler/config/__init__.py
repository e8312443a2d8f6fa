"""`config.yaml` and the environment: the defaults of every command (SPEC section 8).

The command line beats the environment (and `.env`), which beats the file. Whatever is wrong in a file is an error of
one line with the file, the key, the value and the rule; nothing wrong silently becomes a default.
"""

from hybrid_scheduler.config.files import DEFAULT_FILE, load_cluster, load_cluster_section, load_config
from hybrid_scheduler.config.sections import LARGEST_SEED, ClusterFile, Config

__all__ = [
    "DEFAULT_FILE",
    "LARGEST_SEED",
    "ClusterFile",
    "Config",
    "load_cluster",
    "load_cluster_section",
    "load_config",
]
