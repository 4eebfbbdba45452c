"""A LangGraph agent that remembers its users across threads, with a scripted model in place of a real one.

Every thread begins without a word of the earlier ones; what the agent knows, it has from the store:

    python examples/langgraph_agent.py [directory]
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from typing import Annotated, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import InjectedState, InjectedStore, ToolNode, tools_condition
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from recollect.langgraph import open_store


@dataclass
class Who:
    """Whom the agent talks with."""

    user: str


class State(MessagesState):
    """A conversation, and with whom it is."""

    user: str


class ScriptedModel(BaseChatModel):
    """Does what a model would be prompted to do: keep what it is asked to, and answer from what it is reminded of."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        reminder, last = str(messages[0].content), messages[-1]
        if isinstance(last, ToolMessage):
            reply = AIMessage("I will remember that.")
        elif str(last.content).startswith("Remember: "):
            fact = str(last.content).removeprefix("Remember: ")
            reply = AIMessage("", tool_calls=[{"name": "remember", "args": {"fact": fact}, "id": "call-1"}])
        else:
            reply = AIMessage(f"You told me: {reminder}" if reminder else "You have not told me yet.")
        return ChatResult(generations=[ChatGeneration(message=reply)])


@tool
def remember(
    fact: str, state: Annotated[dict[str, Any], InjectedState], store: Annotated[BaseStore, InjectedStore()]
) -> str:
    """Keep a fact about the user."""
    place = ("user", state["user"], "facts")
    store.put(place, f"fact-{len(store.search(place, limit=100)) + 1}", {"text": fact}, index=["text"])
    return "kept"


def answer(state: State, runtime: Runtime[Who]) -> dict[str, Any]:
    """Let the model answer, reminded of what fits best of all that the user ever said."""
    assert runtime.store is not None  # noqa: S101 - the graph is compiled with one
    user = runtime.context.user
    asked = next(message for message in reversed(state["messages"]) if isinstance(message, HumanMessage))
    found = runtime.store.search(("user", user, "facts"), query=str(asked.content), limit=1)
    reminder = SystemMessage("".join(item.value["text"] for item in found))
    return {"messages": [ScriptedModel().invoke([reminder, *state["messages"]])], "user": user}


def agent(store: BaseStore) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The agent: it answers, and uses its tool whenever the model asks for that."""
    graph = StateGraph(State, context_schema=Who)
    graph.add_node("answer", answer)
    graph.add_node("tools", ToolNode([remember]))
    graph.add_edge(START, "answer")
    graph.add_conditional_edges("answer", tools_condition)
    graph.add_edge("tools", "answer")
    return graph.compile(store=store, checkpointer=InMemorySaver())


def talk(store: BaseStore) -> None:
    """Talk with two users, in a new thread each time."""
    graph = agent(store)
    for thread, (user, said) in enumerate(
        [
            ("alice", "Remember: I drink green tea without sugar."),
            ("alice", "Remember: My sister lives in Porto."),
            ("alice", "Which tea may I offer you?"),
            ("alice", "Where does my sister live?"),
            ("bob", "Where does my sister live?"),
        ]
    ):
        own: RunnableConfig = {"configurable": {"thread_id": str(thread)}}
        ended = graph.invoke({"messages": [HumanMessage(said)]}, own, context=Who(user))
        print(f"{user}: {said}\nagent: {ended['messages'][-1].content}")


def main() -> None:
    """Run it over the directory that was given, or over one that is thrown away."""
    with tempfile.TemporaryDirectory() as folder, open_store(sys.argv[1] if len(sys.argv) > 1 else folder) as store:
        talk(store)
        print("kept:", ", ".join("/".join(place) for place in store.list_namespaces()))


if __name__ == "__main__":
    main()
