# What is to become of a proposed memory: it is approved, rejected, or put before a person.
package memories.review

import rego.v1

# Nothing becomes a memory by default: a person decides
default decision := {"decision": "review", "reason": "no rule approves it", "rule": "default"}

# What must not be is rejected
decision := {"decision": "reject", "reason": rejected[rejecting[0]], "rule": rejecting[0]} if count(rejecting) > 0

# What somebody should look at waits
decision := {"decision": "review", "reason": waiting[holding[0]], "rule": holding[0]} if {
	count(rejecting) == 0
	count(holding) > 0
}

# What is left is approved, if a rule says so
decision := {"decision": "approve", "reason": approved[approving[0]], "rule": approving[0]} if {
	count(rejecting) == 0
	count(holding) == 0
	count(approving) > 0
}

# The first rule that applies is the one that is named
rejecting := [rule |
	some rule in ["consent_missing", "rejected_before"]
	rejected[rule]
]

holding := [rule |
	some rule in ["behavioral_untrusted", "contradicts_authority", "crosses_spaces", "durable", "inferred", "personal"]
	waiting[rule]
]

approving := [rule |
	some rule in ["stated_by_user", "corrected_by_user", "verified_by_tool", "imposed", "noted_by_agent"]
	approved[rule]
]

rejected["consent_missing"] := "it is about a person who has not consented" if {
	input.proposal.consent_check == "denied"
}

rejected["rejected_before"] := "the same was rejected before" if input.proposal.rejected_before == true

waiting["inferred"] := "it was inferred, not said" if input.proposal.origin == "inferred"

waiting["behavioral_untrusted"] := "it would change behaviour, and its channel is not trusted" if {
	input.proposal.behavioral == true
	not channel_trusted
}

waiting["personal"] := "it holds personal data" if input.proposal.personal == true

waiting["crosses_spaces"] := "it would be known in another space than the one it comes from" if {
	input.proposal.crosses_spaces == true
}

waiting["durable"] := "it would be kept for good" if input.proposal.tier_target == "durable"

waiting["contradicts_authority"] := "it contradicts something of higher authority" if {
	input.proposal.contradicts_authority == true
}

channel_trusted if input.proposal.channel_trusted == true

approved["stated_by_user"] := "the user said it of themself, and little can go wrong" if {
	input.proposal.origin == "user_stated"
	input.proposal.risk == "low"
}

# A user may say something else than before: what is known then gives way, and that is told
approved["corrected_by_user"] := "the user said something else of themself than before" if {
	input.proposal.origin == "user_stated"
	input.proposal.risk == "medium"
	input.proposal.risk_reasons == ["corrects"]
}

approved["verified_by_tool"] := "a tool verified it, and little can go wrong" if {
	input.proposal.origin == "tool_verified"
	input.proposal.risk == "low"
}

approved["imposed"] := "an operator said so" if {
	input.proposal.origin == "imposed"
	input.proposal.risk != "high"
}

# What an agent notes with its own tools is its own: budgeted, and given back as a suggestion
approved["noted_by_agent"] := "the agent noted it for itself" if {
	input.proposal.origin == "noted"
	input.proposal.risk != "high"
}
