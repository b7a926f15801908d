"""The paper's experiments, one a file, and the report on them.

Each experiment cuts its work into units and keeps what every finished unit found in a table of its own, so a run that
was stopped goes on where it was. Figures, findings and the report are made from the tables alone.
"""
