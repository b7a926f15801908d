"""Forged and damaged files, by the thousand: ``python -m tests.fuzz``, or ``make fuzz``.

One module for each kind of file. It has ``NAME``, ``COUNT`` (how many trials make a full run), ``prepare(folder)``,
which makes genuine files once, and ``trial(folder, seed)``, which forges one file from the seed, tries it, and returns
"right" (it works, and gives finite numbers) or "refused" (the one error that such files may raise). Whatever else
happens is a failure: another exception, a crash, a time-out, too much memory.
"""
