"""The simulated month: what happens when, to whom, in which process.

Owns the order of turns and what a turn has of its own. The rows of turns come from `simulate_copies`, what shapes the
month from `simulate_faults`; `simulate_sheets` writes.
"""

import heapq
import json
import random
import socket
from collections import Counter, defaultdict
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from attrs import define, field, frozen
from simulate_copies import EVENT, Template
from simulate_faults import Fault, Life, Plan
from simulate_people import HOUR_US, Person, Town
from simulate_pieces import Copy
from simulate_sheets import Sheets
from simulate_stories import SETTINGS, STORIES
from simulate_window import Window, runs_of
from simulate_world import World, run

from phasewalk.machine.documents import SPILL_OVER, digest_of
from phasewalk.storage.phase_log import LEASE
from phasewalk.storage.statements import CONTRACT, ENDED, MESSAGE, OPENED

BATCH = 8000
SUMMARY_AFTER, SUMMED_AT_ONCE = 20, 200


@frozen
class _Told:
    """Where, by whom and after what a turn's message was sent; `shown` is the history of its prompt."""

    place: tuple[str, str]
    who: Person
    message_id: str
    key: str
    shown: list[int]
    chars: int


@define
class Totals:
    """What was written."""

    turns: int = 0
    events: int = 0
    outcomes: Counter[str] = field(factory=Counter)


@define(slots=False)
class Month:
    """One file in the making."""

    path: Path
    plan: Plan
    seed: int
    host: str = ""
    totals: Totals = field(factory=Totals)

    def __attrs_post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.town = Town.made(random.Random(self.seed + 1), self.plan.turns)
        self.window = Window()
        self.templates: dict[tuple[str, str], list[Template]] = defaultdict(list)
        self.contracts: dict[tuple[str, str], tuple[str, str]] = {}
        self.known_contracts: set[str] = set()
        self.numbers: Counter[str] = Counter()
        self.later: list[tuple[int, int, str, list[list[Any]]]] = []
        self.summaries_due: list[tuple[int, str]] = []

    def write(self) -> Totals:
        """Make the file."""
        self.sheets = Sheets.opened(self.path)
        self._processes()
        arrivals = self.plan.arrivals()
        following = next(arrivals, None)
        while following is not None or self.summaries_due:
            self._enter_history(following[0] if following else 2**62)
            if self.summaries_due and (following is None or self.summaries_due[0][0] <= following[0]):
                at_us, channel_id = heapq.heappop(self.summaries_due)
                self._summary(at_us, channel_id)
            elif following is not None:
                self._turn(*following)
                following = next(arrivals, None)
            if len(self.sheets.waiting[OPENED]) >= BATCH:
                self.sheets.flush(following[0] if following else None, *self.window.take())
        self._enter_history(2**62)
        self.sheets.flush(None, *self.window.take())
        self.sheets.close(self.window.unsummed, self.plan.ignored(self.town))
        return self.totals

    # processes

    def _processes(self) -> None:
        execute = self.sheets.log.execute
        execute("BEGIN")
        for life in self.plan.lives:
            settings = SETTINGS[self.plan.settings_at(life.from_us)]
            asked = [f"{candidate.provider}/{candidate.model}" for candidate in settings.candidates]
            *known, process = run(_world().started("bot", life.version, {"candidates": asked}))
            for sql, values in known:  # machines and the configuration
                execute(sql, (*values[:-1], life.from_us))
            host = self.host or ("bots-1" if self.plan.fault is not Fault.PROCESS_DEAD else socket.gethostname())
            values = (host, life.pid, "", "bot", life.version, life.from_us, life.seen_us, process[1][-1])
            execute(process[0], values)
            if life.ended is not None:
                ended = "UPDATE process SET ended_us = ?, end_reason = ?, heartbeat_us = ? WHERE process_id = ?"
                execute(ended, (life.seen_us, life.ended, life.seen_us, life.number))
        execute("COMMIT")

    # turns

    def _template(self, story: str, settings: str) -> Template:
        """One of the templates of this sort; at first each is a new one."""
        known = self.templates[story, settings]
        if len(known) < self.plan.variants(story):
            known.append(_walked(self.seed, story, settings, len(known)))
            return known[-1]
        return known[int(self.chance.random() * len(known))]

    def _turn(self, at_us: int, story: str) -> None:
        town, chance = self.town, self.chance
        if story == "short_path":
            place = chance.choices(town.archived, cum_weights=town.archived_weights)[0]
            who = town.bots[int(chance.random() * 3)]
        else:
            place = chance.choices(town.channels, cum_weights=town.channel_weights)[0]
            who = chance.choices(town.people, cum_weights=town.people_weights)[0]
        if not self.plan.opens(at_us, story, place[0]):
            return
        if story == "scheduled":
            who = Person("", "")
        self._enter_history(at_us)
        life = self.plan.life_at(at_us)
        template = self._template(story, self.plan.settings_at(at_us))
        if template.lasts_us > life.until_us - at_us and not template.open:
            template = self._template("hangs" if life.ended is None else "restarted", self.plan.settings_at(at_us))
        message_id = town.message_id(at_us)
        key = f"job:weekly:{at_us // HOUR_US}:{message_id}" if story == "scheduled" else f"message:{message_id}"
        entries, chars = self.window.shown(place[0])
        shown = entries[len(entries) // 2 :] if story == "shrunk" else entries
        told = _Told(place, who, message_id, key, shown, chars)
        self._stamp(template, at_us, life, told)

    def _summary(self, at_us: int, channel_id: str) -> None:
        waiting = self.window.unsummed[channel_id]
        if len(waiting) < SUMMARY_AFTER or not self.plan.summarises(at_us):
            return
        self._enter_history(at_us)
        name = next(name for number, name in self.town.channels + self.town.archived if number == channel_id)
        life = self.plan.life_at(at_us)
        template = self._template("summary", self.plan.settings_at(at_us))
        if at_us + template.lasts_us > min(life.until_us, self.plan.now_us):
            return
        seen = waiting[:SUMMED_AT_ONCE]
        shown, chars = [n for n, ok, _ in seen if ok], sum(c for _, ok, c in seen if ok)
        if not shown:
            return
        key = f"summary:{channel_id}:{waiting[0][0]}:{len(waiting) // SUMMARY_AFTER}"
        told = _Told((channel_id, name), Person("", ""), "", key, shown, chars)
        answer = self._stamp(template, at_us, life, told)
        self.window.unsummed[channel_id] = [entry for entry in waiting if entry[0] > max(shown)]
        self.window.summaries[channel_id] = answer

    def _stamp(self, template: Template, at_us: int, life: Life, told: "_Told") -> str:
        """Put a copy into the file; what its model said."""
        town, chance = self.town, self.chance
        channel_id, channel = told.place
        words, answer = town.words(), town.answer()
        earlier = self.window.summaries.get(channel_id, "")
        chars = told.chars + len(words) + len(earlier)
        summed = json.dumps(earlier, ensure_ascii=False) if earlier else "null"
        if len(earlier) > SPILL_OVER:
            summed = f'{{"payload":"{digest_of(earlier)}"}}'
            self.sheets.payload(digest_of(earlier), earlier)
        when = datetime.fromtimestamp(at_us / 1e6, UTC).strftime("Date: %A, %Y-%m-%d\\nTime: %H:%M UTC")
        number = str(self.numbers[template.numbered] + 1)
        names = [
            words, answer, told.who.name, channel, f"{chance.getrandbits(72):018x}", str(at_us // 1_000_000),
            channel_id, told.who.user_id, told.message_id, town.message_id(at_us + template.lasts_us), when,
            runs_of(told.shown),
            f',"earlier":{summed}' if earlier else "", summed, number, str(max(told.shown, default=0)),
        ]  # fmt: skip
        names += [""] * (template.number - len(names))
        mono0 = (at_us - life.from_us) * 1000 + 41_000_000_000
        copy = Copy(chance, town.turn_id(at_us), told.key, at_us, mono0, names, chars)
        copy_rows: dict[str, list[Any]] = defaultdict(list)
        copy_rows["payload"] = self.sheets.waiting["payload"]
        self._contract(template, names, channel, at_us)
        template.stamp(copy, copy_rows)
        self._static(template)
        self._take(copy_rows, at_us, template, life)
        return answer

    def _contract(self, template: Template, names: list[str], channel: str, at_us: int) -> None:
        """Each channel has its own contract; equal ones are stored once."""
        if template.contract is None:
            return
        number, body, rel = template.contract
        known = self.contracts.get((body, channel))
        if known is None:
            text = body.replace("qqchannelqq", channel)
            known = self.contracts[body, channel] = (digest_of(text), text)
        names[number] = known[0]
        if known[0] not in self.known_contracts:
            self.known_contracts.add(known[0])
            self.sheets.waiting[CONTRACT].append((*known, at_us + rel))

    def _static(self, template: Template) -> None:
        for digest, text in template.static.items():
            self.sheets.payload(digest, text)

    def _take(self, rows: dict[str, list[Any]], at_us: int, template: Template, life: Life) -> None:
        """Hand the rows of a turn to what waits to be written."""
        opened = rows[OPENED][0]
        opened[4] = self.town.guild_id if opened[4] else ""
        opened[17] = life.number
        if template.open:
            opened[20] = max(life.seen_us, at_us) + int(LEASE * 1e6)
        self.numbers[template.numbered] += len(rows.get(template.numbered, ()))
        self.sheets.take(rows)
        if rows[MESSAGE]:
            heapq.heappush(self.later, (at_us + template.lasts_us, self.totals.turns, opened[5], rows[MESSAGE]))
        self.totals.turns += 1
        self.totals.events += len(rows[EVENT])
        self.totals.outcomes[str(rows[ENDED][0][1]) if rows[ENDED] else "running"] += 1

    def _enter_history(self, before_us: int) -> None:
        """What turns said until now enters the window at their ends."""
        later = self.later
        while later and later[0][0] <= before_us:
            at_us, _, channel_id, rows = heapq.heappop(later)
            self.window.said(at_us, rows)
            if len(self.window.unsummed[channel_id]) >= SUMMARY_AFTER:
                heapq.heappush(self.summaries_due, (at_us + 4000, channel_id))


@cache
def _world() -> World:
    return World(random.Random(0)).open()


@cache
def _walked(seed: int, story: str, settings: str, number: int) -> Template:
    """A template; months of one seed share theirs."""
    world = _world()
    world.chance.seed(f"{seed}/{story}/{settings}/{number}")
    return Template(run(world.walk(STORIES[story], SETTINGS[settings])), world.recorder.texts)
