"""The plan of a scene: streets, railways, houses, yards, as shapes on a plane in meters."""
