# What of a search, a listing or the log a caller may see. It can only narrow what they ask for.
package memories.filter

import rego.v1

# What is asked for, if it lies wholly in what the caller may read; their own subtree otherwise
namespace_prefix := input.namespace_prefix if open

namespace_prefix := ["user", input.context.user_id] if not open

# The prefix says it all: what lies below it is the caller's to see.
attribute_filter := {}

# Administrators see everything in their tenant
open if "admin" in input.context.roles

# Everybody sees their own subtree
open if {
	input.namespace_prefix[0] == "user"
	input.namespace_prefix[1] == input.context.user_id
}

# Members see their projects
open if {
	input.namespace_prefix[0] == "project"
	input.namespace_prefix[1] in data.memories.authz.readable
}

# Everybody sees what the system knows
open if input.namespace_prefix[0] == "system"
