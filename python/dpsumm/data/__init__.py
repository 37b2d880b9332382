"""What a party has, as arrays with publicly known columns."""
