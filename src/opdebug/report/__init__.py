"""An analysis made readable: functions of the analysis alone, in which nothing is judged and nothing executed.

`markdown.render_report` and `terminal.render_terminal` are the formats, `wording` the sentences that they share, and
`hostile` what keeps a text from a run from acting on whoever reads it.
"""
