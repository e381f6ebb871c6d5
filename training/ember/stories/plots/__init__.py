"""The plots that stories follow, a file for each family of them."""

from ember.stories.plots import finding, friends, journeys, kindness, magic, making, nature, wits
from ember.stories.plots.plot import Plot

PLOTS: tuple[Plot, ...] = tuple(
    plot for family in (finding, friends, journeys, kindness, magic, making, nature, wits) for plot in family.PLOTS
)
