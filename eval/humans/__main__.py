"""Human trials on clips of the VoE benchmark, from building a study to its analysis.

    python -m eval.humans demo                              a small study of fresh clips, in your browser
    python -m eval.humans study runs/study                  the paper's: 250 trials, 280 clips for each of 50 people
    python -m eval.humans invite runs/study --count 60      prints passwords
    python -m eval.humans serve runs/study --dev            http on this machine; else --cert and --key, or --proxies
    python -m eval.humans simulate runs/study --perfect 40 --noisy 10 --lazy 5
    python -m eval.humans export runs/study                 hands in whoever's file could not be written before
    python -m eval.humans analyse runs/study                acceptance, hit rate, accuracy, agreement
"""

import argparse
import importlib
import sys

from envs.problem import Problem, lacking, storage_sentence

COMMANDS = {  # name -> module with arguments(parser) and run(args), what it does
    "study": ("eval.humans.build", "build a study from episode files"),
    "invite": ("eval.humans.invitations", "make invitations, and print their passwords"),
    "serve": ("eval.humans.serve", "serve the pages of a study"),
    "export": ("eval.humans.export", "hand in whoever's file could not be written before"),
    "simulate": ("eval.humans.simulate", "let simulated participants go through the pages of a server that runs"),
    "analyse": ("eval.humans.analyse", "acceptance, hit rate, accuracy and agreement of a study"),
    "demo": ("eval.humans.demo", "build a small study of fresh clips and serve it on this machine"),
}


def main(words: list[str]) -> int:
    """The exit code. A problem is one sentence, and 1."""
    shape = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser("python -m eval.humans", description=__doc__, formatter_class=shape)
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    try:
        for name, (module, told) in COMMANDS.items():
            own = commands.add_parser(name, help=told, description=told)
            if name in words[:1]:
                importlib.import_module(module).arguments(own)
        args = parser.parse_args(words)
        importlib.import_module(COMMANDS[args.command][0]).run(args)
    except ModuleNotFoundError as error:
        if error.name.split(".")[0] in ("eval", "envs"):
            raise
        print(lacking(error.name, "python -m eval.humans", "humans"), file=sys.stderr)
        return 1
    except Problem as problem:
        print(problem, file=sys.stderr)
        return 1
    except OSError as error:
        print(storage_sentence(error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    import configs.command  # noqa: F401  what the yaml of an env cannot compute alone

    sys.exit(main(sys.argv[1:]))
