"""Firmware and packs for devices: available files, images, speech models and installation."""
