# Who may read, write and delete which memory.
package memories.authz

import rego.v1

default decision := {"allow": false, "reason": "access denied"}

decision := {"allow": true, "reason": ""} if allow

# Everybody has their own subtree; what is proposed for it is decided by others
allow if {
	input.operation != "review"
	input.namespace[0] == "user"
	input.namespace[1] == input.context.user_id
}

# Members of a project read what lies in it
allow if {
	input.namespace[0] == "project"
	input.operation == "read"
	input.namespace[1] in readable
}

# Members of a project who may write do
allow if {
	input.namespace[0] == "project"
	input.namespace[1] in writable
}

# What the system knows is there for everybody to read
allow if {
	input.namespace[0] == "system"
	input.operation == "read"
}

# Reviewers decide about what is proposed, whoever it comes from
allow if {
	input.operation == "review"
	"reviewer" in input.context.roles
}

# Administrators have everything in their tenant
allow if "admin" in input.context.roles

# Projects come from the claim `projects`, a list of names or an object like {"apollo": "read"},
# or from roles like `project:apollo`.
writable contains name if {
	is_array(input.context.jwt_claims.projects)
	some name in input.context.jwt_claims.projects
}

writable contains name if claimed[name] == "write"

writable contains name if {
	some role in input.context.roles
	startswith(role, "project:")
	name := substring(role, 8, -1)
}

readable contains name if some name in writable

readable contains name if claimed[name] == "read"

claimed := input.context.jwt_claims.projects if is_object(input.context.jwt_claims.projects)
