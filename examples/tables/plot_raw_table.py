"""
A raw table: texts, dates and missing values
============================================

A frame with a category, a date, a number and gaps is fitted as it is, and new rows may have gaps and
categories that were never seen.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dsekl import DSEKLRegressor

# %%
# Rentals of bicycles, made up
# ----------------------------
# More on warm days and in the week, and more at one station than at another. One temperature in ten
# is missing.

rng = np.random.default_rng(0)
n = 1_500
day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, n), unit="D")
season = np.cos(2 * np.pi * (day.day_of_year - 200) / 365)
warmth = 12 + 10 * season + 3 * rng.standard_normal(n)
station = rng.choice(["harbour", "station", "museum"], n)
rentals = (
    40
    + 2 * warmth
    + 25 * (day.day_of_week < 5)
    + pd.Series(station).map({"harbour": 0, "station": 30, "museum": 12}).to_numpy()
    + 5 * rng.standard_normal(n)
)
table = pd.DataFrame({"day": day, "temperature": warmth, "station": station})
table.loc[rng.random(n) < 0.1, "temperature"] = np.nan
print(table.head(4))

# %%
# The fit
# -------
# Nothing to encode, to fill in or to scale.

model = DSEKLRegressor(random_state=0).fit(table[:1000], rentals[:1000])
print(f"R2 on 500 new rows: {model.score(table[1000:], rentals[1000:]):.3f}")
print(f"features: {', '.join(model.encoder_.features)}")

# %%
# What matters, and what a year looks like
# ----------------------------------------
# Importances are those of columns, whatever number of features each has become.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(9, 3.4), layout="constrained", width_ratios=[1, 2]
)
left.barh(model.feature_names_in_, 100 * model.feature_importances_)
left.set_title("feature importance, %")
year = pd.date_range("2024-01-01", "2024-12-31")
for k, name in enumerate(("station", "museum", "harbour")):
    rows = pd.DataFrame({"day": year, "temperature": np.nan, "station": name})
    weekly = model.predict(rows)
    right.plot(year, weekly, color=f"C{k}", label=name, linewidth=1)
right.set_title("predicted rentals, temperature unknown")
right.legend(ncols=3)
plt.show()
