"""The rules for secrets: what cloud, code, chat, payment and model vendors give out, and what people call a password.

Prefixes and lengths are those that the vendors publish. Lengths have no upper bound where the alphabet ends the token,
since a longer one is still one.
"""

from __future__ import annotations

from recollect.domain.scanning import context
from recollect.domain.scanning.checks import is_mixed, is_random
from recollect.domain.scanning.rules import Check, Class, Confidence, Rule, when

_MIXED = when(is_mixed)
_RANDOM = when(is_random)
_A = "[A-Za-z0-9]"
_W = "[A-Za-z0-9_-]"
_HEX = "[0-9a-f]"


def _certain(kind: str, pattern: str, check: Check | None = None) -> Rule:
    return Rule(kind, Class.SECRET, Confidence.CERTAIN, pattern, check)


def _likely(kind: str, pattern: str, check: Check | None = None) -> Rule:
    return Rule(kind, Class.SECRET, Confidence.LIKELY, pattern, check)


_KEYS = (
    _certain(
        "private_key",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?:\s|\\[rn])*[A-Za-z0-9+/=]{16,})*",
        context.whole_key,
    ),
    _certain("putty_key", r"PuTTY-User-Key-File-\d:(?s:.{0,600})Private-Lines:\s*\d+(?:\s+[A-Za-z0-9+/=]{16,})*"),
    _certain("age_key", r"\bAGE-SECRET-KEY-1[0-9A-Z]{50,}"),
)
_CLOUD = (
    _certain("aws_access_key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    _certain("google_token", rf"\bya29\.{_W}{{20,}}"),
    _certain("google_api_key", rf"\bAIza{_W}{{35,}}"),
    _certain("google_client_secret", rf"\bGOCSPX-{_W}{{24,}}"),
    _certain("azure_storage_key", r"(?i:accountkey|sharedaccesskey)\s{0,3}=\s{0,3}([A-Za-z0-9+/]{40,}={0,2})"),
    _likely("azure_client_secret", r"(?:^|[^A-Za-z0-9_~.\-])([A-Za-z0-9_~.\-]{3}[0-9]Q~[A-Za-z0-9_~.\-]{31,34})"),
    _certain("azure_sas", r"[?&]sig=([A-Za-z0-9%+/]{40,}(?:%3[dD]|=)?)"),
    _certain("digitalocean_token", rf"\bdo[opr]_v1_{_HEX}{{64}}\b"),
    _certain("cloudflare_key", rf"\bv1\.0-{_HEX}{{24}}-{_HEX}{{100,}}\b"),
    _certain("alibaba_key", rf"\bLTAI{_A}{{16,26}}\b"),
    _certain("heroku_key", rf"\bHRKU-{_W}{{36,}}"),
    _certain("flyio_token", r"\b(?:fo1_[A-Za-z0-9_-]{40,}|fm[12][ar]?_[A-Za-z0-9+/=]{60,})"),
    _certain("vault_token", rf"\bhv[sbr]\.{_W}{{24,}}", _MIXED),
    _certain("terraform_token", rf"\b{_A}{{14}}\.atlasv1\.{_W}{{60,}}"),
    _certain("databricks_token", rf"\bdapi{_HEX}{{32}}(?:-\d)?\b"),
    _certain("planetscale_token", r"\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}"),
    _certain("supabase_key", rf"\bsb(?:p_{_HEX}{{40}}|_secret_{_W}{{20,}})"),
    _certain("doppler_token", rf"\bdp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{{1,40}}\.)?{_A}{{40,}}"),
    _certain("pulumi_token", rf"\bpul-{_HEX}{{40}}\b"),
    _certain("tailscale_key", rf"\btskey-[a-z]{{2,12}}-{_A}{{8,}}-{_A}{{16,}}"),
    _certain("onepassword_token", r"\bops_eyJ[A-Za-z0-9+/=_-]{100,}"),
)
_CODE = (
    _certain("github_token", rf"\bgh[posur]_{_A}{{20,}}"),
    _certain("github_token", r"\bgithub_pat_[A-Za-z0-9_]{20,}", _MIXED),
    _certain("gitlab_token", rf"\bgl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-{_W}{{20,}}", _MIXED),
    _certain("bitbucket_token", rf"\bATBB{_A}{{28,}}"),
    _certain("atlassian_token", r"\bATATT3[A-Za-z0-9_=-]{60,}"),
    _certain("npm_token", rf"\bnpm_{_A}{{36}}\b"),
    _certain("pypi_token", rf"\bpypi-{_W}{{50,}}"),
    _certain("rubygems_key", rf"\brubygems_{_HEX}{{48}}\b"),
    _certain("docker_token", rf"\bdckr_(?:pat|oat)_{_W}{{24,}}"),
    _certain("postman_key", rf"\bPMAK-{_HEX}{{24}}-{_HEX}{{34}}\b"),
    _certain("linear_key", rf"\blin_(?:api|oauth)_{_A}{{32,}}"),
    _certain("notion_token", rf"\b(?:ntn_{_A}{{40,}}|secret_{_A}{{43}}\b)"),
    _certain("figma_token", rf"\bfig[duo][a-z]?_{_W}{{36,}}", _MIXED),
    _certain("airtable_token", rf"\bpat{_A}{{14}}\.{_HEX}{{64}}\b"),
    _certain("sentry_token", r"\bsntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    _certain("grafana_token", rf"\bgl(?:c_[A-Za-z0-9+/=]{{32,}}|sa_{_A}{{32}}_[A-Fa-f0-9]{{8}})"),
    _certain("newrelic_key", r"\bNR(?:AK|AA|II|JS)-[A-Za-z0-9_-]{19,}"),
    _certain("dropbox_token", rf"\bsl\.(?:u\.)?{_W}{{100,}}"),
    _certain("recollect_key", rf"\brk_{_A}{{4,40}}_{_A}{{20,}}"),
)
_CHAT_AND_MAIL = (
    _certain("slack_token", r"\bxox[abceoprsd]-[A-Za-z0-9-]{10,}|\bxapp-\d-[A-Za-z0-9-]{20,}", _MIXED),
    _certain("slack_webhook", r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}"),
    _certain("discord_webhook", rf"https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/\d{{15,}}/{_W}{{40,}}"),
    _certain("discord_token", rf"\b[MNO]{_W}{{23,27}}\.{_W}{{6}}\.{_W}{{27,}}"),
    _certain("telegram_token", rf"\b\d{{8,10}}:AA{_W}{{32,}}"),
    _certain("teams_webhook", r"https://[a-z0-9-]+\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/-]{60,}"),
    _certain("twilio_key", rf"\b(?:SK|AC){_HEX}{{32}}\b"),
    _certain("sendgrid_key", rf"\bSG\.{_W}{{16,32}}\.{_W}{{32,}}"),
    _certain("mailgun_key", rf"\bkey-{_HEX}{{32}}\b"),
    _certain("mailchimp_key", rf"\b{_HEX}{{32}}-us\d{{1,2}}\b"),
    _certain("brevo_key", rf"\bxkeysib-{_HEX}{{64}}-{_A}{{16}}"),
)
_PAYMENT = (
    _certain("stripe_key", rf"\b(?:sk|pk|rk)_(?:live|test)_{_A}{{10,}}"),
    _certain("stripe_webhook_secret", r"\bwhsec_[A-Za-z0-9+/=]{24,}"),
    _certain("square_token", rf"\b(?:sq0(?:atp|csp|idp)-{_W}{{22,}}|EAAA[lE]{_W}{{56,}})"),
    _certain("braintree_token", rf"\baccess_token\$(?:production|sandbox)\$[a-z0-9]{{16}}\${_HEX}{{32}}"),
    _certain("shopify_token", r"\bshp(?:at|ca|pa|ss|tka)_[A-Fa-f0-9]{32}"),
    _certain("razorpay_key", rf"\brzp_(?:live|test)_{_A}{{14,}}"),
    _certain("flutterwave_key", r"\bFLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?"),
)
_MODELS = (
    _certain("openai_key", rf"\bsk-(?:proj|svcacct|admin|None)-{_W}{{48,}}"),
    _certain("openai_key", rf"\bsk-{_W}{{8,}}T3BlbkFJ{_W}{{8,}}"),
    _certain("anthropic_key", rf"\bsk-ant-(?:api|admin|sid|oat|ort)\d\d-{_W}{{40,}}"),
    _certain("openrouter_key", rf"\bsk-or-v\d-{_HEX}{{48,}}\b"),
    _certain("huggingface_token", rf"\b(?:hf|api_org)_{_A}{{30,}}"),
    _certain("replicate_token", rf"\br8_{_A}{{36,}}"),
    _certain("groq_key", rf"\bgsk_{_A}{{40,}}"),
    _certain("xai_key", rf"\bxai-{_A}{{60,}}"),
    _certain("perplexity_key", rf"\bpplx-{_A}{{40,}}"),
    _certain("langsmith_key", rf"\blsv2_(?:pt|sk)_{_HEX}{{32}}_{_HEX}{{10}}"),
    _certain("pinecone_key", r"\bpcsk_[A-Za-z0-9_]{40,}"),
    _certain("tavily_key", rf"\btvly-(?:dev-|prod-)?{_A}{{24,}}", _MIXED),
    _certain("wandb_key", rf"\bwandb_v\d_{_W}{{40,}}"),
    _certain("nvidia_key", rf"\bnvapi-{_W}{{50,}}"),
    _likely("secret_key", rf"\b(?:sk|pk)-(?:live-|test-|proj-|ant-)?{_W}{{20,}}", _MIXED),
)
_NAMED_KEY = (
    r"(?:x-)?api[ _-]?(?:key|token|secret)|apikey|access[ _-]?(?:token|key)|auth[ _-]?(?:token|key)"
    r"|client[ _-]?secret|secret[ _-]?(?:access[ _-]?)?key|private[ _-]?key|signing[ _-]?(?:key|secret)"
    r"|encryption[ _-]?key|session[ _-]?(?:token|secret)|refresh[ _-]?token|webhook[ _-]?secret|app[ _-]?secret"
)
_WHOSE = r"(?:\s{1,2}(?:for|of|to|on|from|at)\s[^\n:=]{1,40}?)?"
_CALLED = rf"[\"'`]?{_WHOSE}\s{{0,3}}(?:=>|:=|[=:]|\b(?:is|was|ist|lautet|est|es)\b)\s{{0,3}}"
_SAID = r"(?:now\s|set to\s|still\s|actually\s|just\s)?[\"'`]?"
_LOGIN_WORDS = (
    r"pass(?:word|wd|phrase|code)|pwd|wachtwoord|passwort|kennwort|mot de passe|contrase.a|senha|palavra-passe"
)
_LOGIN = r"[^\s/:@\"'<>]{0,200}:[^\s/@\"'<>]{1,200}@[^\s\"'<>]{1,200}"
_NAMED = (
    _certain("jwt", rf"\beyJ{_W}{{8,}}\.eyJ{_W}{{8,}}\.{_W}{{8,}}"),
    _likely("bearer_token", r"(?i:\bbearer)[\s:]{1,3}([A-Za-z0-9._~+/-]{16,}=*)", _MIXED),
    _likely("basic_auth_header", r"(?i:\bbasic)\s{1,3}([A-Za-z0-9+/]{16,}={0,2})", _RANDOM),
    _certain("basic_auth_url", rf"\b(?i:https?|ftps?|wss?)://{_LOGIN}", context.url_password),
    _likely("url_with_password", rf"\b[a-z][a-z0-9+.-]{{1,20}}://{_LOGIN}", context.url_password),
    _likely(
        "connection_string",
        r"(?i:\b(?:server|data source|host|endpoint|account|accountname|user id|uid)\s?=[^\n;]{1,200};"
        r"[^\n]{0,300}?\b(?:password|pwd)\s?=\s?)([^\s;\"']{3,200})",
        context.assigned_password,
    ),
    _likely("api_key", rf"(?i:(?:\b|_)(?:{_NAMED_KEY}){_CALLED}{_SAID})([A-Za-z0-9._~+/=-]{{12,}})", context.named_key),
    _likely(
        "generic_secret",
        rf"(?i:(?:\b|_)(?:secret|token|credentials?|auth|dsn|salt|hmac|key)s?{_CALLED}{_SAID})([A-Za-z0-9._~+/=-]{{12,}})",
        context.token,
    ),
    _likely(
        "command_password",
        r"(?i:\s--(?:password|passwd|token|secret|api-key)[= ][\"']?)([^\s\"'-][^\s\"']{3,})",
        context.password,
    ),
    _likely(
        "password",
        rf"(?i:(?:\b|_)(?:{_LOGIN_WORDS}){_CALLED})[\"'`]([^\"'`\n]{{4,120}})[\"'`]",
        context.quoted,
    ),
    _likely("password", rf"(?i:(?:\b|_)(?:{_LOGIN_WORDS}){_CALLED}{_SAID})([^\s\"'`]{{4,}})", context.password),
    _likely("password", r"(?i:(?:\b|_)(?:pass|pw)\s{0,2}[=:]\s{0,2}[\"'`]?)([^\s\"'`]{4,})", context.password),
    _likely("wifi_password", r"\bWIFI:[^\n]{0,80}?\bP:([^;\s]{8,63});", context.assigned_password),
    # The last, since any other name for the same characters says more.
    _likely("aws_secret_key", r"[A-Za-z0-9/+]{40,}", context.aws_secret),
)
SECRET_RULES: tuple[Rule, ...] = (*_KEYS, *_CLOUD, *_CODE, *_CHAT_AND_MAIL, *_PAYMENT, *_MODELS, *_NAMED)
