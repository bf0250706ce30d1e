//! The report's rows as tables, written with polars: the one room that imports it.
