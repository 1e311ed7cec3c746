"""Trains the small transformer with Lightning: torchrun --nproc-per-node N lightning_fit.py --strategy ddp|fsdp

It prints the median time of a step, the loss, and whether the replicated parameters have the same bits on all ranks.
Nothing in it knows of mscclc.
"""
import argparse
import logging
import statistics
import time
import warnings

import lightning
import torch
import torch.nn.functional as F

from model import Tokens, Transformer, digest, same_everywhere


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.model = Transformer(layers=4)
        self.times, self.begun, self.loss = [], 0.0, None

    def on_train_batch_start(self, batch, index):
        torch.cuda.synchronize()
        self.begun = time.perf_counter()

    def on_train_batch_end(self, outputs, batch, index):
        torch.cuda.synchronize()
        self.times.append(time.perf_counter() - self.begun)

    def training_step(self, tokens, index):
        self.loss = F.cross_entropy(self.model(tokens[:, :-1]).float().flatten(0, 1), tokens[:, 1:].flatten())
        return self.loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-4)


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("--strategy", choices=["ddp", "fsdp"], default="ddp")
    ask.add_argument("--steps", type=int, default=60)
    ask.add_argument("--batch", type=int, default=16)
    args = ask.parse_args()
    warnings.filterwarnings("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    trainer = lightning.Trainer(accelerator="gpu", devices="auto", strategy=args.strategy, max_steps=args.steps,
                                precision="bf16-mixed", logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False)
    data = torch.utils.data.DataLoader(Tokens(4 * args.steps * args.batch, 512), batch_size=args.batch)
    module = Model()
    trainer.fit(module, data)
    same = args.strategy == "fsdp" or same_everywhere(digest(module.parameters()))
    loss = module.loss.detach().float()
    torch.distributed.all_reduce(loss, op=torch.distributed.ReduceOp.AVG)
    if trainer.is_global_zero:
        print(f"lightning {args.strategy}: step {statistics.median(module.times[10:]) * 1e3:.2f} ms, "
              f"loss {loss.item():.4f}, parameters {'alike' if same else 'DIFFERENT'}", flush=True)
    torch.distributed.destroy_process_group()
    if not same:
        raise SystemExit("ranks ended with different parameters")


if __name__ == "__main__":
    main()
