"""Run by the server's Python at its start: lets torchvision's CUDA build be imported beside a CPU torch.

vLLM needs torchvision's transforms. Its package registers two operators of its C++ part on import and fails where that
part cannot be loaded; declared here first, they are there, and nothing calls them.
"""

import torch

_library = torch.library.Library("torchvision", "DEF")
for _name in ("nms", "qnms"):
    _library.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
