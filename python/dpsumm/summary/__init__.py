"""Points: p of the owners' records that match a target (Sarpatwar et al. 2019, and Offers)."""
