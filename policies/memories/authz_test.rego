package memories.authz_test

import rego.v1

import data.memories.authz

granted := {"allow": true, "reason": ""}

denied := {"allow": false, "reason": "access denied"}

operations := ["read", "write", "delete"]

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

acting(roles) := known(roles, {"sub": "alice"})

asked(operation, namespace, context) := {
	"operation": operation,
	"namespace": namespace,
	"key": "k",
	"context": context,
}

# What is allowed of all that can be done there
allowed(namespace, context) := {operation |
	some operation in operations
	decision := authz.decision with input as asked(operation, namespace, context)
	decision.allow
}

# -- reviewing

test_reviewers_decide_about_what_is_proposed if {
	reviewed(["user", "bob", "proposals"], acting(["reviewer"])) == true
	reviewed(["user", "alice", "proposals"], acting(["reviewer"])) == true
	reviewed(["user", "bob", "proposals"], acting(["admin"])) == true
}

test_nobody_else_does if {
	reviewed(["user", "alice", "proposals"], alice) == false
	reviewed(["user", "bob", "proposals"], alice) == false
	reviewed(["user", "bob", "proposals"], acting(["reviewers"])) == false
}

test_reviewing_opens_nothing_else if {
	allowed(["user", "bob"], acting(["reviewer"])) == set()
	allowed(["user", "bob", "proposals"], acting(["reviewer"])) == set()
}

reviewed(namespace, context) := decision.allow if {
	decision := authz.decision with input as asked("review", namespace, context)
}

# -- one's own

test_everybody_has_their_own_subtree if {
	allowed(["user", "alice"], alice) == {"read", "write", "delete"}
	allowed(["user", "alice", "notes"], alice) == {"read", "write", "delete"}
	allowed(["user", "alice", "notes", "deep", "down"], alice) == {"read", "write", "delete"}
}

test_nobody_has_that_of_others if {
	allowed(["user", "bob"], alice) == set()
	allowed(["user", "bob", "alice"], alice) == set()
	allowed(["user", "alice2"], alice) == set()
	allowed(["user", "alic"], alice) == set()
	allowed(["user", "Alice"], alice) == set()
	allowed(["user"], alice) == set()
	allowed([], alice) == set()
	allowed(["alice"], alice) == set()
	allowed(["users", "alice"], alice) == set()
	allowed(["notes", "user", "alice"], alice) == set()
}

test_an_allowance_says_nothing_more if {
	authz.decision == granted with input as asked("read", ["user", "alice"], alice)
}

test_a_denial_says_so if {
	authz.decision == denied with input as asked("read", ["user", "bob"], alice)
}

# -- projects

test_a_list_of_projects_lets_members_do_everything if {
	context := claiming(["apollo", "gemini"])
	allowed(["project", "apollo"], context) == {"read", "write", "delete"}
	allowed(["project", "gemini", "notes"], context) == {"read", "write", "delete"}
	allowed(["project", "mercury"], context) == set()
	allowed(["project"], context) == set()
	allowed(["apollo"], context) == set()
}

test_an_object_of_projects_says_who_may_write if {
	context := claiming({"apollo": "read", "gemini": "write"})
	allowed(["project", "apollo", "notes"], context) == {"read"}
	allowed(["project", "gemini", "notes"], context) == {"read", "write", "delete"}
	allowed(["project", "mercury"], context) == set()
}

test_what_may_be_done_is_not_the_name_of_a_project if {
	context := claiming({"apollo": "read", "gemini": "write"})
	allowed(["project", "read"], context) == set()
	allowed(["project", "write"], context) == set()
}

test_other_words_open_nothing if {
	context := claiming({"apollo": "admin", "gemini": "WRITE", "mercury": ["write"], "skylab": true})
	allowed(["project", "apollo"], context) == set()
	allowed(["project", "gemini"], context) == set()
	allowed(["project", "mercury"], context) == set()
	allowed(["project", "skylab"], context) == set()
	allowed(["project", "admin"], context) == set()
}

test_roles_name_projects_too if {
	context := acting(["project:apollo", "memberofgemini", "my project:mercury"])
	allowed(["project", "apollo", "notes"], context) == {"read", "write", "delete"}
	allowed(["project", "gemini"], context) == set()
	allowed(["project", "mercury"], context) == set()
	allowed(["project", "project:apollo"], context) == set()
}

test_a_role_without_a_project_opens_none if {
	context := acting(["project:", "project"])
	allowed(["project"], context) == set()
	allowed(["project", "apollo"], context) == set()
}

test_a_name_of_a_project_is_compared_as_a_whole if {
	context := claiming(["apollo"])
	allowed(["project", "apollo2"], context) == set()
	allowed(["project", "apoll"], context) == set()
	allowed(["project", "Apollo"], context) == set()
}

test_claims_of_odd_types_open_nothing if {
	odd := ["apollo", 7, true, null, {}, [], [["apollo"]], [{"apollo": "write"}], [null, 1, true], {"0": "apollo"}]
	opened := {projects |
		some projects in odd
		count(allowed(["project", "apollo"], claiming(projects))) > 0
	}
	opened == set()
}

test_a_claim_of_a_project_opens_no_user if {
	allowed(["user", "bob"], claiming(["bob", "user"])) == set()
	allowed(["system"], claiming(["system"])) == {"read"}
}

# -- what the system knows

test_what_the_system_knows_is_read_by_all_and_changed_by_administrators if {
	allowed(["system"], alice) == {"read"}
	allowed(["system", "facts"], alice) == {"read"}
	allowed(["systems", "facts"], alice) == set()
	allowed(["system", "facts"], acting(["admin"])) == {"read", "write", "delete"}
}

# -- administrators, and those who are none

test_administrators_have_everything if {
	context := acting(["admin"])
	allowed(["user", "bob"], context) == {"read", "write", "delete"}
	allowed(["project", "apollo"], context) == {"read", "write", "delete"}
	allowed(["anything"], context) == {"read", "write", "delete"}
	allowed([], context) == {"read", "write", "delete"}
}

test_only_roles_make_an_administrator if {
	allowed(["user", "bob"], known([], {"roles": ["admin"], "admin": true})) == set()
	allowed(["user", "bob"], acting(["Admin", "administrator", "admin "])) == set()
	allowed(["user", "bob"], acting(["auditor", "operator"])) == set()
	allowed(["user", "admin"], alice) == set()
}

test_what_nobody_has_heard_of_is_closed if {
	allowed(["elsewhere", "alice"], alice) == set()
	authz.decision == denied with input as asked("approve", ["system"], alice)
}

test_without_a_caller_nothing_is_open if {
	authz.decision == denied with input as {"operation": "write", "namespace": ["user", "alice"], "key": "k"}
	authz.decision == denied with input as asked("read", ["user", "alice"], {})
	authz.decision == denied with input as asked("read", ["user", "alice"], {"roles": "admin"})
	authz.decision == denied with input as asked("read", ["project", "apollo"], {"user_id": "alice"})
	authz.decision == denied with input as {}
}
