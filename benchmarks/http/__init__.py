"""The service over HTTP, against the same stack answering a constant."""  # noqa: A005 - its folder is never a path
