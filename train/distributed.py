"""Training in several processes that share every batch: one for each device, on one machine or on more.

The command composes its configuration, opens the run folder and collects the data. Then it starts the processes (spawn), once
for all stages, and scores after their end. Lightning's own launcher would start the whole script anew for every device: it
would compose again, open the folder again, and in a sweep run the wrong job.

On several machines the same command runs on each, with NODE_RANK, MASTER_ADDR and MASTER_PORT in its environment and a
`runs_dir` that all of them see; the machine of NODE_RANK=0 opens the folder, scores and reports.
"""

import os
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning import seed_everything
from torch import multiprocessing

from configs.stopping import memory_sentence
from envs.collect import collect
from envs.problem import Problem
from envs.workers import cores
from models.layers.sync_norm import share_statistics
from train.datamodule import EpisodeData, splits_of
from train.malloc import keep_freed_memory
from train.stages import nodes_of, on_gpu, train_stages, wandb_logger

GRACE_S = 10  # seconds between SIGTERM and SIGKILL
PATIENCE = timedelta(hours=2)  # the first machine may have data to collect while the others wait
FORWARDED = (Problem, FloatingPointError, OSError)  # errors forwarded to the parent process, which tells them in a sentence


def devices_of(cfg: DictConfig) -> int:
    """Processes on each machine; raises Problem on too many GPUs.

    auto: every GPU, or where there is none every core that we may use.
    """
    asked, present = cfg.trainer.get("devices"), torch.cuda.device_count() if on_gpu(cfg) else cores()
    if asked is not None and asked != "auto" and asked > present and on_gpu(cfg):
        raise Problem(
            f"trainer.devices={asked} asks for {asked} GPUs on each machine and {present} {'is' if present == 1 else 'are'} "
            f"visible; set trainer.devices={present} or trainer.accelerator=cpu"
        )
    return present if asked == "auto" else asked or 1


def processes_of(cfg: DictConfig) -> int:
    """Processes that share a batch, on all machines."""
    return devices_of(cfg) * nodes_of(cfg)


def node_of(cfg: DictConfig) -> int:
    """The number of this machine, from NODE_RANK; raises Problem on a missing or impossible one."""
    nodes = nodes_of(cfg)
    if nodes == 1:
        return 0
    rank = os.environ.get("NODE_RANK", "")
    if not (rank.isdigit() and int(rank) < nodes) or not {"MASTER_ADDR", "MASTER_PORT"} <= os.environ.keys():
        got = ", ".join(f"{name}={os.environ.get(name, '')}" for name in ("NODE_RANK", "MASTER_ADDR", "MASTER_PORT"))
        raise Problem(
            f"trainer.nodes={nodes} needs NODE_RANK from 0 to {nodes - 1}, and MASTER_ADDR and MASTER_PORT of the first "
            f"machine; got {got}; set them in the environment of the command"
        )
    return int(rank)


def train_together(cfg: DictConfig, folder: Path) -> None:
    """Train all stages of a run whose folder and data exist; returns when every process of this machine has ended."""
    devices, nodes = devices_of(cfg), nodes_of(cfg)
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # every process would print advice on flags of DDP
    errors = multiprocessing.get_context("spawn").SimpleQueue()
    with tempfile.TemporaryDirectory() as meeting:  # a file needs no free port
        address = f"file://{meeting}/processes"
        if nodes > 1:
            address = f"tcp://{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        try:
            about = cfg, folder, node_of(cfg), devices, nodes, address, errors
            processes = multiprocessing.spawn(_process, about, nprocs=devices, join=False)
            try:
                while not processes.join():
                    pass
            except (KeyboardInterrupt, SystemExit):
                for process in processes.processes:  # a signal to the command alone must end them too
                    process.terminate()
                end = time.monotonic() + GRACE_S  # of all together: a scheduler does not wait for one after the other
                for process in processes.processes:
                    process.join(max(0.0, end - time.monotonic()))
                    process.kill()  # SIGTERM does not reach a process that waits within a batch; files are written whole
                    process.join()
                raise
        except multiprocessing.ProcessExitedException as error:  # killed: it forwards no error
            raise Problem(f"a training process was ended from outside: {error}; the same command goes on") from error
        except multiprocessing.ProcessRaisedException:
            if errors.empty():
                raise
            raise errors.get() from None


def _process(local: int, cfg: DictConfig, folder: Path, node: int, devices: int, nodes: int, address: str, errors) -> None:
    """The whole life of one process."""
    os.environ.update(LOCAL_RANK=str(local), NODE_RANK=str(node))  # where Lightning looks
    keep_freed_memory()
    gpu = on_gpu(cfg)
    if gpu:
        torch.cuda.set_device(local)
    else:
        torch.set_num_threads(max(1, torch.get_num_threads() // devices))
    rank = node * devices + local
    try:
        dist.init_process_group("nccl" if gpu else "gloo", address, PATIENCE, devices * nodes, rank)
        world, env = instantiate(cfg.env.world), OmegaConf.to_container(cfg.env)
        seed_everything(cfg.seed, workers=False, verbose=False)  # the first weights are those of one process
        model = share_statistics(instantiate(cfg.model.module))
        train, valid, *pairs = (collect(env, world, split, cfg.data_dir, quiet=True) for split in splits_of(model, world))
        logger = wandb_logger(cfg, folder) if rank == 0 else None
        train_stages(cfg, model, EpisodeData.of(cfg, train, valid, world, *pairs, copies=devices), folder, logger)
        if logger is not None:
            logger.experiment.finish()
        dist.destroy_process_group()
    except FORWARDED as error:
        errors.put(error)
        raise
    except (MemoryError, RuntimeError) as error:
        if memory_sentence(error):
            errors.put(MemoryError(str(error)))  # torch's own may not be picklable
        raise
