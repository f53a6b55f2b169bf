"""The parts of `benches/chaos.py`: servers that can be broken, the fleet and its model, what people and faults do, and what must hold."""
