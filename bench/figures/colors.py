"""Colors of the pictures in docs/explanation: each keeps a contrast of 3 to white and to a dark page."""

INK, TRUTH, NOISY, SECOND = "#7a7a7a", "#2f8f5b", "#3b82c4", "#c8722a"
