"""Secrets are taken out of texts, and nothing else is (LOG-10)."""

import json
import re
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phasewalk.machine.redaction import PLACEHOLDER, SHORTEST, Redactor

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.dBjftJeZ4CVPmB92K27uhbUJU1p1r_wW1gFWFOEjXk"
BOT_TOKEN = "MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcDE.abcdefghijklmnopqrstuvwxyz0123456789AB"
HOOK = "https://discord.com/api/webhooks/112233445566778899/aB3_dE6-gH9jK2mN5pQ8sT1vW4yZ7"


def redacted(text: str) -> str:
    return Redactor()(text)


SHAPES = {
    "discord bot token": (f"Bot {BOT_TOKEN} it is", "Bot [redacted] it is"),
    "discord token with mfa": ("mfa.abcdefghijklmnopqrstuvwxyz01", "[redacted]"),
    "bearer token": ("curl -H 'X: Bearer abc.DEF_123~+/='", "curl -H 'X: Bearer [redacted]'"),
    "bearer token in lower case": ("bearer abcdefgh12345678", "bearer [redacted]"),
    "authorization header": ("Authorization: Basic dXNlcjpwYXNz", "Authorization: [redacted]"),
    "authorization header in JSON": ('{"authorization": "Basic dXNlcg=="}', '{"authorization": "[redacted]"}'),
    "proxy authorization header": ("Proxy-Authorization: Basic dXNl", "Proxy-Authorization: [redacted]"),
    "cookie header": ("Cookie: sid=abc; theme=dark\nHost: a", "Cookie: [redacted]\nHost: a"),
    "set-cookie header": ("set-cookie: sid=abc; Path=/", "set-cookie: [redacted]"),
    "api key header": ("X-Api-Key: 0123456789", "X-Api-Key: [redacted]"),
    "header as python shows it": ("{'Cookie': 'sid=abc'}", "{'Cookie': '[redacted]'}"),
    "password assigned": ("password=correcthorse", "password=[redacted]"),
    "passwd and pwd": ("passwd = correct, pwd=horse", "passwd = [redacted], pwd=[redacted]"),
    "secret in quotes": ("client_secret = 'battery'", "client_secret = '[redacted]'"),
    "token assigned": ("export API_TOKEN=staple", "export API_TOKEN=[redacted]"),
    "api key assigned": ("api_key=abc apikey=abc api-key=abc", "api_key=[redacted] apikey=[redacted] api-key=[redacted]"),
    "access and private key": ("access-key=abcd privatekey=abcd", "access-key=[redacted] privatekey=[redacted]"),
    "password named": ("the password: hunter2", "the password: [redacted]"),
    "secret named in JSON": ('{"client_secret":"abc_def"}', '{"client_secret":"[redacted]"}'),
    "JSON in JSON": (r'"{\"password\": \"hunter2x\"}"', r'"{\"password\": \"[redacted]\"}"'),
    "user info of a URL": ("postgres://bot:hunter2@db/x", "postgres://[redacted]@db/x"),
    "token parameter": ("https://a.b/c?token=abc&page=2", "https://a.b/c?token=[redacted]&page=2"),
    "access token parameter": ("https://a.b/?x=1&access_token=abc#top", "https://a.b/?x=1&access_token=[redacted]#top"),
    "key and signature": ("https://a.b/?key=abc&sig=def&code=g", "https://a.b/?key=[redacted]&sig=[redacted]&code=[redacted]"),
    "webhook": (HOOK, "https://discord.com/api/webhooks/112233445566778899/[redacted]"),
    "number under a name": ('{"pwd": 4711.5, "n": 1}', '{"pwd": "[redacted]", "n": 1}'),
    "number in JSON in JSON": (r'"{\"token\":47114711}"', r'"{\"token\":\"[redacted]\"}"'),
    "key of a model provider": ("sk-proj-0123456789abcdefXYZ!", "[redacted]!"),
    "github tokens": ("ghp_0123456789abcdefghij github_pat_0123456789abcdefghij", "[redacted] [redacted]"),
    "slack token": ("xoxb-0123456789-abc", "[redacted]"),
    "aws key id": ("id AKIAIOSFODNN7EXAMPLE.", "id [redacted]."),
    "json web token": (f"jwt {JWT}, valid", "jwt [redacted], valid"),
}  # fmt: skip
"""Each shape of a secret in the text that it is found in, and what is left of it."""


@pytest.mark.spec("LOG-10")
@pytest.mark.parametrize(("text", "left"), SHAPES.values(), ids=SHAPES)
def test_a_secret_is_taken_out_and_what_names_it_stays(text: str, left: str):
    assert redacted(text) == left


@pytest.mark.spec("LOG-10")
@pytest.mark.parametrize("letter", ["o", "s", "u", "r"])
def test_every_kind_of_github_token_is_one(letter: str):
    assert redacted(f"gh{letter}_0123456789abcdefghij") == PLACEHOLDER


MISSED = {
    "URL with a password and no user": "redis://:hunter2pass@localhost:6379",
    "passphrase alone in its text": "passphrase=hunter2pass",
    "signature of a URL without a scheme": "see /file?sig=hunter2pass",
    "code of a URL without a scheme": "see /back?code=hunter2pass",
    "cookie behind one in quotes": 'Cookie: theme="dark"; sid=hunter2pass',
}


@pytest.mark.spec("LOG-10")
@pytest.mark.parametrize("text", MISSED.values(), ids=MISSED)
def test_a_secret_in_less_usual_dress_is_taken_out_too(text: str):
    assert "hunter2pass" not in redacted(text)


ORDINARY = [
    "the secret: never give up",
    "my keyboard = broken",
    "my monkey: 5_000 bananas",
    "Password: please",
    "the password is the name of the dog",
    "a token of my esteem: a cake",
    "key: C-sharp, and the author: ann_7",
    "secret santa = friday, tokens: 12_000",
    "bearer of good news",
    "https://example.com/a/b?page=2&sort=key",
    "see https://user.example.com:8443/@ann",
    "a risk-management-of-large-projects course",
    "mail ann@example.com at 12:30",
    "::// what is this @ thing",
    "/webhooks/12 is the path, and then more",
    "the cookie jar is empty",
    "the best cookie: chocolate chip",
    "ask for bearer certificates",
]


@pytest.mark.spec("LOG-10")
@pytest.mark.parametrize("sentence", ORDINARY)
def test_what_people_say_in_a_chat_is_left_alone(sentence: str):
    redactor = Redactor(["a-configured-secret"])
    assert (redactor(sentence), redactor.count) == (sentence, 0)


CONFIGURED = "pä55 w/rd+&?"


@pytest.mark.spec("LOG-10")
@pytest.mark.parametrize("form", [str, quote, lambda s: quote(s, safe=""), quote_plus], ids=["plain", "path", "all", "form"])  # fmt: skip
def test_a_configured_secret_is_found_in_every_form_of_a_url(form):
    assert Redactor([CONFIGURED])(f"<{form(CONFIGURED)}>") == "<[redacted]>"


@pytest.mark.spec("LOG-10")
def test_a_configured_secret_is_found_in_a_url_with_small_letters():
    assert Redactor([CONFIGURED])("<p%c3%a455%20w/rd%2b%26%3f>") == "<[redacted]>"


@pytest.mark.spec("LOG-10")
@pytest.mark.parametrize("secret", ['pa55"w\\rd7', "pass-wörd-7", 'ta\tb "x" y'])
@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_configured_secret_is_found_in_json_within_json(secret: str, levels: int, ascii_only: bool):
    text = secret
    for _ in range(levels):
        text = json.dumps(text, ensure_ascii=ascii_only)
    found = Redactor([secret])(text)
    for _ in range(levels):
        found = json.loads(found)
    assert found == "[redacted]"


@pytest.mark.spec("LOG-10")
@pytest.mark.parametrize("line_break", ["\\n", "\\t", "\\u000a", "\\\\n"])
@pytest.mark.parametrize(
    "secret", ["ghp_0123456789abcdefghij", "sk-proj-0123456789abcdefXYZ", "AKIAIOSFODNN7EXAMPLE", JWT, BOT_TOKEN]
)
def test_a_secret_behind_a_line_break_as_json_writes_it_is_taken_out(line_break: str, secret: str):
    assert secret not in redacted(f'{{"text":"line{line_break}{secret}"}}')


@pytest.mark.spec("LOG-10")
def test_named_secrets_are_found_in_json_within_json_within_json():
    inner = json.dumps({"access_token": "abcdefgh12", "header": 'authorization: "Basic abc"'})
    text = json.dumps([json.dumps({"inner": inner})])
    found = redacted(text)
    assert "abcdefgh12" not in found
    assert "Basic" not in found
    json.loads(json.loads(json.loads(found)[0])["inner"])


@pytest.mark.spec("LOG-10")
def test_of_two_secrets_one_inside_the_other_nothing_stays():
    for secrets in (["abcdef", "abcdefgh"], ["abcdefgh", "abcdef"]):
        assert Redactor(secrets)("abcdefgh, abcdef") == "[redacted], [redacted]"


def test_a_configured_secret_that_is_a_short_word_stays_a_word():
    assert Redactor(["none", "x" * (SHORTEST - 1), ""])(f"none of {'x' * SHORTEST}") == f"none of {'x' * SHORTEST}"
    assert Redactor(["x" * SHORTEST])(f"none of {'x' * SHORTEST}") == "none of [redacted]"


@pytest.mark.spec("LOG-10")
def test_what_is_taken_out_is_counted_once():
    redactor = Redactor(["configured"])
    text = redactor(f"configured, configured, password=abcd and {BOT_TOKEN}")
    assert redactor.count == 4
    redactor(text)
    redactor("nothing here")
    assert redactor.count == 4


FRAGMENTS = [
    "https://", "user", ":", "@", "host", "?", "&", "token=", "key=", "password", "passphrase", "secret", "pwd", "=",
    ": ", '"', "'", '\\"', "\\", "[", "]", PLACEHOLDER, "Authorization", "Bearer ", "bearer  ", "abcdefgh12345678",
    "sk-", "ghp_", "github_pat_", "xoxb-", "AKIA", "AKIAIOSFODNN7EXAMPLE", "eyJ", ".", "/api/webhooks/1/", "-", "_", " ",
    "\n", "cookie", "x-api-key", "api_key", "MTIzNDU2Nzg5MDEyMzQ1Njc4", "GabcDE", "mfa.", "{", "}", ",", ";", "/", JWT,
    BOT_TOKEN, "abcdefghijklmnopqrstuvwxyzABCDE", "configured/secret", "configured%2Fsecret", "\u0130", "\u212a", "\u017f",
]  # fmt: skip
FRAGMENTED = st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join)

SECRETS = [BOT_TOKEN, JWT, "sk-0123456789abcdefghij", "configured/secret"]
AROUND = st.lists(st.sampled_from([f for f in FRAGMENTS if f not in SECRETS]), max_size=14).map("".join)


@pytest.mark.spec("LOG-10")
@given(st.text() | FRAGMENTED)
@example("EYJ0000000000.00000TOKEN=TOKEN=000")
def test_redacting_twice_changes_nothing_and_finds_nothing_more(text: str):
    redactor = Redactor(["configured/secret"])
    once = redactor(text)
    count = redactor.count
    assert (redactor(once), redactor.count) == (once, count)


@pytest.mark.spec("LOG-10")
def test_redacting_twice_changes_nothing_whatever_the_secret_is():
    redactor = Redactor(["redacted"])
    assert redactor(redactor("redacted")) == redactor("redacted")


@pytest.mark.spec("LOG-10")
@given(AROUND, st.sampled_from(SECRETS))
def test_a_secret_stays_nowhere_whatever_stands_around_it(text: str, secret: str):
    assert secret not in Redactor(["configured/secret"])(f"{text} {secret} {text}")


TEXTS = st.lists(st.sampled_from([*FRAGMENTS, "a", "7"]), max_size=8).map("".join)


def within_texts(value: object) -> object:
    """JSON in which secrets stand in texts, and no text ends with what would name one."""
    if isinstance(value, str):
        return re.sub(r"[:=\s\\]+\Z", "", value)
    return [within_texts(part) for part in value] if isinstance(value, list) else value


SAFE = st.recursive(TEXTS, lambda inner: st.lists(inner, max_size=4), max_leaves=8).map(within_texts)


@pytest.mark.spec("LOG-10")
@given(SAFE, st.booleans())
@example({"password": "hunter2x", "n": 1}, True)
@example([{"authorization": "Basic abc="}, {"cookie": "sid=a; b=c"}], False)
@example({"url": "https://a.b/?token=abc", "next": {"deep": {"deeper": {}}}}, True)
def test_json_with_secrets_in_its_texts_is_json_afterwards(document: object, compact: bool):
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":") if compact else None)
    for form in (text, json.dumps(text), json.dumps({"inner": json.dumps([text])})):
        json.loads(redacted(form))


BROKEN = {
    "a number under a name": '{"token":123456}',
    "a text that ends with an assignment": '{"a":{"b":{"url":"https://a.b/?token="}}}',
    "a text that ends with a header": '{"text":"who ate my cookie: "}',
    "a key that ends with an assignment": '{"token=":[{"a":1}],"secret=":{}}',
}


@pytest.mark.spec("LOG-10")
@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_json_stays_json_where_no_text_follows_the_name_of_a_secret(text: str):
    json.loads(text)
    json.loads(redacted(text))


HOSTILE = {
    "user info": "://a:b",
    "scheme": "://",
    "long user info": "://" + "a" * 255,
    "bearer": "bearer    ",
    "dots": "eyJabcdefghij.",
    "start of a web token": "eyJ",
    "parameter": "?token=",
    "name": "token",
    "name and blanks": "token    :    ",
    "name and a long word": "password:" + "a" * 64,
    "header": "authorization: '",
    "webhook": "/webhooks/" + "1" * 24 + "/",
    "start of a bot token": "N" + "a" * 24 + ".",
    "dashes": "-",
    "one letter": "N",
    "quotes": 'password\\"',
    "blanks": " ",
}


def seconds(text: str, rounds: int) -> float:
    """The quickest of some rounds."""
    redactor, best = Redactor(), float("inf")
    for _ in range(rounds):
        begun = time.perf_counter()
        redactor(text)
        best = min(best, time.perf_counter() - begun)
    return best


@pytest.mark.spec("LOG-10")
@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE)
def test_the_time_grows_linearly_with_a_hostile_text(unit: str):
    start = "token :// mfa. "  # so that every pattern is tried
    short, long = (start + (unit * (size // len(unit) + 1))[:size] for size in (20_000, 200_000))
    assert seconds(long, 2) < 30 * seconds(short, 5)
