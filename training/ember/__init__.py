"""Ember: data, training, export and evaluation of the small model that ships inside inferno."""
