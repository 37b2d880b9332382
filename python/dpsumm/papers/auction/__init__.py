"""The auction of Sarpatwar et al. 2019, Algorithm 3, corrected."""
