"""Reports: plots, a PDF and a web page, made from the folder of a run and from nothing else."""
