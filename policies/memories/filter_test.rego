package memories.filter_test

import rego.v1

import data.memories.filter

own := ["user", "alice"]

# Alice, with these roles and claims
known(roles, claims) := {
	"user_id": "alice",
	"client_id": "",
	"tenant": "t",
	"roles": roles,
	"scopes": ["read", "write", "delete", "admin"],
	"jwt_claims": claims,
}

alice := known([], {"sub": "alice"})

claiming(projects) := known([], {"sub": "alice", "projects": projects})

# What is opened of a prefix
opened(prefix, context) := found if {
	found := filter.namespace_prefix with input as {"namespace_prefix": prefix, "filter": {}, "context": context}
}

test_a_prefix_of_ones_own_stays_as_it_is if {
	opened(["user", "alice"], alice) == own
	opened(["user", "alice", "notes", "deep"], alice) == ["user", "alice", "notes", "deep"]
}

test_any_other_becomes_ones_own if {
	opened([], alice) == own
	opened(["user"], alice) == own
	opened(["user", "bob"], alice) == own
	opened(["user", "alice2"], alice) == own
	opened(["notes"], alice) == own
	opened(["project"], alice) == own
	opened(["project", "apollo"], alice) == own
}

test_members_see_their_projects if {
	opened(["project", "apollo"], claiming(["apollo"])) == ["project", "apollo"]
	opened(["project", "apollo", "notes"], claiming({"apollo": "read"})) == ["project", "apollo", "notes"]
	opened(["project", "apollo"], claiming({"apollo": "write"})) == ["project", "apollo"]
	opened(["project", "apollo"], known(["project:apollo"], {})) == ["project", "apollo"]
}

test_members_see_no_other_projects if {
	opened(["project"], claiming(["apollo"])) == own
	opened(["project", "gemini"], claiming(["apollo"])) == own
	opened(["project", "apollo2"], claiming(["apollo"])) == own
	opened(["project", "read"], claiming({"apollo": "read"})) == own
	opened(["project", "apollo"], claiming({"apollo": "admin"})) == own
	opened(["project", "apollo"], claiming("apollo")) == own
	opened(["project", "apollo"], claiming([["apollo"], null, 1])) == own
}

test_everybody_sees_what_the_system_knows if {
	opened(["system"], alice) == ["system"]
	opened(["system", "facts"], alice) == ["system", "facts"]
	opened(["systems"], alice) == own
}

test_administrators_see_what_they_ask_for if {
	context := known(["admin"], {})
	opened([], context) == []
	opened(["user", "bob"], context) == ["user", "bob"]
}

test_claims_make_no_administrator if {
	context := known([], {"roles": ["admin"]})
	opened([], context) == own
}

test_nothing_is_left_out_by_attributes if {
	filter.attribute_filter == {} with input as {"namespace_prefix": [], "filter": {"topic": "x"}, "context": alice}
}

test_without_a_caller_there_is_no_answer if {
	asked := {"namespace_prefix": ["user", "alice"], "filter": {}, "context": {}}
	answers := [prefix | prefix := filter.namespace_prefix with input as asked]
	answers == []
}
