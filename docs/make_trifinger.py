"""Makes what docs/trifinger.md shows: a sheet of all tasks, films of interventions and experts,
the tables of variables as JSON.

python docs/make_trifinger.py
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path[0] = str(HERE.parent)  # the repository in place of this folder

import numpy as np
from PIL import Image, ImageDraw

from envs.trifinger import make
from envs.trifinger.env.play import play
from envs.trifinger.experts import expert
from envs.trifinger.robot.robot import LINKS, REST
from envs.trifinger.scene.variables import as_json
from envs.trifinger.scene.views import FILM, Views
from envs.trifinger.tasks import TASKS

_CAMERA = FILM.sized(240, 320)


def titled(picture: np.ndarray, title: str) -> np.ndarray:
    """The picture with a line of text along its top."""
    image = Image.fromarray(picture)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, image.width, 15), fill=(35, 48, 59))
    draw.text((4, 2), title, fill=(255, 255, 255))
    return np.asarray(image)


def sheet(path: Path) -> None:
    """Every task as it starts, its goal shining through, beside a scene drawn from space B."""
    views, rows = Views(), []
    for name in TASKS:
        env = make(name)
        env.reset(seed=1)
        start = titled(views.film(env.state, _CAMERA), name)
        for _ in range(20):
            if env.intervene(env.sample_goal("b")).accepted:
                break
        rows.append(np.concatenate([start, titled(views.film(env.state, _CAMERA), f"{name}, a goal of space B")], 1))
        env.close()
    thirds = [np.concatenate(rows[i::3]) for i in range(3)]
    Image.fromarray(np.concatenate(thirds, 1)).save(path, optimize=True)


def film(path: Path) -> None:
    """Pushing, one variable after the other set within the episode, fingers moving."""
    env, views, rng = make("pushing", max_steps=10**6, space=None), Views(), np.random.default_rng(0)
    env.reset(seed=0)
    requests = [
        ("start", {}), ("tool_block/color", {"tool_block/color": [0.2, 0.3, 0.9]}),
        ("tool_block/size", {"tool_block/size": [0.09, 0.08, 0.06]}),
        ("goal_block/cylindrical_position", {"goal_block/cylindrical_position": [0.1, -0.5, 0.03]}),
        ("tool_block/euler_orientation", {"tool_block/euler_orientation": [0, 0, 0.8]}),
        ("floor_color, stage_color", {"floor_color": [0.2, 0.4, 0.3], "stage_color": [0.9, 0.8, 0.5]}),
        ("robot_finger_*/color", {f"{link}/color": [0.5, 0.4, 0.5] for link in LINKS}),
        ("gravity, linear_velocity", {"gravity": [0, 0, -4.0], "tool_block/linear_velocity": [0.1, 0.2, 1.0]}),
    ]  # fmt: skip
    low, high = env.variables()["joint_positions"].bounds
    rest, frames = 2 * (REST - low) / (high - low) - 1, []
    for title, request in requests:
        verdict = env.intervene(request)
        assert verdict.accepted, verdict.reasons
        drift = rng.normal(size=9) * 0.08
        for i in range(12):
            env.step(rest + drift * np.sin(i / 12 * np.pi))
            frames.append(Image.fromarray(titled(views.film(env.state, _CAMERA), title)).quantize(96))
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=80, loop=0, optimize=True)
    env.close()


def experts(path: Path) -> None:
    """One episode of each expert but that of reaching, side by side, two and a half pictures for a second."""
    views, films = Views(), []
    for name in ("pushing", "picking", "pick_and_place", "stacking2"):
        env = make(name, skip_frame=3, reward="none")
        observation, info = env.reset(seed=0)
        frames = []
        for i, step in enumerate(play(env, expert(env), observation)):
            if i % 33 == 0:
                title = f"{name}  {i * env.dt:.0f} s  {100 * step.info['fractional_success']:.0f} %"
                frames.append(titled(views.film(env.state, FILM.sized(180, 240)), title))
        frames.append(
            titled(views.film(env.state, FILM.sized(180, 240)), f"{name}  {100 * step.info['fractional_success']:.0f} %")
        )
        films.append(frames)
        env.close()
    longest = max(map(len, films))
    films = [frames + [frames[-1]] * (longest - len(frames)) for frames in films]
    grid = [np.concatenate([np.concatenate(four[:2], 1), np.concatenate(four[2:], 1)]) for four in zip(*films)]
    pictures = [Image.fromarray(picture).quantize(64) for picture in grid]
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=200, loop=0, optimize=True)


def variables(folder: Path) -> None:
    """The table of each task as it starts."""
    folder.mkdir(exist_ok=True)
    for name in TASKS:
        env = make(name)
        env.reset(seed=0)
        (folder / f"{name}.json").write_text(as_json(env.variables()) + "\n")
        env.close()


if __name__ == "__main__":
    sheet(HERE / "trifinger_tasks.png")
    film(HERE / "trifinger_interventions.gif")
    experts(HERE / "trifinger_experts.gif")
    variables(HERE / "trifinger_variables")
