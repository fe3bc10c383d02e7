"""What every page begins and ends with."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import figures


def open_page(question: str) -> DeltaGenerator:
    """Draw the title, which is the question, and return the place of its answer: above the controls."""
    st.title(question, anchor=False)
    return st.container()


def caption(*sentences: str | None) -> None:
    """Draw the sentences that there are under a chart, a line each."""
    st.caption("  \n".join(figures.plain(sentence) for sentence in sentences if sentence))
