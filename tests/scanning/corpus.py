"""Made-up secrets, personal data and plain sentences, drawn at test time: nothing here looks like a secret."""

from __future__ import annotations

import string
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from random import Random

from recollect.domain.scanning import checks

Drawn = Callable[[Random], str]
_ALNUM = string.ascii_letters + string.digits
_URL = _ALNUM + "_-"
_BASE64 = _ALNUM + "+/"
_HEX = "0123456789abcdef"
_UPPER = string.ascii_uppercase + string.digits


def some(alphabet: str, count: int) -> Drawn:
    return lambda chance: "".join(chance.choices(alphabet, k=count))


def after(prefix: str, alphabet: str, count: int, suffix: str = "") -> Drawn:
    return lambda chance: prefix + "".join(chance.choices(alphabet, k=count)) + suffix


def chained(*parts: str | Drawn) -> Drawn:
    return lambda chance: "".join(each if isinstance(each, str) else each(chance) for each in parts)


def _lines(chance: Random) -> str:
    body = b64encode(chance.randbytes(300)).decode()
    return "\n".join(body[at : at + 64] for at in range(0, len(body), 64))


def _jwt(chance: Random) -> str:
    def part(data: bytes) -> str:
        return urlsafe_b64encode(data).decode().rstrip("=")

    return ".".join(
        (
            part(b'{"alg":"HS256","typ":"JWT"}'),
            part(b'{"sub":"%d","iat":%d}' % (chance.randrange(10**9), chance.randrange(10**9))),
            part(chance.randbytes(32)),
        )
    )


def _password(chance: Random) -> str:
    word = "".join(chance.choices(string.ascii_lowercase, k=chance.randint(5, 9)))
    return word.capitalize() + chance.choice("!#$%&*+?@") + str(chance.randrange(10, 9999))


_PEM = "PRIVATE" + " KEY-----"
SECRETS: dict[str, Drawn] = {
    "private_key": chained("-----BEGIN RSA " + _PEM + "\n", _lines, "\n-----END RSA " + _PEM),
    "putty_key": chained("PuTTY-User-" + "Key-File-3: ssh-ed25519\nPrivate-Lines: 2\n", some(_BASE64, 48)),
    "age_key": after("AGE-SECRET" + "-KEY-1", _UPPER, 58),
    "aws_access_key": after("AK" + "IA", _UPPER, 16),
    "aws_secret_key": some(_BASE64, 40),
    "google_token": after("ya" + "29.", _URL, 80),
    "google_api_key": after("AI" + "za", _URL, 35),
    "google_client_secret": after("GOC" + "SPX-", _URL, 28),
    "azure_storage_key": chained("AccountName=x;Account" + "Key=", some(_BASE64, 86), "=="),
    "azure_client_secret": chained(some(_ALNUM, 3), "8" + "Q~", some(_ALNUM + "_-.~", 33), "x"),
    "azure_sas": chained("https://x.blob.core.windows.net/c?sv=2022&s" + "ig=", some(_ALNUM, 43), "%3D"),
    "digitalocean_token": after("do" + "p_v1_", _HEX, 64),
    "cloudflare_key": chained("v1.0" + "-", some(_HEX, 24), "-", some(_HEX, 146)),
    "alibaba_key": after("LT" + "AI", _ALNUM, 20),
    "heroku_key": after("HR" + "KU-", _URL, 60),
    "flyio_token": after("fo" + "1_", _URL, 43),
    "vault_token": after("hv" + "s.", _URL, 90),
    "terraform_token": chained(some(_ALNUM, 14), ".atlas" + "v1.", some(_URL, 67)),
    "databricks_token": after("da" + "pi", _HEX, 32),
    "planetscale_token": after("pscale" + "_tkn_", _URL, 43),
    "supabase_key": after("sb" + "p_", _HEX, 40),
    "doppler_token": after("dp" + ".pt.", _ALNUM, 43),
    "pulumi_token": after("pu" + "l-", _HEX, 40),
    "tailscale_key": chained("ts" + "key-auth-", some(_ALNUM, 12), "-", some(_ALNUM, 32)),
    "onepassword_token": after("ops" + "_eyJ", _URL, 250),
    "github_token": after("gh" + "p_", _ALNUM, 36),
    "github_fine_token": chained("github" + "_pat_", some(_ALNUM, 22), "_", some(_ALNUM, 59)),
    "gitlab_token": after("gl" + "pat-", _URL, 20),
    "bitbucket_token": after("AT" + "BB", _ALNUM, 32),
    "atlassian_token": after("ATA" + "TT3", _URL, 186),
    "npm_token": after("np" + "m_", _ALNUM, 36),
    "pypi_token": after("py" + "pi-AgEIcHlwaS5vcmc", _URL, 130),
    "rubygems_key": after("ruby" + "gems_", _HEX, 48),
    "docker_token": after("dckr" + "_pat_", _URL, 27),
    "postman_key": chained("PM" + "AK-", some(_HEX, 24), "-", some(_HEX, 34)),
    "linear_key": after("lin" + "_api_", _ALNUM, 40),
    "notion_token": after("nt" + "n_", _ALNUM, 46),
    "figma_token": after("fi" + "gd_", _URL, 40),
    "airtable_token": chained("pa" + "t", some(_ALNUM, 14), ".", some(_HEX, 64)),
    "sentry_token": after("sn" + "trys_", _BASE64, 90),
    "grafana_token": chained("gl" + "sa_", some(_ALNUM, 32), "_", some(_HEX, 8)),
    "newrelic_key": after("NR" + "AK-", _UPPER, 27),
    "dropbox_token": after("sl" + ".", _URL, 140),
    "recollect_key": chained("rk_", some(_ALNUM, 8), "_", some(_ALNUM, 40)),
    "slack_token": chained("xo" + "xb-", some(string.digits, 12), "-", some(_ALNUM, 24)),
    "slack_webhook": chained("https://hooks." + "slack.com/services/T", some(_UPPER, 8), "/B0/", some(_ALNUM, 24)),
    "discord_webhook": chained("https://dis" + "cord.com/api/webhooks/", some("123456789", 18), "/", some(_URL, 68)),
    "discord_token": chained("M", some(_ALNUM, 24), ".", some(_ALNUM, 6), ".", some(_ALNUM, 38)),
    "telegram_token": chained(some("123456789", 10), ":A" + "A", some(_URL, 33)),
    "teams_webhook": chained("https://x.web" + "hook.office.com/webhookb2/", some(_HEX, 32), "@", some(_HEX, 64)),
    "twilio_key": after("S" + "K", _HEX, 32),
    "sendgrid_key": chained("S" + "G.", some(_URL, 22), ".", some(_URL, 43)),
    "mailgun_key": after("ke" + "y-", _HEX, 32),
    "mailchimp_key": chained(some(_HEX, 32), "-us" + "14"),
    "brevo_key": chained("xkey" + "sib-", some(_HEX, 64), "-", some(_ALNUM, 16)),
    "stripe_key": after("sk" + "_live_", _ALNUM, 24),
    "stripe_webhook_secret": after("wh" + "sec_", _ALNUM, 32),
    "square_token": after("sq0" + "atp-", _URL, 22),
    "braintree_token": chained("access" + "_token$production$", some(_HEX, 16), "$", some(_HEX, 32)),
    "shopify_token": after("shp" + "at_", _HEX, 32),
    "razorpay_key": after("rzp" + "_live_", _ALNUM, 14),
    "flutterwave_key": chained("FLW" + "SECK-", some(_HEX, 32), "-X"),
    "openai_key": chained("sk" + "-proj-", some(_URL, 74), "T3Blbk" + "FJ", some(_URL, 74)),
    "openai_older_key": chained("sk" + "-", some(_ALNUM, 20), "T3Blbk" + "FJ", some(_ALNUM, 20)),
    "anthropic_key": after("sk" + "-ant-api03-", _URL, 93, "AA"),
    "openrouter_key": after("sk" + "-or-v1-", _HEX, 64),
    "huggingface_token": after("h" + "f_", string.ascii_letters, 34),
    "replicate_token": after("r" + "8_", _ALNUM, 37),
    "groq_key": after("gs" + "k_", _ALNUM, 52),
    "xai_key": after("xa" + "i-", _ALNUM, 80),
    "perplexity_key": after("pp" + "lx-", _ALNUM, 48),
    "langsmith_key": chained("lsv2" + "_pt_", some(_HEX, 32), "_", some(_HEX, 10)),
    "pinecone_key": after("pc" + "sk_", _ALNUM + "_", 69),
    "tavily_key": after("tv" + "ly-", _ALNUM, 32),
    "wandb_key": after("wandb" + "_v1_", _URL, 80),
    "nvidia_key": after("nv" + "api-", _URL, 64),
    "secret_key": after("sk" + "-", _ALNUM, 32),
    "jwt": _jwt,
    "bearer_token": after("Bearer ", _ALNUM, 40),
    "basic_auth_header": lambda chance: "Basic " + b64encode(b"admin:" + chance.randbytes(12)).decode(),
    "basic_auth_url": chained("https://deploy:", some(_ALNUM, 14), "@repo.example.com/simple"),
    "url_with_password": chained("postgresql://app:", some(_ALNUM, 16), "@db.internal:5432/app"),
    "connection_string": chained("Server=db;Database=x;User Id=sa;Password=", some(_ALNUM, 12), ";"),
    "api_key": chained("api_key = ", some(_ALNUM, 24)),
    "generic_secret": chained("token: ", some(_ALNUM, 28)),
    "password": chained("password is ", _password),
    "command_password": chained("mysql -u root --pass" + "word=", _password),
    "wifi_password": chained("WIFI:T:WPA;S:home;P:", some(_ALNUM, 14), ";;"),
}
"""One way to draw each kind; names that are no kinds of the pack draw another form of one."""
SAME_KIND = {"github_fine_token": "github_token", "openai_older_key": "openai_key"}
TEMPLATES = (
    "Remember that for staging we use {}",
    "I pasted {} into the form yesterday, please rotate it",
    'config.json has {{"value": "{}", "retries": 3}}',
    "note to self:\n{}\n(ask Maria before using it)",
    "export SETTING={}\nmake deploy",
    "Der Schlüssel von 東京 lautet “{}” – bitte merken.",
)


def _luhn_digit(digits: str) -> str:
    return next(each for each in string.digits if checks.luhn(digits + each))


def _checked(draw: Drawn, holds: Callable[[str], bool]) -> Drawn:
    def drawn(chance: Random) -> str:
        while True:
            if holds(value := draw(chance)):
                return value

    return drawn


def _card(chance: Random) -> str:
    digits = "4" + "".join(chance.choices(string.digits, k=14))
    number = digits + _luhn_digit(digits)
    return " ".join(number[at : at + 4] for at in range(0, 16, 4)) if chance.random() < 0.5 else number


def _iban(chance: Random) -> str:
    account = "".join(chance.choices(string.digits, k=18))
    number = f"DE{98 - int(account + '131400') % 97:02d}{account}"
    return " ".join(number[at : at + 4] for at in range(0, 22, 4)) if chance.random() < 0.5 else number


def _date(chance: Random) -> str:
    return f"{chance.randrange(100):02d}{chance.randint(1, 12):02d}{chance.randint(1, 28):02d}"


_D = string.digits
_N = "123456789"
PERSONAL: dict[str, Drawn] = {
    "email": lambda chance: f"{some(string.ascii_lowercase, 7)(chance)}.{chance.randrange(99)}@mail.example.org",
    "phone": chained("+49 17", some(_D, 1), " ", some(_N, 7)),
    "phone_us": chained("(", some("23456789", 3), ") ", some("23456789", 3), "-", some(_D, 4)),
    "credit_card": _card,
    "iban": _iban,
    "ip_address": lambda chance: (
        f"{chance.choice((8, 81, 93, 185))}.{chance.randrange(256)}.7.{chance.randint(1, 254)}"
    ),
    "ip_address_6": chained("2a01:4f8:", some(_HEX, 4), ":", some(_HEX, 4), "::1"),
    "mac_address": lambda chance: ":".join(some(_HEX, 2)(chance) for _ in range(6)),
    "street_address": lambda chance: f"{chance.randint(1, 999)} {chance.choice(('Maple', 'Old Mill', 'King'))} Street",
    "us_ssn": chained(some("12345", 3), "-", some(_N, 2), "-", some(_N, 4)),
    "uk_nhs_number": _checked(chained("NHS number ", some(_D, 10)), lambda text: checks.is_uk_nhs(text[-10:])),
    "uk_national_insurance": chained("AB ", some(_D, 2), " ", some(_D, 2), " ", some(_D, 2), " C"),
    "de_tax_id": _checked(chained("Steuer-ID ", some(_N, 11)), lambda text: checks.is_de_tax_id(text[-11:])),
    "fr_social_security": _checked(chained("1850578", some(_D, 8)), checks.is_fr_nir),
    "es_dni": _checked(chained(some(_D, 8), some(string.ascii_uppercase, 1)), checks.is_es_dni),
    "it_fiscal_code": _checked(
        chained("RSSMRA85T10A", some(_D, 3), some(string.ascii_uppercase, 1)), checks.is_it_fiscal_code
    ),
    "nl_bsn": _checked(chained("BSN ", some(_D, 9)), lambda text: checks.is_nl_bsn(text[-9:])),
    "be_national_number": _checked(chained("85.07.30-", some(_D, 3), ".", some(_D, 2)), checks.is_be_number),
    "pl_pesel": _checked(chained("PESEL ", some(_D, 11)), lambda text: checks.is_pl_pesel(text[-11:])),
    "se_personnummer": _checked(chained(_date, "-", some(_D, 4)), checks.is_se_number),
    "fi_hetu": _checked(chained("131052-", some(_D, 3), some("0123456789ABCDEFHJKLMNPRSTUVWXY", 1)), checks.is_fi_hetu),
    "br_cpf": _checked(chained(some(_D, 3), ".", some(_D, 3), ".", some(_D, 3), "-", some(_D, 2)), checks.is_br_cpf),
    "ca_sin": _checked(chained("SIN ", some(_N, 9)), lambda text: checks.luhn(text[-9:])),
    "au_tfn": _checked(chained("TFN ", some(_N, 9)), lambda text: checks.is_au_tfn(text[-9:])),
    "in_aadhaar": _checked(chained("4", some(_D, 3), " ", some(_D, 4), " ", some(_D, 4)), checks.verhoeff),
    "cn_resident_id": _checked(chained("11010519491231", some(_D, 4)), checks.is_cn_id),
    "ch_ahv_number": _checked(chained("756.", some(_D, 4), ".", some(_D, 4), ".", some(_D, 2)), checks.is_ch_ahv),
    "passport_number": chained("passport number C", some(_D, 8)),
}
SAME_PERSONAL_KIND = {"phone_us": "phone", "ip_address_6": "ip_address"}
