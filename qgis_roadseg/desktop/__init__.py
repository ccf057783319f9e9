"""What of RoadSeg is only there in a window; nothing outside of this folder imports it, but the plugin as it starts."""
