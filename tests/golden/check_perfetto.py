"""Checks that Perfetto's own messages know every field of a trace file, and that the file makes sense.

python check_perfetto.py DIR/trace.perfetto-trace...   needs perfetto (python -m pip install perfetto)

Per track, slices are nested and times never go back; texts are known before packets use them; arrows have both ends;
curves have values. Prints what each file holds.
"""
import sys
from collections import Counter

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto


def check_known(message, path="Trace"):
    unknown = [field.field_number for field in UnknownFieldSet(message)]
    assert not unknown, f"{path}: unknown fields {unknown}"
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in [value] if hasattr(value, "DESCRIPTOR") else value:
                check_known(inner, f"{path}.{field.name}")


class Checker:
    def __init__(self):
        self.tracks, self.open, self.last = {}, {}, {}
        self.texts = {name: {} for name in
                      ("event_categories", "event_names", "debug_annotation_names", "debug_annotation_string_values")}
        self.begins, self.ends = Counter(), Counter()
        self.counts = Counter()

    def describe(self, descriptor):
        assert descriptor.uuid and descriptor.uuid not in self.tracks, "ids of tracks are unique"
        assert not descriptor.parent_uuid or descriptor.parent_uuid in self.tracks, "a parent comes first"
        self.tracks[descriptor.uuid] = descriptor
        self.counts[self.kind(descriptor)] += 1

    @staticmethod
    def kind(descriptor):
        for name in ("process", "thread", "counter"):
            if descriptor.HasField(name):
                return name
        return "stream"

    def learn(self, interned):
        for name, known in self.texts.items():
            for entry in getattr(interned, name):
                assert entry.iid and entry.iid not in known, f"{name}: {entry.iid} twice"
                known[entry.iid] = entry.str.decode() if name.endswith("values") else entry.name

    def event(self, at, event):
        track = self.tracks[event.track_uuid]
        assert at >= self.last.get(event.track_uuid, 0), "time goes back"
        self.last[event.track_uuid] = at
        stack = self.open.setdefault(event.track_uuid, [])
        if event.type == perfetto.TrackEvent.TYPE_COUNTER:
            assert self.kind(track) == "counter" and event.HasField("double_counter_value")
            self.counts["points"] += 1
        elif event.type == perfetto.TrackEvent.TYPE_SLICE_END:
            stack.pop()
        else:
            assert event.type == perfetto.TrackEvent.TYPE_SLICE_BEGIN and self.kind(track) in ("thread", "stream")
            assert event.name_iid in self.texts["event_names"]
            assert all(iid in self.texts["event_categories"] for iid in event.category_iids)
            for detail in event.debug_annotations:
                assert detail.name_iid in self.texts["debug_annotation_names"]
                if detail.HasField("string_value_iid"):
                    assert detail.string_value_iid in self.texts["debug_annotation_string_values"]
                self.counts["details"] += 1
            stack.append(at)
            self.counts["slices"] += 1
        self.begins.update(event.flow_ids)
        self.ends.update(event.terminating_flow_ids)

    def finish(self):
        assert not any(self.open.values()), "a slice does not end"
        assert self.begins == self.ends and set(self.begins.values()) <= {1}, "an arrow with one end"
        self.counts["arrows"] = len(self.begins)


def check(path):
    trace = perfetto.Trace()
    trace.ParseFromString(open(path, "rb").read())
    check_known(trace)
    checker = Checker()
    for i, packet in enumerate(trace.packet):
        assert packet.trusted_packet_sequence_id == 1
        cleared = packet.sequence_flags & perfetto.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        assert bool(cleared) == (i == 0), "the first packet, and only it, clears the state"
        checker.learn(packet.interned_data)
        if packet.HasField("track_descriptor"):
            checker.describe(packet.track_descriptor)
        if packet.HasField("track_event"):
            assert packet.HasField("timestamp")
            assert packet.sequence_flags & perfetto.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
            checker.event(packet.timestamp, packet.track_event)
    checker.finish()
    print(f"{path}: {len(trace.packet)} packets,", ", ".join(f"{n} {what}" for what, n in sorted(checker.counts.items())))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for file in sys.argv[1:]:
        check(file)
