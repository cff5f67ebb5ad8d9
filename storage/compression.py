"""How payload bodies are packed: as they are when short, else by zlib with a dictionary of what recurs.

Owns the names in `payload.encoding`. A dictionary is never changed once released: a better one gets a new name,
and the old one stays for reading. Bodies of model calls are mostly skeleton; the dictionary holds it.
"""

import zlib

from phasewalk.machine.errors import UnreadableLogError

PLAIN = "utf-8"
PACKED = "zlib-1"
"""zlib with `DICTIONARY`; to read it elsewhere: `zlib.decompressobj(zdict=DICTIONARY)`."""

PACK_OVER = 100
"""Bodies longer than this many bytes are packed."""

LEVEL = 4
MEMORY = 5
"""A small hash table: for bodies of a few kilobytes, setting up a large one costs three times the packing."""

DICTIONARY = (
    b'[{"id":"call_","type":"function","function":{"name":"","arguments":"{\\"text\\":\\"\\"}"}}]'
    b'{"answer": null, "answer_needed": false, "channel": null, "staff": "", "picture": null, "picture_count": null, '
    b'"error": {"message": "", "type": "invalid_request_error", "param": null, "code": null}}'
    b'"logprobs": null, "refusal": null, "annotations": [], "tool_calls": [], "service_tier": "default", '
    b'"system_fingerprint": "fp_", "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0}, '
    b'"completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0, '
    b'"rejected_prediction_tokens": 0}'
    b'{"id": "chatcmpl-", "object": "chat.completion", "created": 17, "model": "gpt-5.6", "choices": [{"index": 0, '
    b'"finish_reason": "stop", "message": {"role": "assistant", "content": "{\\"answer\\": \\"'
    b'\\", \\"answer_needed\\": true, \\"channel\\": null, \\"staff\\": null, \\"picture\\": null, '
    b'\\"picture_count\\": null, \\"picture_edit\\": false, \\"hack\\": false}", "refusal": null}}], '
    b'"usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 1}}'
    b" the and you that with this for are not have can your "
)


def packed(body: bytes) -> tuple[str, bytes]:
    """The encoding's name and the bytes to store."""
    if len(body) > PACK_OVER:
        packer = zlib.compressobj(LEVEL, memLevel=MEMORY, zdict=DICTIONARY)
        small = packer.compress(body) + packer.flush()
        if len(small) < len(body):
            return PACKED, small
    return PLAIN, body


def unpacked(encoding: str, body: bytes) -> str:
    """The text of a stored body; raises `UnreadableLogError` for a damaged one, or an encoding of a newer version."""
    try:
        if encoding == PLAIN:
            return body.decode()
        if encoding == PACKED:
            return zlib.decompressobj(zdict=DICTIONARY).decompress(body).decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise UnreadableLogError(f"a stored text is damaged ({error})") from error
    raise UnreadableLogError(f"payload encoding {encoding!r}; this version reads {PLAIN} and {PACKED}")
