"""Writes the cases of one series for bench: python3 cases.py SERIES RANKS"""
import sys

K, M, G = 1 << 10, 1 << 20, 1 << 30
series, n = sys.argv[1], int(sys.argv[2])
cases = []


def case(kernel, size, replicas, threads, tile=0):
    cases.append(f"{kernel} {size} {replicas} {threads} {tile}")


def packets(kernel, sizes, part, unit, bound=1024, spread=(0.5, 1, 2)):
    """As many lanes as there are units, in few and in many replicas."""
    for size in sizes:
        lanes = max(32, size // part // 8 // unit)
        for threads in (64, 128, 256, 512, 1024):
            replicas = lanes // threads
            if threads > bound or replicas > 132 or replicas > 32 and threads < 512 and size <= 64 * K:
                continue
            if replicas == 0:
                if threads // 2 < lanes or threads == 64:
                    case(kernel, size, 1, threads)
                continue
            case(kernel, size, replicas, threads)
        if lanes > 132 * bound:
            for c in (64, 128):
                case(kernel, size, c, bound)


def push(kernel, sizes, shapes, tiles):
    for size in sizes:
        for replicas, threads in shapes:
            share = size // n // replicas
            for i, tile in enumerate(tiles):
                if i and tiles[i - 1] >= share or replicas * 2 * n * tile > G or share < 512:
                    continue
                case(kernel, size, replicas, threads, tile)


SMALL, ALL = [K, 4 * K, 16 * K, 64 * K, 256 * K, M], [K << 2 * i for i in range(11)]
if series == "first":
    case("empty", K, 1, 128), case("empty", K, 128, 1024)
    for c in ("ar", "ag", "rs", "aa"):
        for size in ALL:
            case("nccl-" + c, size, 1, 1)
    packets("ar1_u1", SMALL, 1, 1), packets("ar1_u2", SMALL[3:], 1, 2)
    packets("ar2_u1", SMALL[1:] + [4 * M], n, 1), packets("ar2_u2", SMALL[3:] + [4 * M], n, 2), packets("ar2_u4", [256 * K, M, 4 * M], n, 4, 512)
    packets("ag1_u1", SMALL, n, 1), packets("rs1_u1", SMALL, n, 1), packets("aa1_u1", SMALL, n, 1)
    push("arp_u1", [256 * K, M, 4 * M], [(32, 512), (64, 512), (64, 1024), (128, 512), (128, 1024)], [64 * K])
    push("arp_u2", [M, 4 * M], [(32, 512), (64, 512), (64, 1024), (128, 512)], [64 * K])
    shapes = [(32, 1024), (64, 512), (64, 1024), (132, 512), (132, 1024), (264, 512), (264, 1024)]
    push("arp_u2", [16 * M, 64 * M, 256 * M, G], shapes, [16 * K, 64 * K, 256 * K])
    push("arp_u4", [16 * M, 64 * M, 256 * M, G], [(64, 512), (132, 512), (132, 256), (264, 256)], [16 * K, 64 * K, 256 * K])
    push("arp_u1", [64 * M, G], [(132, 1024), (264, 1024)], [16 * K, 64 * K])
    push("rsp_u2", [M, 4 * M, 16 * M, 64 * M, 256 * M, G], [(32, 1024), (64, 1024), (132, 512), (132, 1024)], [64 * K])
    push("rsp_u4", [16 * M, 64 * M, G], [(64, 512), (132, 512)], [64 * K])
    for k in ("agp_u2", "agp_u4", "aap_u1", "aap_u2"):
        push(k, [256 * K, M, 4 * M, 16 * M, 64 * M, 256 * M, G], [(16, 1024), (32, 1024), (64, 1024), (132, 1024)], [64 * K])
    for k in ("agp_u8", "aap_u4"):
        push(k, [16 * M, 64 * M, G], [(16, 512), (32, 512), (64, 512), (132, 512)], [64 * K])
    for k in ("agb", "aab"):
        for tile in (8 * K, 16 * K, 32 * K):
            push(k, [4 * M, 16 * M, 64 * M, G], [(16, 128), (32, 128), (64, 128), (132, 128)], [tile])
if series == "interpreter":
    case("empty", K, 1, 128), case("empty_large", K, 1, 128), case("empty", K, 64, 512), case("empty_large", K, 64, 512)
    for size in (K, 16 * K, 256 * K, M, 16 * M, 64 * M, G):
        case("nccl-ar", size, 1, 1)
    for size, shapes in {K: [(1, 128), (2, 64), (4, 32)], 4 * K: [(4, 128), (8, 64)], 16 * K: [(16, 128), (32, 64), (8, 256)],
                         64 * K: [(32, 256), (16, 512)], 256 * K: [(64, 512)]}.items():
        for shape in shapes:
            for k in ("ar1_u1", "i1", "i1b"):
                case(k, size, *shape)
    for size, shapes in {K: [(1, 64)], 4 * K: [(2, 64)], 16 * K: [(8, 64)], 64 * K: [(16, 128), (32, 64)], 256 * K: [(64, 128)], M: [(128, 256)]}.items():
        for shape in shapes:
            for k in ("ag1_u1", "iag"):
                case(k, size, *shape)
    for size, shapes in {16 * K: [(8, 64), (8, 128), (8, 192)], 64 * K: [(32, 64), (32, 128), (16, 128), (16, 256)], 256 * K: [(32, 256), (64, 128), (64, 256), (64, 512)],
                         M: [(64, 512), (128, 256), (128, 512)]}.items():
        for shape in shapes:
            for k in ("ar2_u1", "i2"):
                case(k, size, *shape)
    for size, shapes in {64 * K: [(4, 128), (8, 128), (16, 128), (32, 128)], 256 * K: [(16, 128), (32, 128), (32, 256), (64, 128)],
                         M: [(32, 256), (64, 256), (64, 512), (128, 256)], 4 * M: [(128, 256), (128, 512)]}.items():
        for shape in shapes:
            case("ar3", size, *shape)
    for size, shapes, tiles in ((256 * K, [(32, 512)], [64 * K]), (M, [(32, 512), (64, 512), (64, 256)], [64 * K]), (4 * M, [(64, 512), (128, 512)], [64 * K]),
                                (16 * M, [(132, 512), (264, 256), (264, 512)], [16 * K, 64 * K]), (64 * M, [(132, 512), (264, 256), (264, 512)], [64 * K]),
                                (256 * M, [(132, 512), (264, 512)], [64 * K, 256 * K]), (G, [(132, 512), (264, 512)], [64 * K, 256 * K])):
        for shape in shapes:
            for tile in tiles:
                for k in ("arp_u1", "arp_u4", "arq_u4", "ip"):
                    if shape[0] * 2 * n * tile <= G:
                        case(k, size, *shape, tile)
    for size in (64 * M, G):
        case("aap_u2", size, 132, 1024, 64 * K), case("aaq_u4", size, 132, 1024, 64 * K), case("aaq_u4", size, 64, 1024, 64 * K)
if series == "stamps":
    for k, size, shape in (("i1", K, (1, 128)), ("i1", K, (2, 64)), ("i1", 64 * K, (32, 256)), ("i2", 64 * K, (32, 128)), ("i2", M, (128, 256)), ("iag", 64 * K, (16, 128))):
        case(k, size, *shape)
    case("ip", M, 64, 512, 64 * K)
print("\n".join(cases))
