"""Has a rank fail under load, and checks that all ranks end soon and name it: python3 faults.py --ranks 4

It starts the ranks itself, since torchrun ends all ranks as soon as one has ended. Nothing in it knows of mscclc, but
for the texts that it looks for: --say nothing runs it with plain NCCL, which names no rank.
"""
import argparse
import faulthandler
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

FAULTS = ["abort", "mismatch", "full", "kill"]
GROUPS, FEW, MANY = 5, 1000, 1 << 20
SLACK = 10  # seconds between the stacks of a rank that hangs and its end


def joined(args, port):
    """Makes the process group, and more of all ranks."""
    import torch
    import torch.distributed as dist

    device = torch.device("cuda", args.rank)
    torch.cuda.set_device(device)
    where = f"tcp://127.0.0.1:{port}"
    dist.init_process_group("nccl", init_method=where, rank=args.rank, world_size=args.ranks, device_id=device)
    return device, [dist.new_group() for _ in range(GROUPS)]


def load(groups, device, calls):
    """Starts calls on all groups beside compute, and waits for none."""
    import torch
    import torch.distributed as dist

    a = torch.randn(2048, 2048, device=device)
    for n in range(calls):
        torch.mm(a, a)
        dist.all_reduce(torch.ones(FEW << n % 8, device=device), group=groups[n % len(groups)], async_op=True)


def abort(args, filler):
    """Ends all communicators, with a thread that starts calls, and looks whether new ones work."""
    import torch
    import torch.distributed as dist

    begun = time.perf_counter()
    dist.distributed_c10d._abort_process_group()
    print(f"rank {args.rank}: all communicators were aborted", flush=True)
    if filler:
        filler.join()
    torch.cuda.synchronize()
    print(f"rank {args.rank}: the abort took {time.perf_counter() - begun:.2f} s", flush=True)
    device, groups = joined(args, args.port + 1)
    one = torch.ones(FEW, device=device)
    dist.all_reduce(one, group=groups[0])
    if not bool((one == args.ranks).all()):
        raise SystemExit(f"rank {args.rank}: a new communicator gives wrong sums")
    print(f"rank {args.rank}: well again", flush=True)
    dist.destroy_process_group()


def fill(groups, device):
    """Starts calls until the queues of the GPU are full. Another thread aborts meanwhile, after which calls fail."""
    import torch

    begun = time.perf_counter()
    calls = [0]

    def starts():
        torch.cuda.set_device(device)
        try:
            while time.perf_counter() - begun < 3:
                load(groups, device, 10)
                calls[0] += 10
        except Exception as e:  # of PyTorch, for a communicator that was aborted
            print(f"calls fail: {str(e).splitlines()[0][:80]}", flush=True)

    thread = threading.Thread(target=starts)
    thread.start()
    time.sleep(4)
    print(f"{calls[0]} calls, {'the queue is full' if thread.is_alive() else 'all were taken'}", flush=True)
    return thread


def run(args):
    """Is one rank. The last one fails."""
    import torch
    import torch.distributed as dist

    faulthandler.dump_traceback_later(args.seconds - SLACK)
    device, groups = joined(args, args.port)
    fails = args.rank == args.ranks - 1
    load(groups, device, 100)
    torch.cuda.synchronize()
    dist.barrier()
    if args.fault == "kill":
        load(groups, device, 50)
        if fails:
            os.kill(os.getpid(), signal.SIGKILL)
        while True:  # until the library or PyTorch's watchdog ends this process
            load(groups, device, 10)
            time.sleep(0.1)
    if args.fault == "abort" and not fails:
        load(groups, device, 40)
    filler = fill(groups, device) if args.fault == "full" and not fails else None
    if args.fault == "mismatch":
        dist.all_reduce(torch.ones(MANY if fails else FEW, device=device), group=groups[2], async_op=True)
        load(groups, device, 20)
    time.sleep(3)
    abort(args, filler)


def start(args, fault):
    """Runs all ranks, and says whether they end as they must."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    begun, outputs, ranks = time.perf_counter(), [], []
    for r in range(args.ranks):
        outputs.append(tempfile.TemporaryFile("w+"))
        command = [sys.executable, __file__, "--ranks", str(args.ranks), "--rank", str(r), "--port", str(port),
                   "--seconds", str(args.seconds), fault]
        ranks.append(subprocess.Popen(command, stdout=outputs[-1], stderr=subprocess.STDOUT))
    late = []
    for r, process in enumerate(ranks):
        try:
            process.wait(max(0.1, begun + args.seconds - time.perf_counter()))
        except subprocess.TimeoutExpired:
            late.append(r)
            process.kill()
    seconds, texts, codes = time.perf_counter() - begun, [], [p.wait() for p in ranks]
    for output in outputs:
        output.seek(0)
        texts.append(output.read())
    last = args.ranks - 1
    says = {"kill": f"the process of rank {last} ", "mismatch": f"rank {last} called nccl",
            "abort": f"rank {last} has made", "full": f"rank {last} has made"}
    right = not late and (args.say == "nothing" or any(says[fault] in t for t in texts[:last]))
    right &= all(c != 0 for c in codes) if fault == "kill" else all(c == 0 for c in codes)
    named = [line for t in texts for line in t.splitlines() if says[fault] in line]
    verdict, more = "right" if right else "WRONG", f", these did not end: {late}" if late else ""
    print(f"faults: {fault}: {verdict}: {args.ranks} ranks ended after {seconds:.1f} s with {codes}{more}\n"
          f"  {named[0][:300] if named else 'no rank is named'}", flush=True)
    if not right or args.verbose:
        print("\n".join(f"--- rank {r}\n{t}" for r, t in enumerate(texts)), flush=True)
    return right


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("faults", nargs="*", default=FAULTS, help=" ".join(FAULTS))
    ask.add_argument("--ranks", type=int, default=4)
    ask.add_argument("--seconds", type=float, default=60, help="that a fault may take; stacks are printed before")
    ask.add_argument("--say", choices=["rank", "nothing"], default="rank", help="what messages must name")
    ask.add_argument("--verbose", action="store_true")
    ask.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    ask.add_argument("--port", type=int, help=argparse.SUPPRESS)
    args = ask.parse_args()
    if unknown := set(args.faults) - set(FAULTS):
        ask.error(f"there is no fault {unknown.pop()}: {', '.join(FAULTS)}")
    if args.rank is not None:
        args.fault = args.faults[0]
        return run(args)
    raise SystemExit(0 if all([start(args, fault) for fault in args.faults]) else 1)


if __name__ == "__main__":
    main()
