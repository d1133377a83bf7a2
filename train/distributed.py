"""Training in several processes that share every batch: one for each device, on one machine or on more.

The command itself starts them (spawn), once for all stages, after it has composed its configuration, opened the run
folder and collected the data, and scores when they have ended. Lightning's own launcher would start the whole script
anew for every device: composing again, opening the folder again, and in a sweep the wrong job.

On several machines the same command is given on each, with NODE_RANK, MASTER_ADDR and MASTER_PORT in its environment and
a `runs_dir` that all of them see; the machine of NODE_RANK=0 opens the folder, scores and reports.
"""

import os
import tempfile
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
from models.layers.sync_norm import share_statistics
from train.datamodule import EpisodeData
from train.malloc import keep_freed_memory
from train.stages import train_stages, wandb_logger

GRACE_S = 10  # that a process has to end when it is told to
PATIENCE = timedelta(hours=2)  # the first machine may have data to collect while the others wait
TOLD = (Problem, FloatingPointError, OSError)  # what is one sentence in a process is one sentence of the command


def _on_gpu(cfg: DictConfig) -> bool:
    return cfg.trainer.accelerator != "cpu" and torch.cuda.is_available()


def devices_of(cfg: DictConfig) -> int:
    """Processes on each machine; more GPUs than there are is refused. auto: every GPU, or every core where there is none."""
    asked, there = cfg.trainer.get("devices"), torch.cuda.device_count() if _on_gpu(cfg) else os.cpu_count() or 1
    if asked is not None and asked != "auto" and asked > there and _on_gpu(cfg):
        raise Problem(
            f"trainer.devices={asked} asks for {asked} GPUs on each machine and {there} {'is' if there == 1 else 'are'} "
            f"visible; set trainer.devices={there} or trainer.accelerator=cpu"
        )
    return there if asked == "auto" else asked or 1


def processes_of(cfg: DictConfig) -> int:
    """Processes that share a batch, on all machines."""
    return devices_of(cfg) * (cfg.trainer.get("nodes") or 1)


def node_of(cfg: DictConfig) -> int:
    """Which machine this is; a machine that does not know its place is told what to set."""
    nodes = cfg.trainer.get("nodes") or 1
    if nodes == 1:
        return 0
    place = os.environ.get("NODE_RANK", "")
    if not (place.isdigit() and int(place) < nodes) or not {"MASTER_ADDR", "MASTER_PORT"} <= os.environ.keys():
        got = ", ".join(f"{name}={os.environ.get(name, '')}" for name in ("NODE_RANK", "MASTER_ADDR", "MASTER_PORT"))
        raise Problem(
            f"trainer.nodes={nodes} needs NODE_RANK from 0 to {nodes - 1}, and MASTER_ADDR and MASTER_PORT of the first "
            f"machine; got {got}; set them in the environment of the command"
        )
    return int(place)


def train_together(cfg: DictConfig, folder: Path) -> None:
    """Train all stages of a run whose folder and data are there; returns when every process of this machine has ended."""
    devices, nodes = devices_of(cfg), cfg.trainer.get("nodes") or 1
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # every process would advise on flags of DDP
    told = multiprocessing.get_context("spawn").SimpleQueue()
    with tempfile.TemporaryDirectory() as meeting:  # a file needs no free port
        place = f"file://{meeting}/processes"
        if nodes > 1:
            place = f"tcp://{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        try:
            about = cfg, folder, node_of(cfg), devices, nodes, place, told
            processes = multiprocessing.spawn(_process, about, nprocs=devices, join=False)
            try:
                while not processes.join():
                    pass
            except (KeyboardInterrupt, SystemExit):
                for process in processes.processes:  # told alone, the command must not leave them training
                    process.terminate()
                for process in processes.processes:
                    process.join(GRACE_S)
                    process.kill()  # one that waits for the others within a batch hears nothing; no file is ever half-written
                    process.join()
                raise
        except multiprocessing.ProcessExitedException as error:  # killed: it could say nothing
            raise Problem(f"a training process was ended from outside: {error}; the same command goes on") from error
        except multiprocessing.ProcessRaisedException:
            if told.empty():
                raise
            raise told.get() from None


def _process(local: int, cfg: DictConfig, folder: Path, node: int, devices: int, nodes: int, place: str, told) -> None:
    """One process, from its start to its end."""
    os.environ.update(LOCAL_RANK=str(local), NODE_RANK=str(node))  # where Lightning looks
    keep_freed_memory()
    gpu = _on_gpu(cfg)
    if gpu:
        torch.cuda.set_device(local)
    else:
        torch.set_num_threads(max(1, torch.get_num_threads() // devices))
    rank = node * devices + local
    try:
        dist.init_process_group("nccl" if gpu else "gloo", place, PATIENCE, devices * nodes, rank)
        world, env = instantiate(cfg.env.world), OmegaConf.to_container(cfg.env)
        files = [collect(env, world, split, cfg.data_dir, quiet=True) for split in ("train", "valid")]
        seed_everything(cfg.seed, workers=False, verbose=False)  # the first weights are those of one process
        model = share_statistics(instantiate(cfg.model.module))
        logger = wandb_logger(cfg, folder) if rank == 0 else None
        train_stages(cfg, model, EpisodeData.of(cfg, *files, world), folder, logger)
        if logger is not None:
            logger.experiment.finish()
        dist.destroy_process_group()
    except TOLD as error:
        told.put(error)
        raise
    except (MemoryError, RuntimeError) as error:
        if memory_sentence(error):
            told.put(MemoryError(str(error)))  # torch's own may not survive the way to the command
        raise
