"""/sys of machines with known processors."""


def write(root, files):
    """Write files below a folder, texts with a line end, and return the folder."""
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else f"{text}\n".encode())
    return root


def two_sockets_in(folder):
    """Return /sys of two sockets, each a NUMA node of two cores with two threads: CPUs 0 to 3 and their twins 4 to 7.

    Each socket has a last-level cache of 32 MiB, and each core one of 1 MiB.
    """
    cpu = "devices/system/cpu/cpu{}/"
    files = {f"devices/system/node/node{node}/cpulist": cpus for node, cpus in enumerate(("0-1,4-5", "2-3,6-7"))}
    for number in range(8):
        twins, socket = f"{number % 4},{number % 4 + 4}", "0-1,4-5" if number % 4 < 2 else "2-3,6-7"
        described = {
            "topology/thread_siblings_list": twins,
            "topology/physical_package_id": number % 4 // 2,
            "cpufreq/scaling_governor": "powersave",
            "cpufreq/scaling_cur_freq": 1000000 + 100000 * number,
            "cache/index0/level": 1,
            "cache/index0/size": "32K",
            "cache/index0/shared_cpu_list": twins,
            "cache/index2/level": 2,
            "cache/index2/size": "1M",
            "cache/index2/shared_cpu_list": twins,
            "cache/index3/level": 3,
            "cache/index3/size": "32768K",
            "cache/index3/shared_cpu_list": socket,
        }
        files |= {cpu.format(number) + name: text for name, text in described.items()}
    files["kernel/mm/transparent_hugepage/enabled"] = "always [madvise] never"
    return write(folder / "sys", files)
