-- Run once, by the postgres image, when it makes its files: Airflow's own tables live beside the warehouse, not in it.
create database airflow;
