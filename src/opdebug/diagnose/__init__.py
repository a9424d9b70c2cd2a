"""What the results show, and no more: coverage, verdict, failure axes, nearest passing neighbours, contradictions.

`analysis.analyze_documents` makes the analysis document; everything else here is a part of it. Nothing is executed
and no sentence is made.
"""
