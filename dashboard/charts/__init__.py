"""Charts: DataFrame -> Altair chart. None of them knows Streamlit or the warehouse."""
