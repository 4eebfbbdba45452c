package memories.attributes_test

import rego.v1

import data.memories.attributes

# What is extracted from a memory with these attributes, when the settings name these
extracted(namespace, given, names) := found if {
	memory := {"namespace": namespace, "key": "k", "value": {"text": "sealed"}, "attributes": given}
	found := attributes.attributes with input as memory with data.recollect.filterable_attributes as names
}

test_where_it_lies_is_told if {
	extracted(["user", "alice"], null, []) == {"namespace": "user", "sub": "alice"}
	extracted(["user", "alice", "notes"], {}, []) == {"namespace": "user", "sub": "alice"}
}

test_one_segment_tells_nothing if {
	extracted(["system"], null, []) == {}
}

test_attributes_stay_sealed_unless_the_settings_name_them if {
	given := {"topic": "tea", "secret": "sugar"}
	extracted(["user", "alice"], given, ["topic"]) == {"namespace": "user", "sub": "alice", "topic": "tea"}
	extracted(["system"], given, ["topic"]) == {"topic": "tea"}
	extracted(["system"], given, []) == {}
	extracted(["system"], given, ["text", "key"]) == {}
}

test_named_attributes_that_are_not_there_are_left_out if {
	extracted(["system"], null, ["topic"]) == {}
	extracted(["system"], {"other": 1}, ["topic"]) == {}
}

test_what_can_be_filtered_by_is_kept if {
	given := {"text": "tea", "number": 1.5, "flag": false, "list": ["a", 1]}
	extracted(["system"], given, ["text", "number", "flag", "list"]) == given
}

test_what_cannot_be_filtered_by_is_left_out if {
	extracted(["system"], {"nothing": null, "object": {"a": 1}}, ["nothing", "object"]) == {}
}

test_a_claim_to_lie_elsewhere_is_not_believed if {
	extracted(["user", "alice"], {"namespace": "system", "sub": "bob"}, []) == {"namespace": "user", "sub": "alice"}
}

test_without_the_settings_only_the_place_is_told if {
	memory := {"namespace": ["user", "alice"], "key": "k", "value": {}, "attributes": {"topic": "tea"}}
	found := attributes.attributes with input as memory with data.recollect as {}
	found == {"namespace": "user", "sub": "alice"}
}
