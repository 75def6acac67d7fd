"""The score release: rounds of Newton's method whose gradients and Hessians have noise. Private."""
