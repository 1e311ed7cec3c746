"""Runs a Llama of Transformers with tensor parallelism: torchrun --nproc-per-node N transformers_tp.py

The model is small, with random weights that each rank writes to a folder of its own, so that nothing is downloaded. It
is loaded with tp_plan="auto". The logits are compared with those of the model on one GPU, and a token is timed. Nothing
in it knows of mscclc.
"""
import os
import statistics
import tempfile
import time

import torch
import torch.distributed as dist
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM


def times_of(model, tokens, count=40):
    """The median time of a forward call in ms."""
    times = []
    for _ in range(count):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        with torch.no_grad():
            logits = model(tokens).logits
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begun)
    return logits, statistics.median(times[5:]) * 1e3


def main():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=4096, hidden_size=1024, intermediate_size=4096, num_hidden_layers=8,
                         num_attention_heads=16, num_key_value_heads=16, max_position_embeddings=512)
    whole = LlamaForCausalLM(config).to(device, torch.bfloat16).eval()
    with tempfile.TemporaryDirectory() as folder:
        whole.save_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(folder, tp_plan="auto", dtype=torch.bfloat16).eval()
    tokens = torch.randint(config.vocab_size, (4, 128), device=device, generator=torch.Generator(device).manual_seed(1))
    want, _ = times_of(whole, tokens, 6)
    got, each = times_of(model, tokens)
    far = ((got.float() - want.float()).norm() / want.float().norm()).item()
    first = got.clone()
    dist.broadcast(first, 0)
    alike = torch.equal(first, got)
    if dist.get_rank() == 0:
        print(f"transformers tp_plan=auto: forward {each:.2f} ms, logits differ by {far:.1e} from one GPU, "
              f"{'alike' if alike else 'DIFFERENT'} on {dist.get_world_size()} ranks", flush=True)
    dist.destroy_process_group()
    if not alike or not far < 5e-2:
        raise SystemExit("the logits are wrong")


if __name__ == "__main__":
    main()
