"""Human trials: people rate clips of the VoE benchmark in the browser, and their agreement is measured."""
