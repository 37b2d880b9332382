"""Small helpers of all rooms: checks of parameters, names and documents, files written whole."""
