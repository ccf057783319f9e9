"""APLS as its definition reads, in networkx and loops: the oracle for what RoadSeg computes, and what its speed is
measured against."""

from __future__ import annotations

import itertools
import math

import networkx
import shapely


def plain_apls(truth, proposal, snap_m=4.0, spacing_m=50.0, by_time=False):
    """Return (APLS, truth in proposal, proposal in truth) of two noded RoadGraphs, which need not be contracted."""
    one, other = _streets(truth), _streets(proposal)
    there, back = _one_way(one, other, snap_m, spacing_m, by_time), _one_way(other, one, snap_m, spacing_m, by_time)
    return (2 * there * back / (there + back) if there > 0 and back > 0 else 0.0), there, back


def _streets(roads):
    """Return each way between nodes that do not just join two edges: both nodes, the line, and its steps' speeds."""
    graph = networkx.MultiGraph()
    for edge, (one, other) in enumerate(roads.graph.edges.tolist()):
        points = [tuple(point) for point in roads.graph.line(edge)]
        begin = roads.graph.offsets[edge]
        speeds = list(roads.lines.speed_mps[roads.line[begin : begin + len(points) - 1]])
        graph.add_edge(one, other, key=edge, first=one, points=points, speeds=speeds)
    kept = {node for node, degree in graph.degree if degree != 2}
    for part in networkx.connected_components(graph):
        if not part & kept:
            kept.add(min(part))
    done, streets = set(), []
    for start in sorted(kept):
        for _, follower, key in list(graph.edges(start, keys=True)):
            if key not in done:
                streets.append(_follow(graph, kept, done, start, follower, key))
    return streets


def _follow(graph, kept, done, start, follower, key):
    """Return the way that begins with an edge, up to the next node that is kept."""
    node, points, speeds = start, [], []
    while True:
        done.add(key)
        edge = graph.edges[node, follower, key]
        way = 1 if edge["first"] == node else -1
        points += edge["points"][::way][1 if points else 0 :]
        speeds += edge["speeds"][::way]
        node = follower
        if node in kept:
            return start, node, shapely.LineString(points), speeds
        ((follower, key),) = [(other, name) for _, other, name in graph.edges(node, keys=True) if name not in done]


def _control_points(streets, spacing_m):
    """Return (street, meters along it) of each control point."""
    points, seen = [], set()
    for number, (first, last, line, _) in enumerate(streets):
        length = line.length
        for node, along in ((first, 0.0), (last, length)):
            if node not in seen:
                seen.add(node)
                points.append((number, along))
        if round(length, 6) < 0.75 * spacing_m:
            continue
        pieces = 2 if round(length, 6) <= spacing_m else math.ceil(round(length, 6) / spacing_m)
        points += [(number, length * piece / pieces) for piece in range(1, pieces)]
    return points


def _one_way(streets, others, snap_m, spacing_m, by_time):
    controls = _control_points(streets, spacing_m)
    snapped = []
    for street, along in controls:
        point = streets[street][2].interpolate(along)
        gaps = [line.distance(point) for _, _, line, _ in others]
        nearest = min(range(len(gaps)), key=gaps.__getitem__) if gaps else None
        near = nearest is not None and gaps[nearest] <= snap_m
        snapped.append((nearest, others[nearest][2].project(point)) if near else None)
    own, found = _lengths(streets, controls, by_time), _lengths(others, snapped, by_time)
    differences = []
    for one, other in itertools.combinations(range(len(controls)), 2):
        if other in own[one]:
            length = own[one][other]
            there = found[one].get(other) if snapped[one] and snapped[other] else None
            differences.append(1.0 if there is None else min(1.0, abs(length - there) / length))
    return 1 - math.fsum(differences) / len(differences) if differences else 0.0


def _lengths(streets, places, by_time):
    """Return the length of the shortest path from each place to every other that can be reached."""
    graph = networkx.Graph()
    names = {}
    for number, (first, last, line, speeds) in enumerate(streets):
        stops = [(0.0, ("node", first)), (line.length, ("node", last))]
        for place, at in enumerate(places):
            if at and at[0] == number:
                stops.append((at[1], ("place", place)))
        stops.sort(key=lambda stop: (stop[0], stop[1][0] != "node" or stop[0] > 0, stop[1]))
        costs = [_cost(line, speeds, along, by_time) for along, _ in stops]
        for (_, one), (_, other), low, high in zip(stops, stops[1:], costs, costs[1:]):
            names.update({one: one, other: other})
            weight = min(high - low, graph.edges[one, other]["weight"] if graph.has_edge(one, other) else math.inf)
            graph.add_edge(one, other, weight=max(weight, 0.0))
    every = {}
    for place, at in enumerate(places):
        if at:
            reached = networkx.single_source_dijkstra_path_length(graph, ("place", place), weight="weight")
            every[place] = {name[1]: length for name, length in reached.items() if name[0] == "place"}
        else:
            every[place] = {}
    return every


def _cost(line, speeds, along, by_time):
    """Return the meters or the seconds to a place on a line."""
    if not by_time:
        return along
    seconds, left = 0.0, along
    for (begin, end), speed in zip(itertools.pairwise(line.coords), speeds):
        step = min(math.dist(begin, end), left)
        seconds, left = seconds + step / speed, left - step
    return seconds
