"""The numbers that bound a turn; all in seconds unless the name says otherwise."""

from attrs import frozen


@frozen
class Limits:
    """Budgets and counts of one turn, frozen with its contract (CON-14). Defaults as in `[limits]`."""

    attempts: int = 3
    tool_rounds: int = 4
    identical_calls: int = 4
    backoff: float = 1.0
    backoff_cap: float = 30.0
    turn: float = 360.0
    model_call: float = 300.0
    tool: float = 60.0
    delivery_grace: float = 30.0
    cleanup: float = 1.0
    claims: int = 3
    recover_within: float = 900.0
    post_effect_delays: tuple[float, ...] = (1.0, 3.0)
    circuit_failures: int = 3
    circuit_window: float = 300.0
    circuit_cooldown: float = 1800.0


MODEL_CALL_FLOOR = 1.0
"""A model call never gets less than this, seconds (TURN-05)."""
