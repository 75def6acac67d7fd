"""KDD Cup 1999, connections to a network: what its codebook says of the columns, and not the data."""

from typing import Any

# Bounds of counts are those of their counters; of times and bytes, a day and 31 bits.
NUMBERS: dict[str, tuple[int, int]] = {
    "duration": (0, 86_400), "src_bytes": (0, 2**31 - 1), "dst_bytes": (0, 2**31 - 1), "land": (0, 1),
    "wrong_fragment": (0, 3), "urgent": (0, 14), "hot": (0, 101), "num_failed_logins": (0, 5), "logged_in": (0, 1),
    "num_compromised": (0, 10_000), "root_shell": (0, 1), "su_attempted": (0, 2), "num_root": (0, 10_000),
    "num_file_creations": (0, 100), "num_shells": (0, 5), "num_access_files": (0, 10), "num_outbound_cmds": (0, 1),
    "is_host_login": (0, 1), "is_guest_login": (0, 1), "count": (0, 511), "srv_count": (0, 511),
    "serror_rate": (0, 1), "srv_serror_rate": (0, 1), "rerror_rate": (0, 1), "srv_rerror_rate": (0, 1),
    "same_srv_rate": (0, 1), "diff_srv_rate": (0, 1), "srv_diff_host_rate": (0, 1), "dst_host_count": (0, 255),
    "dst_host_srv_count": (0, 255), "dst_host_same_srv_rate": (0, 1), "dst_host_diff_srv_rate": (0, 1),
    "dst_host_same_src_port_rate": (0, 1), "dst_host_srv_diff_host_rate": (0, 1), "dst_host_serror_rate": (0, 1),
    "dst_host_srv_serror_rate": (0, 1), "dst_host_rerror_rate": (0, 1), "dst_host_srv_rerror_rate": (0, 1),
}  # fmt: skip
LONG_TAILS = ("duration", "src_bytes", "dst_bytes", "num_compromised", "num_root")
# Without the service, whose levels no codebook lists.
LEVELS: dict[str, list[str]] = {
    "protocol_type": ["icmp", "tcp", "udp"],
    "flag": ["OTH", "REJ", "RSTO", "RSTOS0", "RSTR", "S0", "S1", "S2", "S3", "SF", "SH"],
}
# The labels that are a denial of service.
DENIAL = ["back", "land", "neptune", "pod", "smurf", "teardrop"]


def bounds() -> dict[str, Any]:
    """Bounds and levels, in the order of the file."""
    numbers: dict[str, Any] = {
        name: {"lower": low, "upper": high, "transform": "log1p" if name in LONG_TAILS else "clip"}
        for name, (low, high) in NUMBERS.items()
    }
    first = {"duration": numbers.pop("duration")}
    return first | {name: {"levels": levels} for name, levels in LEVELS.items()} | numbers
