"""Encoders: observations to latents. Trunks read an observation, heads write latents; configs name both."""

from models.encoders.conv import ConvMaps, SceneMaps, SceneTiles
from models.encoders.maps import BoardMaps
from models.encoders.slots import FlatEncoder, SlotEncoder, VariationalEncoder
from models.encoders.trunks import Entities

__all__ = ["BoardMaps", "ConvMaps", "Entities", "FlatEncoder", "SceneMaps", "SceneTiles", "SlotEncoder", "VariationalEncoder"]
