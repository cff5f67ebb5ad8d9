"""What may be wrong with an installation, examined piece by piece: configuration, log, clock, Discord."""
