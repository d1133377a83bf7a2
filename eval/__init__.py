"""What a trained world model is worth: ranking, counterfactuals, reports."""
