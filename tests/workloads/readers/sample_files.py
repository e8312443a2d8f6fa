"""Small files of every format, made up here."""

from __future__ import annotations

import json
from pathlib import Path

OWN = "size,compute_intensity,memory_required,arrival_time\n500,0.5,10,0\n800,0.9,20,1.5\n"
TABLE = "task_id,cpu_0,gpu_0\n0,1.2,0.4\n1,0.05,0.09\n"
SWF = """\
; Version: 2.2
; Computer: none, these jobs are made up
1  0   5  100  4 -1 2048  4  600 -1 1 1 1 -1 1 -1 -1 -1
2 10   0   50  1 -1   -1  1  300 -1 1 2 1 -1 1 -1 -1 -1
3 20   0    0  8 -1   -1  8  900 -1 5 2 1 -1 1 -1 -1 -1
4 30   9   25 -1 -1   -1  2   -1 1024 1 3 1 -1 1 -1 2 60

5 30   0   10 -1 -1   -1 -1   60 -1 1 3 1 -1 1 -1 3 -1
"""
ETC = "3 2 0\n1.5\n2.5\n3.0 1.0\n0.25\n4\n"
PHILLY = """\
timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:01:55,66.0,1,66.0,aa
2017-10-09 07:00:00,30.5,4,122.0,bb
2017-10-09 07:00:10,0.0,1,0.0,bb
2017-10-09 07:00:10,,1,,bb
"""
ALIBABA = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
pod-0,12000,16384,1,1000,,LS,Running,0,12537496,0
pod-1,6000,12288,1,460,,LS,Running,10000100,10000300,10000150
pod-2,8000,65536,0,0,,LS,Succeeded,10000200,10000260,10000210
pod-3,64000,65536,8,1000,,BE,Succeeded,10000050,10000850,10000350
pod-4,8000,65536,1,1000,,BE,Pending,10000400,10000500,
pod-5,8000,65536,1,1000,,BE,Failed,10000400,10000500,10000500
"""
NODES = "sn,cpu_milli,memory_mib,gpu,model\nnode-0,32000,262144,0,\nnode-1,96000,393216,8,V100M32\n"
STARPU = """\
machine,codelet,device_type,device_id,n_cores,arch,footprint_hash,size_bytes,flops,mean_us,stddev_us,n_samples,\
git_ref,commit,not_measured_flag
m,gemm,cpu,0,1,a,f0,2000000,0.0,4000.0,1,9,r,c,
m,gemm,cuda,0,1,a,f0,2000000,0.0,1000.0,1,9,r,c,
m,gemm,cuda,1,1,a,f0,2000000,0.0,2000.0,1,9,r,c,
m,gemm,cuda,2,1,a,f0,2000000,0.0,9000.0,1,9,r,c,
m,potrf,cpu,0,1,a,f1,0,0.0,100.0,1,9,r,c,
m,potrf,cuda,0,1,a,f1,0,0.0,400.0,1,9,r,c,
m,trsm,cpu,0,1,a,f2,1000,0.0,100.0,1,9,r,c,
m,syrk,cpu,0,1,a,f3,1000,0.0,100.0,1,9,r,c,half_of_gemm
"""
GAVEL = """\
file,worker_type,model,batch_size,n_gpus,steps_per_s
f,v100,ResNet-18,16,1,10.0
f,k80,ResNet-18,16,1,2.0
f,v100,ResNet-18,16,4,40.0
f,k80,ResNet-18,16,4,4.0
f,v100_unconsolidated,ResNet-18,16,4,30.0
f,v100,A3C,,1,5.0
f,k80,A3C,,1,0.0
"""
WORKFLOW: dict[str, object] = {
    "name": "made up",
    "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": [
                {
                    "name": "split_ID0000001",
                    "id": "split_ID0000001",
                    "parents": [],
                    "children": ["work_ID2", "work_ID3"],
                },
                {"name": "work_ID2", "id": "work_ID2", "parents": ["split_ID0000001"], "children": ["join_4"]},
                {"name": "work_ID3", "id": "work_ID3", "parents": ["split_ID0000001"], "children": ["join_4"]},
                {"name": "join_4", "id": "join_4", "parents": ["work_ID2", "work_ID3"], "children": []},
            ],
            "files": [],
        },
        "execution": {
            "tasks": [
                {"id": "join_4", "runtimeInSeconds": 0},
                {"id": "work_ID3", "runtimeInSeconds": 4.0, "memoryInBytes": 3_000_000, "coreCount": 2},
                {"id": "work_ID2", "runtimeInSeconds": 2.5, "memoryInBytes": 1_000_000},
                {"id": "split_ID0000001", "runtimeInSeconds": 1},
            ]
        },
    },
}

TEXTS = {
    "csv": ("tasks.csv", OWN),
    "table": ("times.csv", TABLE),
    "swf": ("log.swf", SWF),
    "etc": ("matrix", ETC),
    "philly": ("jobs.csv", PHILLY),
    "alibaba": ("pods.csv", ALIBABA),
    "starpu": ("kernels.csv", STARPU),
    "gavel": ("throughputs.csv", GAVEL),
    "wfformat": ("workflow.json", json.dumps(WORKFLOW, indent=1)),
}


def put(folder: Path, name: str, text: str | bytes) -> Path:
    """Write a file into a folder."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def write_parquet(path: Path, **columns: object) -> Path:
    """Write a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table(columns), path)
    return path


def sample(folder: Path, format: str) -> Path:
    """A file of this format in a folder."""
    if format == "parquet":
        columns = {"size": [500.0, 800.0], "compute_intensity": [0.5, 0.9], "memory_required": [10, 20]}
        return write_parquet(folder / "tasks.parquet", **columns, task_id=[4, 2], dependencies=[[], [4]])
    return put(folder, *TEXTS[format])


FORMATS = [*TEXTS, "parquet"]
