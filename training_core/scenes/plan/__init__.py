"""What is where in a scene: streets, railways, houses, yards, as shapes on a plane in meters."""
