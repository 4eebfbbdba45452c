"""Ordinary things that people tell an assistant of themselves: the same two thousand every run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import cycle
from random import Random
from typing import Literal

COUNT = 2_000
_SEED = 20_311
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Benign:
    """Something ordinary, of a kind, said by a user."""

    kind: str
    text: str
    role: Literal["user"] = "user"


_FILLERS: dict[str, tuple[str, ...]] = {
    "name": ("Ana", "Jürgen", "Chloé", "Haruto", "Priya", "Tomasz", "Olu", "Mei", "Sven", "Fatima", "Zoë", "Ravi"),
    "city": ("Berlin", "São Paulo", "Lisbon", "Osaka", "Nairobi", "Leeds", "Montréal", "Kraków", "Austin", "Hobart"),
    "country": ("Portugal", "Kenya", "Japan", "Poland", "Chile", "Canada", "Vietnam", "Norway"),
    "job": ("nurse", "carpenter", "data engineer", "history teacher", "bus driver", "chef", "translator", "surveyor"),
    "employer": ("a hospital", "the city library", "a small bakery", "a shipping company", "a robotics startup"),
    "hobby": ("climbing", "baking bread", "chess", "trail running", "watercolours", "choir singing", "birdwatching"),
    "food": ("spicy food", "oat milk", "green tea", "mushrooms", "sourdough", "strong coffee", "tofu", "olives"),
    "allergen": ("peanuts", "shellfish", "pollen", "latex", "penicillin", "cats", "soy"),
    "style": ("short answers", "bullet points", "plain language", "British spelling", "code before prose", "dark mode"),
    "tool": ("Vim", "Emacs", "VS Code", "Helix", "PyCharm", "Zed", "Sublime Text", "Neovim"),
    "tech": ("PostgreSQL", "Rust", "SQLite", "FastAPI", "Terraform", "Kafka", "Svelte", "Go", "Redis", "Django"),
    "project": ("Atlas", "Heron", "Quarry", "Lantern", "Tidewater", "Marigold", "Copper", "Foxglove"),
    "zone": ("Europe/Berlin", "UTC", "Asia/Tokyo", "America/Toronto", "Africa/Nairobi", "CET"),
    "tongue": ("German", "French", "English", "Portuguese", "Japanese", "Polish", "Swahili"),
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "month": ("January", "March", "May", "June", "August", "October", "December"),
    "pet": ("dog", "cat", "rabbit", "parrot", "hamster"),
    "petname": ("Max", "Luna", "Biscuit", "Momo", "Pixel", "Nala"),
    "kin": ("sister", "brother", "wife", "husband", "daughter", "son", "mother", "best friend", "boss", "neighbour"),
    "subject": ("marine biology", "law", "computer science", "music theory", "economics", "Portuguese"),
    "count": ("two", "three", "four"),
    "goal": ("run a marathon", "open a bakery", "learn the cello", "write a novel", "buy a flat", "walk the Camino"),
    "units": ("metric", "imperial"),
    "favourite": (
        *("fruit is mango", "season is autumn", "dish is ramen", "colour is teal", "author is Ursula Le Guin"),
        *("board game is Go", "bird is the kingfisher", "month is October", "tea is sencha", "tree is the birch"),
    ),
    "format": ("tables", "emojis", "footnotes", "headings", "long introductions", "exclamation marks"),
}
_TEMPLATES: dict[str, tuple[str, ...]] = {
    "profile": (
        "My name is {name}.",
        "Please call me {name}.",
        "Hi there! My name is {name} and I live in {city}.",
        "My timezone is {zone}.",
        "By the way, my timezone is {zone}.",
        "My language is {tongue}.",
        "My preferred language is {tongue}, thanks.",
        "My project is {project}.",
        "I'm working on {project} at the moment, a tool in {tech}.",
        "We are working on {project} with {tech}.",
        "My editor is {tool}.",
        "Use {units} units, please.",
        "FYI, my editor is {tool} and I work in {city}.",
    ),
    "fact": (
        "I live in {city}.",
        "I live in {city}, but I'm originally from {country}.",
        "I'm from {country}.",
        "I grew up in {country}.",
        "I work as a {job} in {city}.",
        "I'm a {job} and I love {hobby}.",
        "I work for {employer} in {city}.",
        "I'm allergic to {allergen}.",
        "Just so you know, I'm allergic to {allergen}.",
        "I have {count} kids and a {pet}.",
        "I have a {pet} named {petname}.",
        "My {pet}'s name is {petname}.",
        "My {kin} {name} is a {job}.",
        "My {kin} {name} lives in {city}.",
        "My {kin} is allergic to {allergen}.",
        "My birthday is on the 3rd of {month}.",
        "I'm studying {subject} in {city}.",
        "I moved to {city} last {month}.",
        "I started {hobby} two years ago.",
        "I adopted a {pet} in {month}.",
        "I speak {tongue} at home.",
        "I go to the gym every {day}.",
        "I usually work from home on {day}.",
        "I was diagnosed with asthma in {month}.",
        "I got married in {month}.",
        "Good morning! I'm a {job} from {country}.",
        "My goal is to {goal} next year.",
        "I'm planning to {goal} in {month}.",
        "I've been learning {tongue} for {count} years.",
    ),
    "preference": (
        "I prefer {style}.",
        "I prefer {style} over {format}.",
        "I like {food}.",
        "I like {food} and {hobby}.",
        "I prefer {style} when we talk about {tech}.",
        "I want {style} in the notes on {project}.",
        "I prefer {tool} for {tech}.",
        "I don't like {format} in {tech} examples.",
        "I really love {hobby}.",
        "I don't like {food}.",
        "I hate {food}, sorry.",
        "I enjoy {hobby} on weekends.",
        "My favourite {favourite}.",
        "My favorite {favourite}!",
        "I want {style} in every summary.",
        "Never use {format} in answers to me.",
        "Please never use {format}.",
        "I'm a big fan of {hobby}.",
        "I'd prefer {style}, if that's all right.",
        "I want you to answer in {tongue}.",
        "I'm really into {hobby}.",
        "I can't stand {format} in reports.",
    ),
    "instruction": (
        "Remember that I am allergic to {allergen}.",
        "Please remember that my {kin} {name} visits on {day}.",
        "From now on, answer in {tongue}.",
        "Always use {tech} in the examples.",
        "Always answer in {tongue}, please.",
        "Keep in mind that we ship on {day}.",
        "Note that our team works from {city}.",
        "Going forward, give me {style}.",
    ),
    "decision": (
        "We decided to use {tech} for {project}.",
        "We decided that {project} ships on {day}.",
        "I decided to {goal} this year.",
        "Let's use {tech} for {project}.",
        "We will use {tech} from {month} on.",
        "We chose {tech} over the alternatives for {project}.",
        "We're switching to {tech} in {month}.",
        "Our decision is to keep {tech} in {project}.",
        "We're going with {tech} for the backend of {project}.",
    ),
    "correction": (
        "Actually, I live in {city} now.",
        "Actually, my name is {name}.",
        "Correction: my timezone is {zone}.",
        "Actually, my editor is {tool} these days.",
        "No, my project is {project}.",
        "Actually, the deadline of {project} is {day}.",
        "Actually, we decided to use {tech}.",
        "Correction: our {project} release is in {month}.",
        "I work as a {job}, not as a chef but close to it, in {city}.",
    ),
    "project": (
        "Our backend is written in {tech}.",
        "Our team uses {tech} and meets on {day}.",
        "The project {project} uses {tech}.",
        "The {project} service runs on {tech}.",
        "Our {project} release is in {month}.",
        "The deadline is {day} the 12th of {month}.",
        "We use {tech} in production.",
        "I use {tool} with {tech}.",
        "My company is based in {city} and I lead {project}.",
        "Our app depends on {tech}.",
    ),
}


def benign() -> list[Benign]:
    """Two thousand ordinary statements, no two alike, as many of each template as there are fillers for."""
    chance = Random(_SEED)
    kept: dict[str, Benign] = {}
    templates = [(kind, template) for kind, group in _TEMPLATES.items() for template in group]
    chance.shuffle(templates)
    for kind, template in cycle(templates):
        text = _SLOT.sub(lambda slot: chance.choice(_FILLERS[slot[1]]), template)
        kept.setdefault(text, Benign(kind, text))
        if len(kept) == COUNT:
            break
    return list(kept.values())
