"""What agents come in by: LangGraph's store, the calls of gRPC, and the tools."""
