"""Algorithms of the group *Training* that run a job: names of parameters, outputs and styles."""

from __future__ import annotations

from typing import ClassVar

from ..qgis_roadseg.toolbox.job_algorithm import JobAlgorithm
from ..qgis_roadseg.toolbox.labeled_images_algorithm import LabeledImagesAlgorithm
from ..training_core import jobs


class FineTune(LabeledImagesAlgorithm):
    """Images and drawn roads in; a model, its report and its scores out."""

    job_type = jobs.FineTune
    group_id = "training"
    keywords = "train,learn,model,deep learning,neural network,road"
    renamed: ClassVar = {"rasters": "INPUT"}
    model_parameter = "BASE_MODEL"
    created = ("report",)
    numbers: ClassVar = {
        "images_per_s": "Images per second",
        "steps": "Training steps",
        "validation.iou": "Validation IoU",
        "validation.f1": "Validation F1",
        "validation.precision": "Validation precision",
        "validation.recall": "Validation recall",
    }
    words: ClassVar = {"engine": "Engine used"}


class Evaluate(LabeledImagesAlgorithm):
    """Images, true roads and a model in; scores and their report out."""

    job_type = jobs.Evaluate
    group_id = "training"
    keywords = "score,accuracy,iou,f1,precision,recall,validate,test,deep learning,road"
    renamed: ClassVar = {"rasters": "INPUT"}
    created = ("report",)
    numbers: ClassVar = {
        "pixel.iou": "IoU",
        "pixel.f1": "F1",
        "pixel.precision": "Precision",
        "pixel.recall": "Recall",
        "relaxed.f1": "Relaxed F1",
        "relaxed.precision": "Relaxed precision",
        "relaxed.recall": "Relaxed recall",
        "best.threshold": "Threshold with the best F1",
        "best.f1": "F1 at that threshold",
        "pixels": "Evaluated pixels",
        "road_share": "Fraction of road pixels",
    }
    words: ClassVar = {"engine": "Engine used"}


class SuggestLabels(JobAlgorithm):
    """Road probability of a scene in; ranked patches to label next out."""

    job_type = jobs.SuggestLabels
    group_id = "training"
    keywords = "active learning,uncertainty,entropy,annotate,draw,digitize,label,area of interest,road"
    renamed: ClassVar = {"raster": "INPUT", "suggestions": "OUTPUT"}
    numbers: ClassVar = {
        "suggested": "Number of suggested patches",
        "mean_uncertainty": "Mean uncertainty of the scene",
    }
    styles: ClassVar = {"suggestions": "suggestions"}


class ExportChips(JobAlgorithm):
    """Images and true roads in; a folder of training chips out."""

    job_type = jobs.ExportChips
    group_id = "training"
    keywords = "tiles,patches,dataset,training data,coco,stac,esri,arcgis,label,mask,deep learning,road"
    renamed: ClassVar = {"rasters": "INPUT", "folder": "OUTPUT"}
    numbers: ClassVar = {
        "chips": "Number of chips",
        "images": "Images with chips",
        "labeled_share": "Fraction of labeled pixels",
        "road_share": "Fraction of road pixels",
    }


class ExportModel(JobAlgorithm):
    """A model in; an ONNX file and its STAC item out."""

    job_type = jobs.ExportModel
    group_id = "training"
    keywords = "onnx,deepness,stac,mlm,share,convert,save,model,road"
    renamed: ClassVar = {"model": "INPUT", "onnx": "OUTPUT"}
    numbers: ClassVar = {"megabytes": "File size (MB)"}


class Quantize(JobAlgorithm):
    """A model and calibration images in; an INT8 ONNX file out."""

    job_type = jobs.Quantize
    group_id = "training"
    keywords = "int8,integer,fast,vnni,amx,onnx,openvino,compress,optimize,model,road"
    renamed: ClassVar = {"rasters": "INPUT", "onnx": "OUTPUT"}
    numbers: ClassVar = {
        "agreement": "Fraction of pixels with the same class",
        "iou": "IoU of the quantized model, with drawn roads",
        "iou_before": "IoU in full precision, with drawn roads",
        "apls": "APLS of the quantized model, with drawn roads",
        "apls_before": "APLS in full precision, with drawn roads",
        "megabytes": "File size (MB)",
    }


class MergeModels(JobAlgorithm):
    """Models of the same base in; their weighted average out."""

    job_type = jobs.MergeModels
    group_id = "training"
    keywords = "average,federated,fedavg,combine,share,offices,batch normalization,deep learning,model,road"
    renamed: ClassVar = {"models": "INPUT", "model": "OUTPUT"}
    numbers: ClassVar = {"threshold": "Threshold of the merged model", "chips": "Measured image chips"}


class MakeScene(JobAlgorithm):
    """Properties of a scene in; a synthetic image and its true roads out."""

    job_type = jobs.MakeScene
    group_id = "training"
    keywords = "demo,example,synthetic,generate,procedural,test,image,road"
    renamed: ClassVar = {"roads": "OUTPUT"}
    numbers: ClassVar = {"count": "Number of lines", "length_m": "Total length (m)"}
    styles: ClassVar = {"roads": "roads"}
