"""Encoders: what is observed to latents; the heads by slots, flat and variational are named here, as configs name them."""

from models.encoders.slots import FlatEncoder, SlotEncoder, VariationalEncoder

__all__ = ["FlatEncoder", "SlotEncoder", "VariationalEncoder"]
