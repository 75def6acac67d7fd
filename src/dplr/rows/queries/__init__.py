"""What may be summed."""
