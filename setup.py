"""Packaging: the six top-level packages of Causal World Models and their extras."""

from setuptools import find_packages, setup

PACKAGES = ["configs", "envs", "eval", "losses", "models", "train"]

CORE = [
    "torch>=2.4",
    "torchvision",
    "pytorch-lightning>=2.4",
    "numpy>=1.26",
    "gymnasium>=1.0",
    "h5py>=3.10",
    "hdf5plugin>=4.4",
    "hydra-core>=1.3.6,<1.4",  # before, a config could name any callable
    "omegaconf>=2.3",
    "filelock>=3.12",
    "matplotlib>=3.8",
    "scipy>=1.11",
    "scikit-learn>=1.4",  # decision trees of models/trees.py
    "rich>=13",
    "wandb>=0.17",
]
AGENTS = ["stable-baselines3>=2.9"]  # train/agent.py
DASHBOARDS = ["wandb-workspaces>=0.4"]  # eval/dashboard.py
# envs/trifinger
TRIFINGER = ["pybullet>=3.2.5", "pin>=3", "moderngl>=5.10", "fast-simplification>=0.1.9", "robot_properties_fingers>=2.0.2"]
# envs/voe; OpenCV reads videos
VOE = ["pybullet>=3.2.5", "moderngl>=5.10", "fast-simplification>=0.1.9", "opencv-python-headless>=4.8"]
# envs/trifinger/source/published.py; LMDB 1.0 does not read files of 0.9, as theirs are
OFFLINE = ["lmdb>=1.4,<3.1", "numcodecs>=0.13"]
HUMANS = [  # eval/humans
    "flask>=3.1",
    "flask-wtf>=1.2",
    "flask-limiter>=3.8",
    "flask-talisman>=1.1",
    "sqlalchemy>=2.0.30",
    "argon2-cffi>=23.1",
    "gunicorn>=23",
    "av>=16",  # encodes clips, and looks whether they can be played
    "pydantic>=2.8",
]
CLUSTER = [  # sweeps over the cores of a machine, or over machines
    "hydra-joblib-launcher>=1.2",
    "hydra-submitit-launcher>=1.2",
]
DEV = [
    *AGENTS,
    *CLUSTER,
    *DASHBOARDS,
    *HUMANS,
    *OFFLINE,
    *TRIFINGER,
    *VOE,
    "minari[hdf5]>=0.5",  # envs/trifinger/env/record.py, if asked
    "pytest>=8.4",
    "pytest-xdist>=3.7",
    "hypothesis>=6.100",
    "scikit-image>=0.22",
    "psutil>=5.9",
    "playwright>=1.49",  # walks the pages of eval/humans in Debian's Chromium
    "axe-playwright-python>=0.1.4",  # accessibility of the same pages
    "zarr>=3",  # writes a published set in a test
    "stable-worldmodel[format]>=0.1.1",  # opens our episode files in a test; it needs OpenCV and does not ask for it
]

setup(
    name="causal-world-models",
    version="0.1.0",
    description="World models judged by whether they learned the causes.",
    license="MIT",
    python_requires=">=3.11",
    packages=find_packages(include=[pattern for name in PACKAGES for pattern in (name, f"{name}.*")]),
    package_data={
        "configs": ["**/*.yaml", "*.yaml"], "eval.paper": ["*.yaml"], "eval.effort": ["*.yaml"], "envs.voe": ["released/*"],
        "eval.humans.web": ["templates/*", "static/*"],
    },
    install_requires=CORE,
    extras_require={
        "dev": DEV, "agents": AGENTS, "cluster": CLUSTER, "dashboards": DASHBOARDS, "humans": HUMANS, "offline": OFFLINE,
        "trifinger": TRIFINGER, "voe": VOE,
    },
)
