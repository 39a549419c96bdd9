"""The interactive lessons: their content, the grader and the local page that serves them.

>>> from draftproof.lesson import find
>>> find(3).title
'Rejection correction'
"""

from draftproof.lesson.content import Chapter, Lesson, to_json
from draftproof.lesson.shelf import chapter, find, lessons, load

__all__ = ["Chapter", "Lesson", "chapter", "find", "lessons", "load", "to_json"]
