"""Films of closed-loop planning as GIFs: the board now, the goal, and what the model expects of the action it chose.

The distance to the goal is that of latents, so that nothing has to be fitted: an illustration, not eval/plan.py's numbers.
"""

import base64
from html import escape
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from hydra.utils import instantiate

from envs.boards import Boards
from envs.frames import frame_ids
from envs.problem import Problem
from eval.pages.overview import family
from eval.pages.strips import decodes_pictures, nearest
from eval.planning.latent_search import LatentSearch
from eval.planning.oracles import after_every_action
from eval.planning.tasks import draw_tasks, play
from eval.rollouts import actions_of, decode_frames, encode_frames
from eval.runs import load_run
from eval.terminal import Steps
from models.goal_distance import LatentDistance

EPISODES, STEPS = 100, 10  # goals tried, and random actions that made each
SCALE, BORDER, GAP, BAR = 3, 6, 12, 6  # of a film, in its pixels
PAPER, LINE, SOFT = (np.array(color, np.uint8) for color in ((251, 252, 252), (217, 223, 228), (107, 122, 135)))
RIGHT, WRONG = (np.array(color, np.uint8) for color in ((74, 155, 127), (214, 96, 63)))
STEP_MS, END_MS = 700, 2600


class Film(NamedTuple):
    """One episode of T steps.

    Frames: now (T+1, H, W, 3), expected (T, H, W, 3), goal (H, W, 3); whether the goal stands, reached (T+1,); whether the
    outcome nearest to the prediction is the one that came, right (T,).
    """

    episode: int
    now: np.ndarray
    expected: np.ndarray
    goal: np.ndarray
    reached: np.ndarray
    right: np.ndarray


class Trip(NamedTuple):
    """All episodes of a model in its world: T+1 boards, T actions (E,), chance of every step, goals."""

    boards: list[Boards]
    actions: list[np.ndarray]
    noise: list
    goal: Boards


def travel(model, world, episodes: int = EPISODES, steps: int = STEPS) -> Trip:
    """Plan greedily towards fresh goals, seeing every true frame."""
    tasks = draw_tasks(world, episodes, steps, seed=0)
    action, noise, state = zip(*play(world, tasks, LatentSearch(model, world, LatentDistance()), seed=0))
    return Trip([tasks.start, *state], list(action), list(noise), tasks.goal)


@torch.no_grad()
def film(model, world, trip: Trip, episode: int) -> Film:
    """One episode, with what the model expected: its decoded picture, or the nearest of the outcomes of all actions."""
    one = np.array([episode])
    boards, goal = [boards.take(one) for boards in trip.boards], trip.goal.take(one)
    expected, right, memory = [], [], None
    for board, action, noise in zip(boards, trip.actions, trip.noise):
        latent = encode_frames(model, world.observe(board)).to(model.device)
        predicted, memory = model.step(latent, actions_of(action[one], world.spec).to(model.device), memory)
        after = after_every_action(world, board, None if noise is None else noise[one])
        shown = world.observe(after)
        names = frame_ids(shown)
        own = names[action[one]]
        best = nearest(predicted.cpu(), encode_frames(model, shown), names, own)
        right.append(names[best[0]] == own[0])
        if decodes_pictures(model, world):
            expected.append((decode_frames(model, predicted)[0].permute(1, 2, 0) * 255).round().byte().numpy())
        else:
            expected.append(world.render(after.take(best))[0])
    now = np.concatenate([world.render(board) for board in boards])
    reached = np.array([world.solved(board, goal)[0] for board in boards])
    return Film(episode, now, np.stack(expected), world.render(goal)[0], reached, np.array(right))


def _panel(frame: np.ndarray, border: np.ndarray) -> np.ndarray:
    big = frame.repeat(SCALE, 0).repeat(SCALE, 1)
    framed = np.broadcast_to(border, (big.shape[0] + 2 * BORDER, big.shape[1] + 2 * BORDER, 3)).copy()
    framed[BORDER:-BORDER, BORDER:-BORDER] = big
    return framed


def pictures(film: Film) -> list[np.ndarray]:
    """T+1 pictures: now | goal | expected, and a bar of the steps taken. The last one ends green or red."""
    steps = len(film.expected)
    found = []
    for t in range(steps + 1):
        i = min(t, steps - 1)
        state = RIGHT if film.reached[t] else WRONG if t == steps else LINE
        expected = _panel(film.expected[i], LINE if film.right[i] else WRONG)
        parts = [_panel(film.now[t], state), _panel(film.goal, LINE), expected]
        gap = np.broadcast_to(PAPER, (len(parts[0]), GAP, 3))
        row = np.concatenate([parts[0], gap, parts[1], gap, parts[2]], 1)
        bar = np.broadcast_to(LINE, (BAR, row.shape[1], 3)).copy()
        bar[:, : round(t / steps * row.shape[1])] = SOFT
        found.append(np.concatenate([row, np.broadcast_to(PAPER, (GAP, row.shape[1], 3)), bar]))
    return found


def gif(film: Film) -> bytes:
    """The film, looping, its last picture held."""
    from PIL import Image

    frames = [Image.fromarray(picture).quantize(64, dither=Image.Dither.NONE) for picture in pictures(film)]
    times, file = [STEP_MS] * (len(frames) - 1) + [END_MS], BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=times, loop=0, disposal=1)
    return file.getvalue()


def chosen(scored: dict[Path, dict]) -> dict[str, list[Path]]:
    """World -> its runs that can be filmed, the best planner first, then the best at what-if questions."""
    worlds: dict[str, list[Path]] = {}
    for folder, results in scored.items():
        if (folder / "checkpoints" / "model.ckpt").exists():
            worlds.setdefault(family(results["env"]), []).append(folder)

    def worth(folder: Path) -> tuple[float, float]:
        metrics = scored[folder]["metrics"]
        return metrics.get(f"plan/success/h{STEPS}", -1.0), metrics.get("test/cf_hits@1", -1.0)

    return {world: sorted(folders, key=worth, reverse=True) for world, folders in worlds.items()}


def films_section(scored: dict[Path, dict], per_world: int) -> str:
    """Films of the best run of every world, reached and missed in equal parts where there are both; empty for 0."""
    parts, worlds = [], chosen(scored) if per_world else {}
    with Steps("films", len(worlds), quiet=not worlds) as progress:
        for world, folders in worlds.items():
            for folder in folders[:3]:
                try:
                    parts.append(_films_of(folder, scored[folder], per_world))
                    break
                except Problem as problem:  # a run that can no longer be loaded leaves its place to the next
                    parts.append(f'<p class="soft">{escape(str(problem))}</p>')
            progress.step(world)
    return "\n".join(parts)


def _films_of(folder: Path, results: dict, count: int) -> str:
    model, cfg = load_run(folder)
    world = instantiate(cfg.env.world)
    if torch.cuda.is_available():
        model.cuda()
    trip = travel(model, world)
    reached = world.solved(trip.boards[-1], trip.goal)
    hits, misses = np.flatnonzero(reached), np.flatnonzero(~reached)
    right = hits[: max(count - count // 2, count - len(misses))]
    episodes = [*right, *misses[: count - len(right)]]
    figures = "".join(_figure(film(model, world, trip, int(e)), bool(reached[e])) for e in episodes)
    return (
        f"<h3>{escape(results['env'])}: {escape(results['model'])} + {escape(results['loss'].replace('_', ' '))}</h3>"
        f"<p>{escape(results['run'])}: {reached.sum()} of {len(reached)} goals stand after exactly {STEPS} actions; "
        f"greedy, nearest to the goal in the model's latents.</p><div class=films>{figures}</div>"
    )


def _figure(film: Film, reached: bool) -> str:
    data = base64.b64encode(gif(film)).decode()
    tag = f'<span class="tag{"" if reached else " wrong"}">{"reached" if reached else "missed"}</span>'
    return (
        f"<figure class=film><figcaption>{tag}goal {film.episode}</figcaption>"
        f'<div class="heads soft"><span>now</span><span>goal</span><span>expected next</span></div>'
        f'<img alt="Film of goal {film.episode}: the board now, the goal, what the model expects; '
        f'{"reached" if reached else "missed"}" src="data:image/gif;base64,{data}"></figure>'
    )
