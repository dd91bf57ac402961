"""More benchmarks, read from their official files: hallucination sets and multiple-choice sets about space.

None of them belongs to the paper's suites. A row that asks nothing about a relation of two named things is not guessed
at: it is listed with its reason, and counts in the share that the graph covers.
"""

from __future__ import annotations

from recap.datasets.dataset import Dataset
from recap.datasets.official import choices, yes_no

BENCHMARKS = (
    Dataset(
        "whatsup-coco",
        "What'sUp's COCO subsets: a true and a false caption about one thing's place, or about two things",
        2687,
        ("coco_qa_one_obj.json", "coco_qa_two_obj.json"),
        "annotations MIT; images under COCO's terms",
        "github.com/amitakamath/whatsup_vlms",
        choices.load_whatsup_coco,
    ),
    Dataset(
        "whatsup-gqa",
        "What'sUp's GQA subsets: a true and a false caption about one thing's place, or about two things",
        1451,
        ("vg_qa_one_obj.json", "vg_qa_two_obj.json"),
        "annotations MIT; images Visual Genome, CC BY 4.0",
        "github.com/amitakamath/whatsup_vlms",
        choices.load_whatsup_gqa,
    ),
    Dataset(
        "amber",
        "AMBER, discriminative part: yes/no questions about existence (4,924), attributes (7,628), contact (1,664)",
        14216,
        ("data/annotations.json", "data/query/query_discriminative-{existence,attribute,relation}.json"),
        "Apache-2.0; images from elsewhere, linked by the authors",
        "github.com/junyangwang0410/AMBER",
        yes_no.load_amber,
    ),
    Dataset(
        "r-bench",
        "R-Bench, image level: yes/no questions about relationships in Open Images photographs",
        7787,
        ("image-level_filterd.json or train-*.parquet",),
        "MIT; images under Open Images' terms",
        "github.com/mrwu-mac/R-Bench",
        yes_no.load_r_bench,
        yes_no.r_bench_pictures,
    ),
    Dataset(
        "mmrel",
        "MMRel, discriminative part: yes/no questions about spatial, action and comparative relations",
        3613,
        ("data-*.parquet (the DALL-E part) or json/**/*.json",),
        "CC BY 4.0; other images from Visual Genome and SPEC",
        "huggingface.co/datasets/jiahaonie/MMRel",
        yes_no.load_mmrel,
        yes_no.mmrel_pictures,
    ),
    Dataset(
        "embspatial",
        "EmbSpatial-Bench: six relations in embodied scenes, four options each",
        3640,
        ("embspatial_bench.json",),
        "CC BY 4.0; the ScanNet part of the images is for non-commercial use only",
        "huggingface.co/datasets/Phineas476/EmbSpatial-Bench",
        choices.load_embspatial,
        choices.embspatial_pictures,
    ),
    Dataset(
        "cv-bench",
        "CV-Bench: counting (788), relation (650), depth (600) and distance (600), multiple choice",
        2638,
        ("test_2d.parquet, test_3d.parquet or test_2d.jsonl, test_3d.jsonl",),
        "Apache-2.0; images of ADE20K, COCO and Omni3D under their own terms",
        "huggingface.co/datasets/nyu-visionx/CV-Bench",
        choices.load_cv_bench,
        choices.cv_bench_pictures,
    ),
    Dataset(
        "blink",
        "BLINK, spatial relation, validation split: VSR-like yes/no questions",
        143,
        ("Spatial_Relation/val-00000-of-00001.parquet",),
        "Apache-2.0; images under COCO's terms",
        "huggingface.co/datasets/BLINK-Benchmark/BLINK",
        yes_no.load_blink,
        yes_no.blink_pictures,
    ),
    Dataset(
        "3dsrbench",
        "3DSRBench: height, location, orientation and multi-object questions on COCO photographs",
        2772,
        ("3dsrbench_v1.csv, .parquet, or 3dsrbench_v1_vlmevalkit.tsv",),
        "CC BY 4.0; images under COCO's terms",
        "huggingface.co/datasets/ccvl/3DSRBench",
        choices.load_3dsrbench,
        choices.threedsr_pictures,
    ),
    Dataset(
        "robospatial-home",
        "RoboSpatial-Home: configuration (123) and compatibility (105) yes/no questions, context (122) by points",
        350,
        ("annotations.json or {configuration,compatibility,context}-*.parquet",),
        "Apache-2.0",
        "huggingface.co/datasets/chanhee-luke/RoboSpatial-Home",
        yes_no.load_robospatial,
        yes_no.robospatial_pictures,
    ),
)
