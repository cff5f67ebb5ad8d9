"""What a moderation pass works on, as plain values: words, windows, findings, cases, sanctions, and its ports."""
