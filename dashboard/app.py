"""The dashboard's entrance: a page a question. Run with `streamlit run dashboard/app.py`."""

import sys
from pathlib import Path

import streamlit as st

# Streamlit puts this file's folder on the path, not the repository's.
REPOSITORY = str(Path(__file__).resolve().parents[1])
if REPOSITORY not in sys.path:
    sys.path.insert(0, REPOSITORY)

st.set_page_config(page_title="Specwatch", layout="wide")
st.html("<style>.stMainBlockContainer { padding-top: 4rem; padding-bottom: 2rem; }</style>")
# Not a folder named `pages`: where one exists, the first visit after a start bypasses this file (Streamlit 1.67).
st.navigation(
    [
        st.Page("questions/verdict.py", title="Is it worth it?", default=True),
        st.Page("questions/trend.py", title="How does it change across vLLM versions?", url_path="trend"),
    ],
    position="top",
).run()
