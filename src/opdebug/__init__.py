"""opdebug: is this operator wrong, along which axis, and what is the smallest input that shows it?"""

__version__ = "0.1.0"
