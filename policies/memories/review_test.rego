package memories.review_test

import rego.v1

import data.memories.review

stated := {"origin": "user_stated", "risk": "low"}

# What is decided of a proposal, and by which rule
decided(proposal) := [decision.decision, decision.rule] if {
	decision := review.decision with input as {"proposal": proposal}
}

# The same proposal, but for this
but(change) := {name: value |
	some facts in [stated, change]
	some name, _ in facts
	value := object.get(change, name, object.get(stated, name, null))
}

test_little_things_that_the_user_said_are_approved if {
	decided(stated) == ["approve", "stated_by_user"]
	decided(but({"channel_trusted": false, "personal": false, "tier_target": "working"})) == ["approve", "stated_by_user"]
}

test_little_things_that_a_tool_verified_are_approved if {
	decided(but({"origin": "tool_verified"})) == ["approve", "verified_by_tool"]
}

test_what_the_user_says_otherwise_than_before_is_approved if {
	decided(but({"risk": "medium", "risk_reasons": ["corrects"]})) == ["approve", "corrected_by_user"]
	decided(but({"risk": "medium", "risk_reasons": ["corrects", "personal"]})) == ["review", "default"]
	decided(but({"risk": "high", "risk_reasons": ["corrects"]})) == ["review", "default"]
	decided(but({"origin": "tool_verified", "risk": "medium", "risk_reasons": ["corrects"]})) == ["review", "default"]
}

test_what_an_operator_says_is_approved_unless_it_is_grave if {
	decided(but({"origin": "imposed"})) == ["approve", "imposed"]
	decided(but({"origin": "imposed", "risk": "medium"})) == ["approve", "imposed"]
	decided(but({"origin": "imposed", "risk": "high"})) == ["review", "default"]
}

test_what_an_agent_notes_for_itself_is_approved if {
	decided(but({"origin": "noted", "behavioral": true, "channel_trusted": true})) == ["approve", "noted_by_agent"]
	decided(but({"origin": "noted", "risk": "high"})) == ["review", "default"]
}

test_by_default_a_person_decides if {
	decided({}) == ["review", "default"]
	decided(but({"risk": "high"})) == ["review", "default"]
	decided(but({"risk": "LOW"})) == ["review", "default"]
	decided(but({"risk": ["low"]})) == ["review", "default"]
	decided({"origin": "user_stated"}) == ["review", "default"]
	decided({"origin": "elsewhere", "risk": "low"}) == ["review", "default"]
	decided("stated") == ["review", "default"]
	decided(null) == ["review", "default"]
	review.decision.rule == "default" with input as {}
}

test_what_was_inferred_waits if {
	decided(but({"origin": "inferred"})) == ["review", "inferred"]
}

test_what_would_change_behaviour_waits_unless_its_channel_is_trusted if {
	decided(but({"behavioral": true})) == ["review", "behavioral_untrusted"]
	decided(but({"behavioral": true, "channel_trusted": false})) == ["review", "behavioral_untrusted"]
	decided(but({"behavioral": true, "channel_trusted": "yes"})) == ["review", "behavioral_untrusted"]
	decided(but({"behavioral": true, "channel_trusted": true})) == ["approve", "stated_by_user"]
}

test_what_concerns_others_waits if {
	decided(but({"personal": true})) == ["review", "personal"]
	decided(but({"crosses_spaces": true})) == ["review", "crosses_spaces"]
	decided(but({"tier_target": "durable"})) == ["review", "durable"]
	decided(but({"contradicts_authority": true})) == ["review", "contradicts_authority"]
}

test_without_consent_it_is_rejected if {
	decided(but({"consent_check": "denied"})) == ["reject", "consent_missing"]
	decided(but({"consent_check": "granted"})) == ["approve", "stated_by_user"]
}

test_what_was_rejected_stays_rejected if {
	decided(but({"rejected_before": true})) == ["reject", "rejected_before"]
}

test_a_rejection_weighs_more_than_doubt_and_doubt_more_than_approval if {
	decided(but({"personal": true, "rejected_before": true})) == ["reject", "rejected_before"]
	decided(but({"origin": "inferred", "consent_check": "denied"})) == ["reject", "consent_missing"]
}

test_of_several_rules_the_first_by_name_answers if {
	decided(but({"consent_check": "denied", "rejected_before": true})) == ["reject", "consent_missing"]
	decided(but({"personal": true, "crosses_spaces": true})) == ["review", "crosses_spaces"]
}

test_every_rule_is_asked if {
	everything := {
		"origin": "inferred",
		"risk": "low",
		"consent_check": "denied",
		"rejected_before": true,
		"behavioral": true,
		"personal": true,
		"crosses_spaces": true,
		"tier_target": "durable",
		"contradicts_authority": true,
	}
	rejected := review.rejected with input as {"proposal": everything}
	rejecting := review.rejecting with input as {"proposal": everything}
	object.keys(rejected) == {rule | some rule in rejecting}
	waiting := review.waiting with input as {"proposal": everything}
	holding := review.holding with input as {"proposal": everything}
	object.keys(waiting) == {rule | some rule in holding}
	count(waiting) == 6
}

test_every_answer_says_why if {
	proposals := [stated, {}, but({"personal": true}), but({"rejected_before": true})]
	reasons := {decision.reason |
		some proposal in proposals
		decision := review.decision with input as {"proposal": proposal}
	}
	reasons == {
		"the user said it of themself, and little can go wrong",
		"no rule approves it",
		"it holds personal data",
		"the same was rejected before",
	}
}
