"""
A date column: hourly water flow
================================

A real table that comes with river: the flow in a water main, hour by hour, for seven weeks. Its only
column is the time, which is encoded as the hour, the weekday and the number of days.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from river import datasets

from dsekl import DSEKLRegressor

# %%
# The table
# ---------

rows = [(row["Time"], flow) for row, flow in datasets.WaterFlow()]
table = pd.DataFrame(rows, columns=["time", "flow"])
table["time"] = pd.to_datetime(table["time"], utc=True)
print(table.head(3))

# %%
# Hours that were not measured
# ----------------------------
# A fifth of the hours is taken out at random and predicted from the others: what one does where a
# sensor failed.

held = np.random.default_rng(0).random(len(table)) < 0.2
model = DSEKLRegressor(random_state=0).fit(table.loc[~held, ["time"]], table["flow"][~held])
print(f"features: {', '.join(model.encoder_.features)}")
print(
    f"R2 on {held.sum()} hours: {model.score(table.loc[held, ['time']], table['flow'][held]):.2f}"
)

# %%
# A fortnight, with 90 % intervals:

some = table[300:636]
low, high = model.predict_interval(some[["time"]], coverage=0.9).T
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.fill_between(some["time"], low, high, alpha=0.3, color="C1", label="90 % interval")
ax.plot(some["time"], model.predict(some[["time"]]), color="C1", label="predicted")
hidden = some[held[300:636]]
ax.plot(hidden["time"], hidden["flow"], "o", color="C0", ms=3, label="hours taken out")
ax.set_title("flow of water")
ax.legend(ncols=3)
ax.xaxis.set_major_locator(plt.MaxNLocator(5))
plt.show()
