"""Speed: models of real shapes with random weights, timed in several ways; a server beside them."""
