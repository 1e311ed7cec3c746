"""Checks JAX's collectives on all GPUs of this process: python3 collectives.py

psum, all_gather and all_to_all are compared with numpy. Nothing in it knows of mscclc.
"""
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P


def main():
    gpus = np.array(jax.devices())
    n = len(gpus)
    mesh = Mesh(gpus, ("ranks",))

    def over(function, out):
        return jax.jit(jax.shard_map(function, mesh=mesh, in_specs=P("ranks"), out_specs=out, check_vma=False))

    wrong = 0
    for elements in (n, 1000 * n, 1 << 20):
        each = elements // n * n
        x = np.random.default_rng(0).integers(-9, 9, (n, each)).astype(np.float32)
        total = over(lambda v: jax.lax.psum(v, "ranks"), P("ranks"))(jnp.asarray(x))
        wrong += int((np.asarray(total) != x.sum(0)).sum())
        whole = over(lambda v: jax.lax.all_gather(v[0], "ranks")[None], P("ranks"))(jnp.asarray(x))
        wrong += int((np.asarray(whole) != x[None]).sum())
        turned = over(lambda v: jax.lax.all_to_all(v.reshape(n, -1), "ranks", 0, 0, tiled=True).reshape(1, -1),
                      P("ranks"))(jnp.asarray(x))
        want = x.reshape(n, n, -1).transpose(1, 0, 2).reshape(n, -1)
        wrong += int((np.asarray(turned) != want).sum())
    print(f"jax {jax.__version__}: {n} GPUs, psum, all_gather and all_to_all: {wrong} wrong elements")
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
