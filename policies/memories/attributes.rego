# What is kept in plain text beside a memory, so that filters can ask for it. Never put anything here that must stay sealed.
package memories.attributes

import rego.v1

# Where it lies, and those of its attributes that the settings name
attributes := {name: value |
	some facts in [chosen, place]
	value := facts[name]
}

place := {"namespace": input.namespace[0], "sub": input.namespace[1]} if input.namespace[1]

place := {} if not input.namespace[1]

chosen := {name: value |
	some name in data.recollect.filterable_attributes
	value := input.attributes[name]
	is_plain(value)
}

is_plain(value) if is_string(value)

is_plain(value) if is_number(value)

is_plain(value) if is_boolean(value)

is_plain(value) if is_array(value)
