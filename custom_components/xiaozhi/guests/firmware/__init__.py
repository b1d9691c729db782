"""Firmware and packs for devices: available files, images and speech models."""
