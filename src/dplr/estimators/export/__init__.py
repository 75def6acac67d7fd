"""Released models for other tools: scikit-learn, SQL and ONNX. One file per tool, over the parts of `parts.py`."""
