"""The gate's corpus: writes that damage an article and writes that do not, made from fixtures."""
